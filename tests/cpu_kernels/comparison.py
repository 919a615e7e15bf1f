"""A kernel beside the operations that it replaces, computed in float64."""

from collections.abc import Callable

import torch
from torch import Tensor


def largest_difference(kernel: Callable[..., Tensor], plain: Callable[..., Tensor], *inputs: Tensor) -> float:
    """Of values and gradients, relative to the largest number of each."""
    results = []
    for function, dtype in ((kernel, torch.float32), (plain, torch.float64)):
        leaves = [value.detach().to(dtype).requires_grad_() for value in inputs]
        output = function(*leaves)
        weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(1))
        output.backward(weights.to(dtype))
        results.append([output.detach(), *(leaf.grad for leaf in leaves)])
    pairs = zip(*results, strict=True)
    return max(float((own - reference).abs().max() / reference.abs().max()) for own, reference in pairs)


def normal(*shape: int, scale: float = 1.0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))) * scale
