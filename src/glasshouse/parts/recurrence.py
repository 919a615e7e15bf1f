"""Recurrent layers: a state is passed from token to token.

Each cell computes h_t = f(h_(t-1), x_t). The loop over time is the reference; torch's fused kernels are the fast path for
the cells that torch has. Both use the same weights, in torch's layout.

Axes: B batch, T time, D width, G number of gates times state size.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts.cache import LayerCache

State = tuple[Tensor, Tensor]


class Cell(nn.Module, ABC):
    """One layer in one direction. A state is a pair of tensors (B, state); only the LSTM uses the second.

    `plain = True` selects the loop over time instead of the fused kernel.
    """

    gates: ClassVar[int] = 1
    # torch's fused kernel for this cell, or None.
    kernel: ClassVar[Any] = None

    def __init__(self, width: int, state: int) -> None:
        super().__init__()
        self.width, self.state = width, state
        self.plain = False
        self.input = nn.Linear(width, self.gates * state)
        self.recurrent = nn.Linear(state, self.gates * state)

    @abstractmethod
    def step(self, input_BG: Tensor, state: State) -> State:
        """The next state, from W x_t + b and the previous state."""

    def gate_values(self, input_BG: Tensor, state: State) -> dict[str, Tensor]:
        """Gate -> its values (B, state), from W x_t + b and the previous state. A cell without gates has none."""
        return {}

    def forward(self, x_BTD: Tensor, state: State | None = None) -> tuple[Tensor, Tensor]:
        """The states (B, T, state) after each token, and the LSTM's cell states (other cells return the first again)."""
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
        """The states (B, T, state) from a zero state, by torch's fused kernel if there is one, which cannot fill a cache."""
        # Not every CPU has bfloat16 kernels for recurrent cells.
        cpu_autocast = x_BTD.device.type == "cpu" and torch.is_autocast_enabled("cpu")
        if self.kernel is None or self.plain or cpu_autocast:
            return self.forward(x_BTD)[0]
        zeros = x_BTD.new_zeros(1, x_BTD.shape[0], self.state)
        initial: Any = (zeros, zeros) if isinstance(self, LSTMCell) else zeros
        weights = [self.input.weight, self.recurrent.weight, self.input.bias, self.recurrent.bias]
        # The first flag after the dropout of 0 is `train`: cuDNN allows a backward pass only in training mode, and without
        # dropout the mode changes no output.
        return self.kernel(x_BTD, initial, weights, True, 1, 0.0, True, False, True)[0]


class IdentityCell(Cell):
    """h_t = W x_t + U h_(t-1) + b: a linear cell, whose gradients through time are powers of U."""

    def activate(self, x: Tensor) -> Tensor:
        return x

    def step(self, input_BG: Tensor, state: State) -> State:
        hidden = self.activate(input_BG + self.recurrent(state[0]))
        return hidden, hidden


class TanhCell(IdentityCell):
    """h_t = tanh(W x_t + U h_(t-1) + b) (Elman, Finding Structure in Time, 1990)."""

    kernel = staticmethod(torch.rnn_tanh)

    def activate(self, x: Tensor) -> Tensor:
        return torch.tanh(x)


class ReLUCell(IdentityCell):
    """h_t = max(0, W x_t + U h_(t-1) + b)."""

    kernel = staticmethod(torch.rnn_relu)

    def activate(self, x: Tensor) -> Tensor:
        return F.relu(x)


class GRUCell(Cell):
    """r, z = sigmoid(...); n = tanh(W x_t + b + r (U h_(t-1) + c)); h_t = (1 - z) n + z h_(t-1) (Cho et al. 2014)."""

    gates = 3
    kernel = staticmethod(torch.gru)

    def gate_values(self, input_BG: Tensor, state: State) -> dict[str, Tensor]:
        reset_x, update_x, new_x = input_BG.chunk(3, -1)
        reset_h, update_h, new_h = self.recurrent(state[0]).chunk(3, -1)
        reset, update = torch.sigmoid(reset_x + reset_h), torch.sigmoid(update_x + update_h)
        return {"reset gate": reset, "update gate": update, "new values": torch.tanh(new_x + reset * new_h)}

    def step(self, input_BG: Tensor, state: State) -> State:
        _, update, new = self.gate_values(input_BG, state).values()
        hidden = (1 - update) * new + update * state[0]
        return hidden, hidden


class LSTMCell(Cell):
    """i, f, o = sigmoid(...); g = tanh(...); c_t = f c_(t-1) + i g; h_t = o tanh(c_t) (Hochreiter and Schmidhuber 1997)."""

    gates = 4
    kernel = staticmethod(torch.lstm)

    def gate_values(self, input_BG: Tensor, state: State) -> dict[str, Tensor]:
        input_gate, forget_gate, new, output_gate = (input_BG + self.recurrent(state[0])).chunk(4, -1)
        return {
            "input gate": torch.sigmoid(input_gate),
            "forget gate": torch.sigmoid(forget_gate),
            "new values": torch.tanh(new),
            "output gate": torch.sigmoid(output_gate),
        }

    def step(self, input_BG: Tensor, state: State) -> State:
        input_gate, forget_gate, new, output_gate = self.gate_values(input_BG, state).values()
        cell = forget_gate * state[1] + input_gate * new
        return output_gate * torch.tanh(cell), cell


class Recurrence(nn.Module):
    """One layer: a cell that reads forwards and, in a bidirectional layer, a second cell that reads backwards."""

    def __init__(self, forwards: Cell, backwards: Cell | None = None) -> None:
        super().__init__()
        self.forwards, self.backwards = forwards, backwards

    def forward(self, x_BTD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """Outputs (B, T, D). The backward cell starts at the last token of each row, so padding changes nothing."""
        forward_states = self.forwards.outputs(x_BTD)
        if self.backwards is None:
            return forward_states
        backward_states = _reversed(self.backwards.outputs(_reversed(x_BTD, lengths_B)), lengths_B)
        return torch.cat([forward_states, backward_states], -1)

    def continued(self, x_BTD: Tensor, cache: LayerCache, positions_BT: Tensor) -> Tensor:
        """The outputs after new tokens, from the cached state before them. Writes the new states to the cache."""
        before, later = cache.state_before(positions_BT)
        first, second = self.forwards(x_BTD, (before[:, 0], later[:, 0]))
        cache.extend(first[:, None], second[:, None], positions_BT)
        return first


def _reversed(x_BTD: Tensor, lengths_B: Tensor | None) -> Tensor:
    """Reverse the first `lengths` tokens of each row; leave the padding in place."""
    if lengths_B is None:
        return x_BTD.flip(1)
    positions = torch.arange(x_BTD.shape[1], device=x_BTD.device)
    source = torch.where(positions < lengths_B[:, None], lengths_B[:, None] - 1 - positions, positions)
    return x_BTD.gather(1, source[..., None].expand_as(x_BTD))
