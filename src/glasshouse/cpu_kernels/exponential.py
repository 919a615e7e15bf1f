"""The exponential in float32, which the compiler can vectorise. The relative error is below 2e-7."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from glasshouse.cpu_kernels.row_kernel import inlined

# exp(x) = 2^n exp(r), n = round(x / ln 2), r = x - n ln 2 in two parts. exp(r) is a polynomial (Cephes library, expf).
LOG2_E = np.float32(1.44269504)
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
# Below LOWEST the result is 0 to within 1e-37, above HIGHEST it would be infinite.
LOWEST, HIGHEST = np.float32(-87.0), np.float32(88.0)
ROUNDER = np.float32(12582912.0)  # adding 1.5 * 2^23 rounds to an integer, which is then in the low bits


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
def exp(x):  # type: ignore[no-untyped-def]
    """exp(x); not-a-number stays what it is."""
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
def sigmoid(x):  # type: ignore[no-untyped-def]
    return np.float32(1.0) / (np.float32(1.0) + exp(-x))
