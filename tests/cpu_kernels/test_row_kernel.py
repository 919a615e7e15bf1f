"""Kernels run on torch's threads, and every row is computed once."""

import sys

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from glasshouse import cpu_kernels
from glasshouse.cpu_kernels import row_kernel
from glasshouse.cpu_kernels.row_kernel import NUMBERS_A_THREAD, RowKernel, floats, own_rows


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
