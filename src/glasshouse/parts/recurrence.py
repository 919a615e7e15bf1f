"""Recurrent layers: a state carried from token to token.

Each cell is h_t = f(h_(t-1), x_t). The loop over time is the definition; torch's fused kernels, where they have the cell,
are the fast path. Both read the same weights, in torch's layout.

Axes: B batch, T time, D width, G gates times state.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

State = tuple[Tensor, Tensor]


class Cell(nn.Module, ABC):
    """One layer in one direction. A state is two tensors (B, state); only the LSTM uses the second."""

    gates: ClassVar[int] = 1
    # torch's kernel for this cell, or None where it has none.
    kernel: ClassVar[Any] = None

    def __init__(self, width: int, state: int) -> None:
        super().__init__()
        self.width, self.state = width, state
        self.plain = False
        self.input = nn.Linear(width, self.gates * state)
        self.recurrent = nn.Linear(state, self.gates * state)

    @abstractmethod
    def step(self, input_BG: Tensor, state: State) -> State:
        """The next state, from the token's part W x_t + b and the state before."""

    def forward(self, x_BTD: Tensor, state: State | None = None) -> tuple[Tensor, Tensor]:
        """The states (B, T, state) after each token, and the LSTM's second ones (others give the first again)."""
        if state is None:
            zeros = x_BTD.new_zeros(x_BTD.shape[0], self.state)
            state = (zeros, zeros)
        inputs = self.input(x_BTD)
        first, second = [], []
        for time in range(x_BTD.shape[1]):
            state = self.step(inputs[:, time], state)
            first.append(state[0])
            second.append(state[1])
        return torch.stack(first, 1), torch.stack(second, 1)

    def outputs(self, x_BTD: Tensor) -> Tensor:
        """The states (B, T, state) from a state of zeros, by the fused kernel where there is one.

        The kernels give the second state at the end only, so they do not serve where a cache goes on from the middle.
        """
        # Not every processor has kernels for cells in bfloat16.
        coarse = x_BTD.device.type == "cpu" and torch.is_autocast_enabled("cpu")
        if self.kernel is None or self.plain or coarse:
            return self.forward(x_BTD)[0]
        zeros = x_BTD.new_zeros(1, x_BTD.shape[0], self.state)
        start: Any = (zeros, zeros) if isinstance(self, LSTMCell) else zeros
        weights = [self.input.weight, self.recurrent.weight, self.input.bias, self.recurrent.bias]
        # Said to be training, since cuDNN keeps what a backward pass needs only then; without dropout it is the same.
        return self.kernel(x_BTD, start, weights, True, 1, 0.0, True, False, True)[0]

    def flops(self, tokens: int) -> int:
        return 2 * tokens * self.gates * self.state * (self.width + self.state)


class IdentityCell(Cell):
    """h_t = W x_t + U h_(t-1) + b: linear, so that its gradients are powers of U."""

    def step(self, input_BG: Tensor, state: State) -> State:
        hidden = input_BG + self.recurrent(state[0])
        return hidden, hidden


class TanhCell(Cell):
    """h_t = tanh(W x_t + U h_(t-1) + b) (Elman, Finding Structure in Time, 1990)."""

    kernel = staticmethod(torch.rnn_tanh)

    def step(self, input_BG: Tensor, state: State) -> State:
        hidden = torch.tanh(input_BG + self.recurrent(state[0]))
        return hidden, hidden


class ReLUCell(Cell):
    """h_t = max(0, W x_t + U h_(t-1) + b)."""

    kernel = staticmethod(torch.rnn_relu)

    def step(self, input_BG: Tensor, state: State) -> State:
        hidden = F.relu(input_BG + self.recurrent(state[0]))
        return hidden, hidden


class GRUCell(Cell):
    """r, z = sigmoid(..); n = tanh(W x + b + r (U h + c)); h_t = (1 - z) n + z h_(t-1) (Cho et al. 2014)."""

    gates = 3
    kernel = staticmethod(torch.gru)

    def step(self, input_BG: Tensor, state: State) -> State:
        reset_x, update_x, new_x = input_BG.chunk(3, -1)
        reset_h, update_h, new_h = self.recurrent(state[0]).chunk(3, -1)
        reset, update = torch.sigmoid(reset_x + reset_h), torch.sigmoid(update_x + update_h)
        new = torch.tanh(new_x + reset * new_h)
        hidden = (1 - update) * new + update * state[0]
        return hidden, hidden


class LSTMCell(Cell):
    """i, f, o = sigmoid(..), g = tanh(..); c_t = f c_(t-1) + i g; h_t = o tanh(c_t) (Hochreiter and Schmidhuber 1997)."""

    gates = 4
    kernel = staticmethod(torch.lstm)

    def step(self, input_BG: Tensor, state: State) -> State:
        keep_in, forget, new, out = (input_BG + self.recurrent(state[0])).chunk(4, -1)
        cell = torch.sigmoid(forget) * state[1] + torch.sigmoid(keep_in) * torch.tanh(new)
        return torch.sigmoid(out) * torch.tanh(cell), cell


class Recurrence(nn.Module):
    """One layer: a cell that reads forwards, and another that reads backwards where the layer has two."""

    def __init__(self, forwards: Cell, backwards: Cell | None = None) -> None:
        super().__init__()
        self.forwards, self.backwards = forwards, backwards

    def forward(self, x_BTD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """Outputs (B, T, D). Backwards means from each row's own last token, so padding changes nothing."""
        ahead = self.forwards.outputs(x_BTD)
        if self.backwards is None:
            return ahead
        turned = _reversed(self.backwards.outputs(_reversed(x_BTD, lengths_B)), lengths_B)
        return torch.cat([ahead, turned], -1)

    def flops(self, tokens: int) -> int:
        return self.forwards.flops(tokens) + (self.backwards.flops(tokens) if self.backwards else 0)


def _reversed(x_BTD: Tensor, lengths_B: Tensor | None) -> Tensor:
    """The first `lengths` tokens of each row in reverse, the rest where they stand."""
    if lengths_B is None:
        return x_BTD.flip(1)
    places = torch.arange(x_BTD.shape[1], device=x_BTD.device)
    source = torch.where(places < lengths_B[:, None], lengths_B[:, None] - 1 - places, places)
    return x_BTD.gather(1, source[..., None].expand_as(x_BTD))
