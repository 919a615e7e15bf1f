"""Attention with a bias by distance: the kernel equals the plain path, and is used only where it can be."""

import pytest
import torch

from glasshouse import parts
from glasshouse.parts.attention import distance_bias_kernel
from glasshouse.parts.masks import Causal, Everything, Padding, Window
from tests.needs import needs_cuda

POSITIONS = {
    "alibi": lambda heads, causal: parts.Alibi(heads),
    "relative": lambda heads, causal: parts.RelativeBias(40, heads, causal),
    "relative-buckets": lambda heads, causal: parts.BucketedBias(heads, causal=causal),
}
MASKS = {"causal": Causal(), "everything": Everything(), "padding": Padding([1, 150, 90])}


def results(attention, x, mask, upstream, plain):
    """The output and every gradient, by the plain path or by whichever is chosen."""
    attention.plain = plain
    attention.zero_grad()
    x = x.clone().requires_grad_()
    output = attention(x, mask)
    output.backward(upstream.to(output.dtype))
    gradients = {name: parameter.grad.clone() for name, parameter in attention.named_parameters()}
    return {"output": output.detach(), "x": x.grad, **gradients}


def biased_attention(position, causal, kind, width=64):
    torch.manual_seed(0)
    heads = 4
    built = POSITIONS[position](heads, causal)
    if kind == "grouped-query":
        attention = parts.GroupedQueryAttention(width, heads, key_value_heads=2, position=built)
    else:
        attention = parts.MultiHeadAttention(width, heads, position=built)
    if position != "alibi":
        torch.nn.init.normal_(built.table)
    return attention


