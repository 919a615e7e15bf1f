"""The cache: a step that reads one token of each row gives what the general path gives, and writes the same slots."""

import pytest
import torch

from glasshouse import models
from glasshouse.specs.spec import ModelSpec

VOCABULARY, CONTEXT = 11, 12


@pytest.mark.parametrize("last", [[6, 6, 6], [2, 6, 4]], ids=["rows of one length", "rows of different lengths"])
@pytest.mark.parametrize("settings", [{"position": "learned"}, {"attention": "grouped-query", "heads": 4}], ids=str)
@torch.inference_mode()
def test_a_one_token_step_equals_the_general_path(settings, last):
    torch.manual_seed(0)
    model = models.build(ModelSpec(width=16, layers=2, **settings), VOCABULARY, CONTEXT).eval()
    tokens = torch.randint(0, VOCABULARY, (3, max(last) + 1))
    positions = torch.tensor(last)[:, None]
    outputs, caches = [], []
    for one_token in (False, True):
        cache = model.empty_cache(3, CONTEXT)
        model.features(tokens, torch.arange(max(last) + 1).expand(3, -1), cache)
        view = cache.one_token_view(last) if one_token else cache.view(slice(0, 3), max(last) + 1)
        assert (view.layers[0].step is not None) == one_token
        outputs.append(model.features(torch.tensor([[1], [2], [3]]), positions, view))
        caches.append(cache)
    assert torch.allclose(outputs[0], outputs[1], atol=1e-5)
    for general, single in zip(caches[0].layers, caches[1].layers, strict=True):
        assert torch.allclose(general.keys, single.keys, atol=1e-6)
        assert torch.allclose(general.values, single.values, atol=1e-6)
