"""The steps of a text through a recurrent layer, with their numbers, for the explorer page.

Axes: T time, D width, G number of gates times state size.
"""

import torch
from torch import Tensor

from glasshouse.parts.recurrence import Cell, GRUCell, LSTMCell, Recurrence
from glasshouse.results.exploration import Step

# Cell -> gate -> its formula and what it does.
GATES: dict[type[Cell], dict[str, tuple[str, str]]] = {
    LSTMCell: {
        "forget gate": (
            "f = sigmoid(W_f x_t + U_f h_(t-1) + b_f)",
            "The share of each value of the cell state that is kept.",
        ),
        "input gate": (
            "i = sigmoid(W_i x_t + U_i h_(t-1) + b_i)",
            "The share of each new value that is written to the cell state.",
        ),
        "new values": ("g = tanh(W_g x_t + U_g h_(t-1) + b_g)", "What this token would write to the cell state."),
        "output gate": (
            "o = sigmoid(W_o x_t + U_o h_(t-1) + b_o)",
            "The share of each value of the cell state that is passed on.",
        ),
    },
    GRUCell: {
        "reset gate": (
            "r = sigmoid(W_r x_t + U_r h_(t-1) + b_r)",
            "The share of the state so far that the new values depend on.",
        ),
        "update gate": ("z = sigmoid(W_z x_t + U_z h_(t-1) + b_z)", "The share of the state so far that is kept."),
        "new values": ("n = tanh(W_n x_t + b_n + r (U_n h_(t-1) + c_n))", "What this token would write to the state."),
    },
}
STATES = {LSTMCell: "h_t = o tanh(c_t)", GRUCell: "h_t = (1 - z) n + z h_(t-1)"}


def layer_steps(layer: Recurrence, x_1TD: Tensor) -> tuple[Step, ...]:
    """The steps of a layer for its input: of the cell that reads forwards, then of the one that reads backwards, if any."""
    steps = _cell_steps(layer.forwards, x_1TD, "", "before")
    if layer.backwards is not None:
        steps += [_reversed(step) for step in _cell_steps(layer.backwards, x_1TD.flip(1), "Backwards: ", "after")]
    return tuple(steps)


def _cell_steps(cell: Cell, x_1TD: Tensor, prefix: str, side: str) -> list[Step]:
    """The steps of a cell in the order in which it reads, whose earlier tokens stand on one side of a token."""
    inputs_1TG = cell.input(x_1TD)
    zeros = x_1TD.new_zeros(1, cell.state)
    state = (zeros, zeros)
    before, after, gates = [], [], []
    for time in range(x_1TD.shape[1]):
        before.append(state)
        gates.append(cell.gate_values(inputs_1TG[:, time], state))
        state = cell.step(inputs_1TG[:, time], state)
        after.append(state)

    def step(title: str, formula: str, about: str, rows: list[Tensor]) -> Step:
        title = prefix + (title if prefix else title.capitalize())
        return Step(title, formula, about, "vector", torch.cat(rows).float().cpu().numpy())

    explained = GATES.get(type(cell), {})
    steps = [
        step("state so far", "h_(t-1)", f"What the layer kept of the tokens {side} this one.", [row[0] for row in before])
    ]
    steps += [step(name, *explained[name], [row[name] for row in gates]) for name in explained]
    if isinstance(cell, LSTMCell):
        about = "What is kept of the cell state, plus what this token writes to it."
        steps.append(step("cell state", "c_t = f c_(t-1) + i g", about, [row[1] for row in after]))
    formula = STATES.get(type(cell)) or " ".join((type(cell).__doc__ or type(cell).__name__).split()).split(" (")[0]
    about = f"The output of the layer at this token, and the state that the token {_other(side)} it starts from."
    steps.append(step("state", formula, about, [row[0] for row in after]))
    return steps


def _other(side: str) -> str:
    return {"before": "after", "after": "before"}[side]


def _reversed(step: Step) -> Step:
    return Step(step.title, step.formula, step.about, step.kind, step.array[::-1])
