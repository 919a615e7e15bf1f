"""The kernel of normalisation: the vectors of one generation step, beside torch's."""

import pytest
import torch
import torch.nn.functional as F

from glasshouse.parts import normalisation_kernel
from glasshouse.parts.normalisation import LayerNorm, RMSNorm
from tests.needs import needs_kernels


@needs_kernels
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("build", [LayerNorm, lambda width: LayerNorm(width, bias=False), RMSNorm])
@pytest.mark.parametrize(("rows", "width"), [(1, 768), (256, 64), (3, 20), (5, 4096)])
def test_the_kernel_equals_the_plain_path(rows, width, build, dtype):
    torch.manual_seed(0)
    norm = build(width).cuda().to(dtype)
    with torch.inference_mode():
        for parameter in norm.parameters():
            parameter.normal_()
        x = (3 * torch.randn(rows, 1, width, device="cuda") + 1).to(dtype)
        assert normalisation_kernel.usable(x, norm.weight)
        tolerance = 1e-5 if dtype == torch.float32 else 2e-2
        weight, bias = norm.weight.double(), None if getattr(norm, "bias", None) is None else norm.bias.double()
        if isinstance(norm, RMSNorm):
            exact = F.rms_norm(x.double(), (width,), weight, norm.eps)
        else:
            exact = F.layer_norm(x.double(), (width,), weight, bias, norm.eps)
        torch.testing.assert_close(norm(x).double(), exact, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("norm", [LayerNorm(8), RMSNorm(8)])
def test_training_and_a_cpu_use_torch(norm):
    x = torch.randn(2, 1, 8, requires_grad=True)
    assert not normalisation_kernel.usable(x, norm.weight)
    norm(x).sum().backward()
    assert x.grad is not None
