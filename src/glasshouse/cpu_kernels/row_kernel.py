"""Compiled functions over the rows of tensors, which run on the threads of torch's own operations, and the exponential.

A second pool of threads would fight with torch's for the cores: its threads keep spinning for a while after each operation.
So a kernel is a C function that GNU OpenMP calls in each of torch's threads. Where torch has another OpenMP (macOS,
Windows), a kernel runs in the calling thread.

A kernel receives the address of a table of int64: what it needs to find its rows, then its arguments. Tensors are arguments
by their address.
"""

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import carray, njit, types
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic
from torch import Tensor

from glasshouse.compilation import CALLABLE_FROM_KERNELS, pointer, use_cache

# Sums may be added up in any order, so that they can be vectorised. Not-a-number and infinity stay what they are: training
# must see them.
FAST_SUMS = {"reassoc", "contract", "nsz", "arcp"}
# A thread gets at least this many numbers: waking it takes some microseconds.
NUMBERS_A_THREAD = 1 << 13
# Entries of the table before the arguments: the addresses of two functions, and the number of rows.
HEADER = 3
MOST_ARGUMENTS = 20
SIGNATURE = "void(voidptr)"

# exp(x) = 2^n exp(r), n = round(x / ln 2), r = x - n ln 2 in two parts. exp(r) is a polynomial (Cephes library, expf).
LOG2_E = np.float32(1.44269504)
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
# Below LOWEST the result is 0 to within 1e-37, above HIGHEST it would be infinite.
LOWEST, HIGHEST = np.float32(-87.0), np.float32(88.0)
ROUNDER = np.float32(12582912.0)  # adding 1.5 * 2^23 rounds to an integer, which is then in the low bits


def inlined(function: Callable[..., Any]) -> Any:
    """Decorate a function that kernels contain. Its operations stay in the order in which they are written."""
    return njit(fastmath={"contract"}, error_model="numpy", **CALLABLE_FROM_KERNELS)(function)


def inlined_sums(function: Callable[..., Any]) -> Any:
    """The same for a function whose sums may be added up in any order, as in a kernel."""
    return njit(fastmath=FAST_SUMS, error_model="numpy", **CALLABLE_FROM_KERNELS)(function)


class RowKernel:
    """Decorates a function (address of the table), which is compiled on first use. It begins with `own_rows`."""

    def __init__(self, function: Callable[[Any], None]) -> None:
        self.function = function

    def __call__(self, rows: int, row_numbers: int, *arguments: Tensor | int) -> None:
        """Compute all rows, each of which has so many numbers."""
        threads = max(1, min(torch.get_num_threads(), rows, rows * row_numbers // NUMBERS_A_THREAD))
        parallel, *functions = _openmp()
        if parallel is None or threads == 1:
            functions = [0, 0]
        values = (value.data_ptr() if isinstance(value, Tensor) else value for value in arguments)
        table = (ctypes.c_int64 * (HEADER + len(arguments)))(*functions, rows, *values)
        if functions[0]:
            parallel(self.compiled.address, ctypes.addressof(table), threads, 0)
        else:
            self.compiled.ctypes(ctypes.addressof(table))

    @functools.cached_property
    def compiled(self) -> CFunc:
        options = {"nopython": True, "error_model": "numpy", "fastmath": FAST_SUMS}
        compiled = CFunc(self.function, normalize_signature(SIGNATURE), {}, options)
        use_cache(compiled, self.function)
        compiled.compile()
        return compiled


def on_torch_threads() -> bool:
    """Whether kernels can run on torch's threads."""
    return _openmp()[0] is not None


@functools.cache
def _openmp() -> tuple[Any, int, int]:
    """(GOMP_parallel, the addresses of omp_get_thread_num and omp_get_num_threads) of torch, or (None, 0, 0)."""
    try:
        lines = Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines()
        path = next(line.split(maxsplit=5)[-1] for line in lines if "/libgomp" in line and "torch" in line)
        library = ctypes.CDLL(path)
        parallel = library.GOMP_parallel
    except (OSError, StopIteration, AttributeError):
        return None, 0, 0
    parallel.argtypes, parallel.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint), None
    thread, threads = (
        ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in ("omp_get_thread_num", "omp_get_num_threads")
    )
    return parallel, thread or 0, threads or 0


@intrinsic
def _call(typing_context: Any, address: Any) -> Any:
    """The result of a C function without arguments."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = ir.FunctionType(ir.IntType(32), []).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], function), [])

    return types.int32(types.int64), generate


@inlined
def own_rows(address):
    """(the first row of this thread, the row after its last, the thread, the arguments)."""
    header = carray(address, (HEADER,), np.int64)
    thread, threads = np.int64(0), np.int64(1)
    if header[0] != 0:
        thread, threads = np.int64(_call(header[0])), np.int64(_call(header[1]))
    rows = header[2]
    arguments = carray(address, (HEADER + MOST_ARGUMENTS,), np.int64)[HEADER:]
    return rows * thread // threads, rows * (thread + 1) // threads, thread, arguments


@inlined
def floats(arguments, entry, first, count):
    """`count` float32 numbers of the tensor that is argument `entry`, from number `first` on."""
    return carray(pointer(arguments[entry] + 4 * first), (count,), np.float32)


@inlined
def integers(arguments, entry, count):
    """`count` int64 numbers of the tensor that is argument `entry`."""
    return carray(pointer(arguments[entry]), (count,), np.int64)


@intrinsic
def _bits(typing_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int32))

    return types.int32(types.float32), generate


@intrinsic
def _from_bits(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float32))

    return types.float32(types.int32), generate


@inlined
def exp(x):
    """exp(x), which the compiler can vectorise. Not-a-number stays what it is; the relative error is below 2e-7."""
    x = LOWEST if x < LOWEST else x
    x = HIGHEST if x > HIGHEST else x
    rounded = x * LOG2_E + ROUNDER
    n = rounded - ROUNDER
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    square = r * r
    low = np.float32(5.0000001201e-1) + np.float32(1.6666665459e-1) * r
    middle = np.float32(4.1665795894e-2) + np.float32(8.3334519073e-3) * r
    high = np.float32(1.3981999507e-3) + np.float32(1.9875691500e-4) * r
    mantissa = (low + (middle + high * square) * square) * square + (r + np.float32(1.0))
    # The exponent of the result is n more than that of the mantissa.
    return _from_bits(_bits(mantissa) + (_bits(rounded) << np.int32(23)))


@inlined
def sigmoid(x):
    return np.float32(1.0) / (np.float32(1.0) + exp(-x))
