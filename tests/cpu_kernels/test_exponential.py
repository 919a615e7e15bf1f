"""The exponential of the kernels, over the whole range of float32."""

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from glasshouse.cpu_kernels.row_kernel import HIGHEST, LOWEST, RowKernel, exp, floats, own_rows


@RowKernel
def exponentials(address):
    first, last, _, arguments = own_rows(address)
    count = last - first
    x, result = floats(arguments, 0, first, count), floats(arguments, 1, first, count)
    for i in range(count):
        result[i] = exp(x[i])


def computed(x: np.ndarray) -> np.ndarray:
    source = torch.from_numpy(np.ascontiguousarray(x))
    result = torch.empty_like(source)
    exponentials(len(x), 1, source, result)
    return result.numpy()


@given(arrays.arrays(np.float32, st.integers(1, 40), elements=st.floats(float(LOWEST), float(HIGHEST), width=32)))
def test_it_is_exact_to_the_last_bits(x):
    np.testing.assert_allclose(computed(x), np.exp(x.astype(np.float64)), rtol=3e-7)


def test_outside_the_range_it_is_as_good_as_zero_or_very_large():
    small, large, nothing, zero = computed(np.array([-math.inf, math.inf, math.nan, -0.0], np.float32))
    assert 0 <= small < 1e-36
    assert large > 1e38
    assert math.isnan(nothing)
    assert zero == 1
