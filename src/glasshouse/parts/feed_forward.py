"""Feed-forward parts: the same small network applied to each token separately."""

import math
import platform
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse import cpu_kernels
from glasshouse.parts.linear import Linear
from glasshouse.parts.probe import Probe
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting

ON_ARM = platform.machine() in ("aarch64", "arm64")


class FeedForward(nn.Module):
    """The part of a block that computes each token by itself. Its probe `hidden` records the inner values."""

    hidden: Probe


class _InnerLayer(nn.Module):
    """An additional inner layer. The probe `hidden` records its input."""

    def __init__(self, inner: int, bias: bool) -> None:
        super().__init__()
        self.hidden = Probe()
        self.across = Linear(inner, inner, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.across(self.hidden(x))


class _TwoMatrices(FeedForward, ABC):
    """down(activation(up(x))). Each additional inner layer adds one square matrix and one activation."""

    @dataclass(frozen=True)
    class Settings:
        feed_forward_layers: int = setting(1, "number of inner layers of the feed-forward part", minimum=1, maximum=1000)

    def __init__(self, width: int, feed_forward: int, bias: bool = True, feed_forward_layers: int = 1) -> None:
        super().__init__()
        if feed_forward_layers < 1:
            raise SpecError("leaves no inner layer; choose 1 or more", "model.feed_forward_layers", feed_forward_layers)
        self.up = Linear(width, feed_forward, bias=bias)
        # With one inner layer this list is empty: it adds no weights and no random draws.
        self.between = nn.ModuleList(_InnerLayer(feed_forward, bias) for _ in range(feed_forward_layers - 1))
        self.down = Linear(feed_forward, width, bias=bias)
        self.hidden = Probe()

    @abstractmethod
    def activate(self, x: Tensor) -> Tensor:
        """The activation function after each inner layer."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.activate(self.up(x))
        for layer in self.between:
            x = self.activate(layer(x))
        return self.down(self.hidden(x))


class ReLU(_TwoMatrices):
    """down(max(0, up(x))), as in the original Transformer (Vaswani et al. 2017)."""

    def activate(self, x: Tensor) -> Tensor:
        return F.relu(x)


class SquaredReLU(_TwoMatrices):
    """down(max(0, up(x))^2) (So et al., Primer: Searching for Efficient Transformers, 2021)."""

    def activate(self, x: Tensor) -> Tensor:
        return cpu_kernels.squared_relu(x) if cpu_kernels.usable(x) else F.relu(x).square()


class GELU(_TwoMatrices):
    """down(g(up(x))), g(x) = x Phi(x), Phi being the normal distribution function (Hendrycks and Gimpel 2016), in the tanh
    approximation of GPT-2."""

    def activate(self, x: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            # (1 + tanh(z)) / 2 = sigmoid(2 z), and compiled code for the sigmoid is faster.
            return x * torch.sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3))
        return cpu_kernels.gelu(x) if cpu_kernels.usable(x) else F.gelu(x, approximate="tanh")


class ExactGELU(_TwoMatrices):
    """down(g(up(x))), g(x) = x Phi(x), Phi being the normal distribution function, computed exactly as in BERT."""

    def activate(self, x: Tensor) -> Tensor:
        own = ON_ARM and x.device.type == "cpu" and x.dtype == torch.float32 and torch.is_grad_enabled() and x.requires_grad
        return cast(Tensor, _ExactGELU.apply(x)) if own and not torch.compiler.is_compiling() else F.gelu(x)


class _ExactGELU(torch.autograd.Function):
    """The derivative is Phi(x) + x phi(x), phi being the normal density.

    On ARM (Neoverse N1, torch 2.13) torch's own backward pass takes twelve times as long as its forward pass; written with
    vectorised functions it takes a third of that. On other processors torch's own is used.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return F.gelu(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        density = torch.exp(-0.5 * x.square()) * (1 / math.sqrt(2 * math.pi))
        return gradient * torch.addcmul(torch.special.ndtr(x), x, density)


class SigmoidGELU(_TwoMatrices):
    """down(g(up(x))), g(x) = x sigmoid(1.702 x): the sigmoid approximation of GELU, as in CLIP."""

    def activate(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(1.702 * x)


class SwiGLU(FeedForward):
    """down(silu(gate(x)) * up(x)): three matrices (Shazeer, GLU Variants Improve Transformer, 2020).

    With two thirds of the inner size it has as many parameters as a feed-forward part of two matrices.
    """

    def __init__(self, width: int, feed_forward: int, bias: bool = False) -> None:
        super().__init__()
        self.gate = Linear(width, feed_forward, bias=bias)
        self.up = Linear(width, feed_forward, bias=bias)
        self.down = Linear(feed_forward, width, bias=bias)
        self.hidden = Probe()

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate(x), self.up(x)
        return self.down(self.hidden(cpu_kernels.swiglu(gate, up) if cpu_kernels.usable(gate, up) else F.silu(gate) * up))


class SingleLayerReLU(FeedForward):
    """max(0, W x + b): one square matrix and an activation. It has no inner layer, so `model.feed_forward` has no effect.

    With `model.norm=none` a block is attention, residual, one linear layer with ReLU, residual. Courses teach this layer
    before the Transformer's own. Without norms the embeddings should not be small: `model.embedding_deviation=1`.
    """

    def __init__(self, width: int, bias: bool = True) -> None:
        super().__init__()
        self.linear = Linear(width, width, bias=bias)
        self.hidden = Probe()

    def forward(self, x: Tensor) -> Tensor:
        return self.hidden(F.relu(self.linear(x)))
