"""The kernel of RMS norm equals torch's, in values and gradients, and makes nothing finite that is not."""

import math

import pytest
import torch
import torch.nn.functional as F

from glasshouse import cpu_kernels
from tests.cpu_kernels.comparison import largest_difference, normal


@pytest.mark.parametrize("shape", [(5, 11, 37), (4, 3, 64, 32), (300, 3)])
def test_it_equals_torch(shape):
    x, gain = normal(*shape, scale=2.0), normal(shape[-1])
    own, plain = (lambda x, g: cpu_kernels.rms_norm(x, g, 1e-5)), (lambda x, g: F.rms_norm(x, shape[-1:], g, 1e-5))
    assert largest_difference(own, plain, x, gain) < 2e-6
    if len(shape) == 4:  # heads, as an attention splits them
        assert largest_difference(own, plain, x.transpose(1, 2), gain) < 2e-6


def test_what_is_not_finite_stays_visible():
    x = torch.ones(3, 8)
    x[1, 2] = math.nan
    y = cpu_kernels.rms_norm(x.requires_grad_(), torch.ones(8), 1e-5)
    assert y[1].isnan().all()
    assert y[0].isfinite().all()
