"""Trains many small recurrent networks together, with stacked weights. Knows no task.

The tasks of the library have one label or one loss for a text. These networks answer at every position, and their
optimiser, clipping and initial weights are part of the question, so they have a training loop of their own. Networks of one
shape may differ in everything else: seed, examples, initial weights, learning rate and clipping.

Axes: N networks, B batch, T time, D width.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

from glasshouse.parts.recurrence import Cell, Recurrence

# (inputs (B, T, D), targets), drawn from a generator.
Draw = Callable[[torch.Generator], tuple[Tensor, Tensor]]
# (outputs, targets) -> the mean loss or score of a batch.
Score = Callable[[Tensor, Tensor], Tensor]
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class Tagger(nn.Module):
    """A recurrent layer that reads vectors, in one direction or both, and a linear output at every position."""

    def __init__(self, forwards: Cell, outputs: int, backwards: Cell | None = None) -> None:
        super().__init__()
        for cell in filter(None, (forwards, backwards)):
            cell.plain = True  # torch's fused kernels cannot be vectorised over networks
        self.recurrence = Recurrence(forwards, backwards)
        self.output = nn.Linear(forwards.state + (backwards.state if backwards else 0), outputs)

    def forward(self, x_BTD: Tensor) -> Tensor:
        return self.output(self.recurrence(x_BTD))


@dataclass(frozen=True)
class Network:
    """One of the networks. Those with the same seed and the same `draw` see the same examples."""

    seed: int
    build: Callable[[], nn.Module]
    draw: Draw
    rate: float
    clip: float = 0.0  # the largest norm of a gradient; 0 turns clipping off


@dataclass(frozen=True)
class History:
    """Step by step (steps, N): the loss, and the norm of the gradient before clipping."""

    losses: Tensor
    gradient_norms: Tensor


class StackedNetworks:
    """Networks of one shape, each with its own weights."""

    def __init__(self, networks: Sequence[Network], loss: Score, device: torch.device) -> None:
        self.networks, self.device = networks, device
        models = [_build(network) for network in networks]
        self.weights = {name: tensor.detach().to(device) for name, tensor in stack_module_state(models)[0].items()}
        self.model = copy.deepcopy(models[0]).to(device)
        streams = list(dict.fromkeys((network.seed, network.draw) for network in networks))
        self.streams = [(draw, torch.Generator().manual_seed(seed)) for seed, draw in streams]
        self.stream_of = torch.tensor([streams.index((network.seed, network.draw)) for network in networks])
        self.rates, self.clips = (
            torch.tensor(values, device=device)
            for values in ([network.rate for network in networks], [network.clip for network in networks])
        )
        self._gradients = vmap(grad_and_value(lambda weights, x, y: loss(functional_call(self.model, weights, (x,)), y)))

    def train(self, steps: int, adam: bool = True) -> History:
        """Take so many steps of Adam, or of plain gradient descent."""
        losses, norms = [], []
        first, second = ({name: torch.zeros_like(tensor) for name, tensor in self.weights.items()} for _ in range(2))
        for step in range(1, steps + 1):
            gradients, losses_N = self._gradients(self.weights, *self._batch())
            norms_N = torch.stack([gradient.flatten(1).norm(dim=1) for gradient in gradients.values()]).norm(dim=0)
            # The formula of torch's clip_grad_norm_.
            factors_N = torch.where(self.clips > 0, (self.clips / (norms_N + 1e-6)).clamp(max=1.0), 1.0)
            for name, weight in self.weights.items():
                update = gradients[name] * _broadcast(factors_N, weight)
                if adam:
                    first[name].lerp_(update, 1 - BETA1)
                    second[name].lerp_(update.square(), 1 - BETA2)
                    spread = (second[name] / (1 - BETA2**step)).sqrt() + EPSILON
                    update = first[name] / (1 - BETA1**step) / spread
                weight.sub_(_broadcast(self.rates, weight) * update)
            losses.append(losses_N)
            norms.append(norms_N)
        return History(torch.stack(losses).cpu(), torch.stack(norms).cpu())

    @torch.no_grad()
    def score(self, score: Score, batches: int) -> list[float]:
        """The mean score of each network on fresh examples."""
        of_one = vmap(lambda weights, x, y: score(functional_call(self.model, weights, (x,)), y))
        return torch.stack([of_one(self.weights, *self._batch()) for _ in range(batches)]).mean(0).tolist()

    def not_finite(self) -> list[bool]:
        """For each network, whether a weight is NaN or infinite."""
        finite = torch.stack([tensor.flatten(1).isfinite().all(1) for tensor in self.weights.values()])
        return (~finite.all(0)).tolist()

    def _batch(self) -> tuple[Tensor, Tensor]:
        """The next examples of every network, (N, B, ...)."""
        inputs, targets = zip(*(draw(generator) for draw, generator in self.streams), strict=True)
        return tuple(torch.stack(part)[self.stream_of].to(self.device) for part in (inputs, targets))  # type: ignore[return-value]


def parameter_count(networks: StackedNetworks) -> int:
    """The number of parameters of one network."""
    return sum(tensor[0].numel() for tensor in networks.weights.values())


def mean_by(names: Sequence[str], values: Sequence[float]) -> Mapping[str, float]:
    """Name -> the mean of its values."""
    return {
        name: sum(value for other, value in zip(names, values, strict=True) if other == name) / names.count(name)
        for name in dict.fromkeys(names)
    }


def _build(network: Network) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(network.seed)
        return network.build()


def _broadcast(values_N: Tensor, like: Tensor) -> Tensor:
    return values_N.reshape(-1, *[1] * (like.dim() - 1))