@pytest.mark.parametrize("kind", ["dot-product", "grouped-query"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@torch.no_grad()
def test_the_rules_and_blocks_equal_the_plain_path(position, mask, kind, monkeypatch):
    # On a CPU, FlexAttention runs uncompiled and forward only, by the same rules and blocks.
    monkeypatch.setattr(distance_bias_kernel, "usable", lambda queries, mask, dropout: True)
    attention = biased_attention(position, mask == "causal", kind)
    x = torch.randn(3, 150, 64)
    kernel = attention(x, MASKS[mask])
    attention.plain = True
    torch.testing.assert_close(kernel, attention(x, MASKS[mask]), atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["dot-product", "grouped-query"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("position", POSITIONS)
def test_a_kernel_that_cannot_be_compiled_is_replaced_by_the_matrix_of_biases(position, mask, kind, monkeypatch):
    tried = []

    def uncompiled(*tensors, **options):
        tried.append(tensors)
        raise distance_bias_kernel.KernelError("out of resource")

    monkeypatch.setattr(distance_bias_kernel, "usable", lambda queries, mask, dropout: True)
    monkeypatch.setattr(distance_bias_kernel, "_kernel", lambda compile: uncompiled)
    monkeypatch.setattr(distance_bias_kernel, "_not_compiled", set())
    attention = biased_attention(position, mask == "causal", kind)
    x, upstream = torch.randn(2, 3, 150, 64).unbind()
    with pytest.warns(UserWarning, match="cannot compile its kernel .*heads of width 16: out of resource"):
        replaced = results(attention, x, MASKS[mask], upstream, plain=False)
    plain = results(attention, x, MASKS[mask], upstream, plain=True)
    for name in plain:
        torch.testing.assert_close(replaced[name], plain[name], atol=2e-5, rtol=1e-3)
    results(attention, x, MASKS[mask], upstream, plain=False)
    assert len(tried) == 1, "it is not compiled again"


@needs_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("position", POSITIONS)
def test_the_compiled_kernel_equals_the_plain_path(position, mask, dtype):
    compare_on_gpu(position, mask, dtype, head_width=32)


@needs_cuda
@pytest.mark.filterwarnings("error:.*cannot compile its kernel")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("head_width", distance_bias_kernel.HEAD_WIDTHS)
@pytest.mark.parametrize("mask", ["causal", "everything"])
def test_every_head_width_is_compiled(mask, head_width, dtype):
    compare_on_gpu("relative", mask, dtype, head_width)


def compare_on_gpu(position, mask, dtype, head_width):
    length, width = 1100, 4 * head_width
    attention = biased_attention(position, mask == "causal", "dot-product", width).cuda()
    rule = Padding(torch.tensor([200, length, 1024], device="cuda")) if mask == "padding" else MASKS[mask]
    x, upstream = torch.randn(2, 3, length, width, device="cuda").unbind()
    if mask == "padding":
        upstream[0, 200:] = upstream[2, 1024:] = 0
    # As in training: the weights and the bias stay in float32.
    with torch.autocast("cuda", torch.bfloat16 if dtype == torch.float32 else dtype, enabled=dtype != torch.float32):
        kernel = results(attention, x, rule, upstream, plain=False)
    plain = results(attention.double(), x.double(), rule, upstream.double(), plain=True)
    bound = 1e-3 if dtype == torch.float32 else 2e-2
    for name in plain:
        error = (kernel[name].double() - plain[name]).norm() / plain[name].norm()
        assert error < bound, f"{name}: {error}"


@needs_cuda
def test_a_model_that_is_compiled_as_a_whole_computes_the_same():
    attention = biased_attention("alibi", True, "dot-product", 256).cuda()
    x = torch.randn(2, 1024, 256, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        plain, compiled = attention(x, Causal()), torch.compile(attention)(x, Causal())
    torch.testing.assert_close(compiled, plain, atol=2e-2, rtol=2e-2)


@needs_cuda
def test_memory_is_linear_in_the_length():
    peaks = []
    for length in (4096, 8192):
        attention = biased_attention("alibi", True, "dot-product", 128).cuda().bfloat16()
        x = torch.randn(1, length, 128, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        attention(x, Causal()).float().sum().backward()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        attention(x, Causal()).float().sum().backward()
        peaks.append(torch.cuda.max_memory_allocated() - before)
    assert peaks[1] < 2.5 * peaks[0]


def test_the_kernel_is_used_only_where_it_can_be(monkeypatch):
    class CudaQueries:
        """Stands for a tensor on a GPU."""

        is_cuda = True

        def __init__(self, length, head_width=64):
            self.shape = torch.Size((1, 2, length, head_width))

    monkeypatch.setattr(distance_bias_kernel, "TRITON_INSTALLED", True)
    usable = distance_bias_kernel.usable
    assert usable(CudaQueries(2048), Causal(), 0.0)
    assert usable(CudaQueries(2048), Padding([3]), 0.0)
    assert not usable(CudaQueries(2048), Causal(), 0.1), "the kernel has no dropout"
    assert not usable(CudaQueries(512), Causal(), 0.0), "short sequences are not worth compiling"
    assert not usable(CudaQueries(2048, head_width=24), Causal(), 0.0)
    assert not usable(CudaQueries(2048), Causal() & Window(4), 0.0)
    assert not usable(torch.zeros(1, 2, 2048, 64), Causal(), 0.0), "on a CPU it has no backward pass"
    monkeypatch.setattr(distance_bias_kernel, "TRITON_INSTALLED", False)
    assert not usable(CudaQueries(2048), Causal(), 0.0), "it needs Triton"


@pytest.mark.parametrize("position", POSITIONS)
def test_the_bias_of_positions_is_the_bias_of_their_distances(position):
    part = POSITIONS[position](4, False)
    if position != "alibi":
        torch.nn.init.normal_(part.table)
    queries, keys = torch.arange(7), torch.arange(3, 12)
    table = part.distance_bias(torch.arange(-20, 21)[None])[:, 0]
    bias = part.bias(queries, keys)
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            assert torch.equal(bias[:, i, j], table[:, 20 + query - key])
