"""Local attention by chunks against dense attention with a window mask."""

import pytest
import torch

from glasshouse import parts


@pytest.mark.parametrize("length", [3, 4, 5, 11, 16, 33])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("position", "softcap"), [(None, 0), ("alibi", 0), ("relative", 0), ("alibi", 0.3)])
def test_a_window_by_chunks_equals_a_window_by_mask(length, causal, position, softcap):
    position_part = {None: None, "alibi": parts.Alibi(2), "relative": parts.RelativeBias(8, 2)}[position]
    window = parts.LocalAttention(8, 2, 4, position=position_part, attention_softcap=softcap)
    dense = parts.MultiHeadAttention(8, 2, position=position_part, attention_softcap=softcap)
    dense.load_state_dict(window.state_dict())
    x = torch.randn(3, length, 8)
    mask = (parts.Causal() if causal else parts.Everything()) & parts.Padding(torch.tensor([length, 1, 3]))
    torch.testing.assert_close(
        window(x, mask, torch.arange(length)),
        dense(x, mask & parts.Window(4), torch.arange(length)),
        rtol=1e-5,
        atol=1e-5,
    )
