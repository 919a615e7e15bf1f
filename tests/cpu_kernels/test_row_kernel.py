"""Kernels run on torch's threads, and every row is computed once; the exponential over the whole range of float32."""

import math
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from torch._subclasses.fake_tensor import FakeTensorMode

from glasshouse import cpu_kernels
from glasshouse.cpu_kernels import row_kernel
from glasshouse.cpu_kernels.row_kernel import HIGHEST, LOWEST, NUMBERS_A_THREAD, RowKernel, exp, floats, own_rows


@RowKernel
def write_threads(address):
    """Writes the thread that computes it, plus one, into every row."""
    first, last, thread, arguments = own_rows(address)
    result = floats(arguments, 0, 0, last)
    for row in range(first, last):
        result[row] += thread + 1


def threads_of_rows(rows: int) -> list[float]:
    result = torch.zeros(rows)
    write_threads(rows, NUMBERS_A_THREAD, result)
    return result.tolist()


@pytest.mark.skipif(sys.platform != "linux", reason="torch has another OpenMP there")
def test_rows_are_spread_over_the_threads_of_torch():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert threads_of_rows(7) == [1] * 7
        torch.set_num_threads(2)
        assert threads_of_rows(7) == [1] * 3 + [2] * 4
        assert threads_of_rows(1) == [1]
    finally:
        torch.set_num_threads(before)


def test_without_openmp_the_calling_thread_computes_all(monkeypatch):
    monkeypatch.setattr(row_kernel, "_openmp", lambda: (None, 0, 0))
    assert threads_of_rows(7) == [1] * 7


def test_kernels_are_used_in_training_in_float32_only():
    x = torch.zeros(cpu_kernels.LEAST_NUMBERS, requires_grad=True)
    assert cpu_kernels.usable(x)
    assert not cpu_kernels.usable(x[1:])
    assert not cpu_kernels.usable(x.detach())
    assert not cpu_kernels.usable(x.double())
    with torch.no_grad():
        assert not cpu_kernels.usable(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not cpu_kernels.usable(x)
    with FakeTensorMode():
        assert not cpu_kernels.usable(torch.zeros(cpu_kernels.LEAST_NUMBERS, requires_grad=True))
    seen = []

    def look(x: torch.Tensor) -> torch.Tensor:
        seen.append(cpu_kernels.usable(x))
        return x.sum()

    torch.func.vmap(look)(x[None])
    torch.func.grad(look)(x.detach())
    assert seen == [False, False]


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
def test_the_exponential_is_exact_to_the_last_bits(x):
    np.testing.assert_allclose(computed(x), np.exp(x.astype(np.float64)), rtol=3e-7)


def test_outside_its_range_the_exponential_is_as_good_as_zero_or_very_large():
    small, large, nothing, zero = computed(np.array([-math.inf, math.inf, math.nan, -0.0], np.float32))
    assert 0 <= small < 1e-36
    assert large > 1e38
    assert math.isnan(nothing)
    assert zero == 1
