"""Normalisation: scale each token's vector to unit variance or unit root mean square, with a learned gain."""

from typing import ClassVar

from torch import Tensor, nn

from glasshouse import cpu_kernels
from glasshouse.parts import normalisation_kernel

EPSILON = 1e-5


class LayerNorm(nn.LayerNorm):
    """(x - mean) / standard deviation * gain + bias, over each token's features (Ba et al., Layer Normalization, 2016)."""

    def __init__(self, width: int, bias: bool = True, epsilon: float = EPSILON) -> None:
        super().__init__(width, eps=epsilon, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        if normalisation_kernel.usable(x, self.weight):
            return normalisation_kernel.normalise(x, self.weight, self.bias, self.eps, centred=True)
        return super().forward(x)


class RMSNorm(nn.RMSNorm):
    """x / root mean square * gain (Zhang and Sennrich, Root Mean Square Layer Normalization, 2019)."""

    def __init__(self, width: int, epsilon: float = EPSILON) -> None:
        super().__init__(width, eps=epsilon)

    def forward(self, x: Tensor) -> Tensor:
        if normalisation_kernel.usable(x, self.weight):
            return normalisation_kernel.normalise(x, self.weight, None, self.eps or 0.0, centred=False)
        if cpu_kernels.usable(x, self.weight):
            return cpu_kernels.rms_norm(x, self.weight, self.eps or 0.0)
        return super().forward(x)


class BatchNorm(nn.Module):
    """(x - mean) / standard deviation * gain + bias, for each feature over all tokens of the batch (Ioffe and Szegedy,
    Batch Normalization, 2015).

    In training a token's output depends on all other tokens of the batch, later ones included. In evaluation it depends on
    no other token.
    """

    unsupported: ClassVar[dict[str, str]] = {"batch": "in training it normalises by the mean and variance of the batch"}

    def __init__(self, width: int, epsilon: float = EPSILON) -> None:
        super().__init__()
        self.inner = nn.BatchNorm1d(width, eps=epsilon)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x.flatten(0, -2)).view_as(x)


class NoNorm(nn.Identity):
    """x: no normalisation, for ablation studies."""
