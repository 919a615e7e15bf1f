"""A linear layer. It is faster for a few rows, as a step of generation on a CPU has them, and can train in 8 bits.

Axes: N rows, I inputs, O outputs.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts import fp8_products

# MKL multiplies W x^T faster than x W^T for so many rows: 1.2 to 2 times with AVX-512, for matrices of at least so many
# numbers. Smaller ones gain nothing.
FEW_ROWS = range(8, 49)
LEAST_NUMBERS = 1 << 20


class Linear(nn.Linear):
    """x W^T + b. With `fp8`, training in bfloat16 computes its products in 8 bits."""

    fp8 = False

    def forward(self, x: Tensor) -> Tensor:
        if self.fp8 and torch.is_grad_enabled() and torch.is_autocast_enabled(x.device.type):
            return fp8_products.linear(x, self.weight, self.bias)
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight_OI: Tensor, bias_O: Tensor | None = None) -> Tensor:
    """The same as `F.linear`."""
    if bias_O is not None and torch.is_autocast_enabled(x.device.type):
        # Under `vmap`, autocast sees product and sum apart and leaves the sum in the bias's format.
        bias_O = bias_O.to(torch.get_autocast_dtype(x.device.type))
    if torch.is_grad_enabled() or x.is_cuda or x.dtype != torch.float32 or not _is_faster(x, weight_OI):
        return F.linear(x, weight_OI, bias_O)
    x_IN = x.flatten(0, -2).T
    product_ON = weight_OI @ x_IN if bias_O is None else torch.addmm(bias_O[:, None], weight_OI, x_IN)
    return product_ON.T.unflatten(0, x.shape[:-1])


def flops(module: nn.Module, tokens: int) -> int:
    """FLOPs of the products of all linear layers in a module, each of which reads so many tokens."""
    layers = (layer for layer in module.modules() if isinstance(layer, nn.Linear))
    return 2 * tokens * sum(layer.weight.numel() for layer in layers)


def _is_faster(x: Tensor, weight_OI: Tensor) -> bool:
    """Whether W x^T was measured to be faster."""
    if x.dim() < 2 or weight_OI.numel() < LEAST_NUMBERS:
        return False
    return x.numel() // x.shape[-1] in FEW_ROWS and torch.backends.mkl.is_available()
