"""The kernel of generation: one new token a row, beside the plain path on the same cache."""

import pytest
import torch

from glasshouse import parts
from glasshouse.parts.cache import LayerCache
from glasshouse.parts.masks import Causal
from tests.needs import needs_cuda


def attention(heads: int, groups: int, head_width: int, rotary: bool):
    position = parts.Rotary(head_width) if rotary else None
    kind = parts.GroupedQueryAttention
    return kind(heads * head_width, heads, position, key_value_heads=groups).cuda().eval()


@needs_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize(
    ("rows", "heads", "groups", "head_width", "slots"),
    [
        (5, 4, 4, 64, 300),
        (3, 8, 2, 32, 129),
        (2, 4, 1, 128, 512),
        (1, 3, 3, 20, 2000),
        (2, 32, 2, 64, 1024),
        (1, 1, 1, 8, 1),
    ],
)
def test_the_kernel_equals_the_plain_path(rows, heads, groups, head_width, slots, rotary, dtype):
    torch.manual_seed(0)
    module = attention(heads, groups, head_width, rotary)
    cache = LayerCache(*torch.randn(2, rows, groups, slots, head_width, device="cuda"))
    x = torch.randn(rows, 1, heads * head_width, device="cuda")
    positions = torch.randint(0, slots, (rows, 1), device="cuda")
    positions[0], positions[-1] = 0, slots - 1
    results = []
    with torch.inference_mode():
        for kernel in (True, False):
            wide = torch.float64 if not kernel else dtype
            own = LayerCache(cache.keys.to(dtype).to(wide), cache.values.to(dtype).to(wide))
            output = module.to(dtype).to(wide)(x.to(dtype).to(wide), Causal(), positions, own)
            results.append((output, own.keys, own.values))
    bound = 1e-5 if dtype == torch.float32 else 2e-2 if dtype == torch.bfloat16 else 3e-3
    for found, expected in zip(*results, strict=True):
        error = (found.double() - expected).norm() / expected.norm()
        assert error < bound


@needs_cuda
def test_probes_see_what_the_plain_path_computes():
    """The kernel shows no probe its queries, so a hook selects the plain path."""
    module = attention(2, 1, 16, True)
    cache = LayerCache(*torch.randn(2, 1, 1, 8, 16, device="cuda"))
    x, positions, seen = torch.randn(1, 1, 32, device="cuda"), torch.tensor([[3]], device="cuda"), []
    with torch.inference_mode():
        plain = module(x, Causal(), positions, LayerCache(cache.keys.clone(), cache.values.clone()))
        module.queries.register_forward_hook(lambda probe, inputs, output: seen.append(output))
        hooked = module(x, Causal(), positions, LayerCache(cache.keys.clone(), cache.values.clone()))
    assert len(seen) == 1
    torch.testing.assert_close(hooked, plain, atol=1e-5, rtol=1e-5)
