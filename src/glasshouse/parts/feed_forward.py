"""Feed-forward parts: the same small network applied to every token by itself."""

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts.probe import Probe
from glasshouse.parts.sizes import Sizes


class _TwoLayers(nn.Module, ABC):
    """down(activation(up(x)))."""

    def __init__(self, width: int, inner: int, bias: bool = True) -> None:
        super().__init__()
        self.up = nn.Linear(width, inner, bias=bias)
        self.down = nn.Linear(inner, width, bias=bias)
        self.hidden = Probe()

    @classmethod
    def build(cls, sizes: Sizes) -> "_TwoLayers":
        return cls(sizes.width, sizes.feed_forward, sizes.bias)

    @abstractmethod
    def activate(self, x: Tensor) -> Tensor:
        """The function between the two layers."""

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.hidden(self.activate(self.up(x))))

    def flops(self, tokens: int) -> int:
        """Multiplications and additions of the matrix products, forward."""
        return 4 * tokens * self.up.in_features * self.up.out_features


class ReLU(_TwoLayers):
    """down(max(0, up(x))), as in the first Transformer."""

    def activate(self, x: Tensor) -> Tensor:
        return F.relu(x)


class GELU(_TwoLayers):
    """down(g(up(x))), g(x) = x P(N < x) for a normal N (Hendrycks and Gimpel 2016), in GPT-2's tanh form."""

    def activate(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate="tanh")


class ExactGELU(_TwoLayers):
    """down(g(up(x))), g(x) = x times the normal distribution function of x, by the error function, as in BERT."""

    def activate(self, x: Tensor) -> Tensor:
        return F.gelu(x)


class SigmoidGELU(_TwoLayers):
    """down(g(up(x))), g(x) = x sigmoid(1.702 x): the GELU by a logistic function, as in CLIP."""

    def activate(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(1.702 * x)


class SwiGLU(nn.Module):
    """down(silu(gate(x)) * up(x)): three matrices (Shazeer, GLU Variants Improve Transformer, 2020).

    At two thirds of the inner size it has the parameters of the two-layer form.
    """

    def __init__(self, width: int, inner: int, bias: bool = False) -> None:
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=bias)
        self.up = nn.Linear(width, inner, bias=bias)
        self.down = nn.Linear(inner, width, bias=bias)
        self.hidden = Probe()

    @classmethod
    def build(cls, sizes: Sizes) -> "SwiGLU":
        return cls(sizes.width, sizes.feed_forward, sizes.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.hidden(F.silu(self.gate(x)) * self.up(x)))

    def flops(self, tokens: int) -> int:
        return 6 * tokens * self.up.in_features * self.up.out_features
