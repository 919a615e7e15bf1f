"""The steps through a recurrent layer are those of its cells, and follow from each other."""

import numpy as np
import pytest
import torch

from glasshouse.inspection.recurrent_steps import layer_steps
from glasshouse.parts import recurrence
from glasshouse.parts.recurrence import Recurrence

CELLS = (recurrence.IdentityCell, recurrence.TanhCell, recurrence.ReLUCell, recurrence.GRUCell, recurrence.LSTMCell)


def arrays(layer, x):
    with torch.no_grad():
        return {step.title: step.array for step in layer_steps(layer, x)}


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_the_last_step_is_the_output_of_the_layer(cell, both):
    torch.manual_seed(0)
    layer = Recurrence(cell(6, 4), cell(6, 4) if both else None)
    x = torch.randn(1, 5, 6)
    found = arrays(layer, x)
    states = np.concatenate([found["State"], found["Backwards: state"]], -1) if both else found["State"]
    np.testing.assert_allclose(states, layer(x)[0].detach(), atol=1e-5, rtol=1e-4)
    np.testing.assert_array_equal(found["State so far"][1:], found["State"][:-1])
    assert not found["State so far"][0].any()
    if both:
        np.testing.assert_array_equal(found["Backwards: state so far"][:-1], found["Backwards: state"][1:])


def test_the_gates_of_an_lstm_give_its_states():
    torch.manual_seed(0)
    found = arrays(Recurrence(recurrence.LSTMCell(6, 4)), torch.randn(1, 5, 6))
    before = np.vstack([np.zeros((1, 4)), found["Cell state"][:-1]])
    cells = found["Forget gate"] * before + found["Input gate"] * found["New values"]
    np.testing.assert_allclose(found["Cell state"], cells, atol=1e-6)
    np.testing.assert_allclose(found["State"], found["Output gate"] * np.tanh(cells), atol=1e-6)


@torch.no_grad()
def test_every_step_has_a_formula_and_says_what_it_is():
    for cell in CELLS:
        for step in layer_steps(Recurrence(cell(6, 4), cell(6, 4)), torch.randn(1, 3, 6)):
            assert step.formula
            assert step.about.endswith(".")
