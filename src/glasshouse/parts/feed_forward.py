"""Feed-forward parts: the same small network applied to every token by itself."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts.probe import Probe
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting


class _Across(nn.Module):
    """One more inner layer: from the hidden vector before it, which can be read by name, to the next."""

    def __init__(self, inner: int, bias: bool) -> None:
        super().__init__()
        self.hidden = Probe()
        self.across = nn.Linear(inner, inner, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.across(self.hidden(x))


class _Plain(nn.Module, ABC):
    """down(activation(up(x))); with several inner layers, all of one size, a matrix and an activation more for each."""

    @dataclass(frozen=True)
    class Settings:
        feed_forward_layers: int = setting(1, "inner layers of the feed-forward part, each of its inner size", minimum=1)

    def __init__(self, width: int, inner: int, bias: bool = True, layers: int = 1) -> None:
        super().__init__()
        if layers < 1:
            raise SpecError("no-layers", f"model.feed_forward_layers={layers} leaves no inner layer; give 1 or more")
        self.up = nn.Linear(width, inner, bias=bias)
        # Empty with one inner layer: no weights, no names, no draws from the seed.
        self.between = nn.ModuleList(_Across(inner, bias) for _ in range(layers - 1))
        self.down = nn.Linear(inner, width, bias=bias)
        self.hidden = Probe()

    @classmethod
    def build(cls, sizes: Sizes, settings: Settings) -> "_Plain":
        return cls(sizes.width, sizes.feed_forward, sizes.bias, settings.feed_forward_layers)

    @abstractmethod
    def activate(self, x: Tensor) -> Tensor:
        """The function after every inner layer."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.activate(self.up(x))
        for layer in self.between:
            x = self.activate(layer(x))
        return self.down(self.hidden(x))

    def flops(self, tokens: int) -> int:
        """Multiplications and additions of the matrix products, forward."""
        width, inner = self.up.in_features, self.up.out_features
        return 2 * tokens * inner * (2 * width + len(self.between) * inner)


class ReLU(_Plain):
    """down(max(0, up(x))), as in the first Transformer."""

    def activate(self, x: Tensor) -> Tensor:
        return F.relu(x)


class GELU(_Plain):
    """down(g(up(x))), g(x) = x P(N < x) for a normal N (Hendrycks and Gimpel 2016), in GPT-2's tanh form."""

    def activate(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate="tanh")


class ExactGELU(_Plain):
    """down(g(up(x))), g(x) = x times the normal distribution function of x, by the error function, as in BERT."""

    def activate(self, x: Tensor) -> Tensor:
        return F.gelu(x)


class SigmoidGELU(_Plain):
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
    def build(cls, sizes: Sizes, settings: NoSettings) -> "SwiGLU":
        return cls(sizes.width, sizes.feed_forward, sizes.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.hidden(F.silu(self.gate(x)) * self.up(x)))

    def flops(self, tokens: int) -> int:
        return 6 * tokens * self.up.in_features * self.up.out_features
