"""The explorer's numbers are those of the model, and each step follows from the ones before it."""

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.inspection import exploration
from glasshouse.inspection.exploration import explore, recurrent_steps
from glasshouse.inspection.text_input import TextInput
from glasshouse.parts import recurrence
from glasshouse.parts.recurrence import Recurrence
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

from .inspected_runs import SIZES, TEXTS


def test_every_kind_of_stack_is_followed_to_its_prediction(inspected):
    text = TEXTS[inspected.name][0]
    content = explore(inspected, text)
    prediction = TextInput(inspected, text).prediction()
    logits = content.after[-1].array[prediction.row]
    assert content.outputs[int(logits.argmax())] == prediction.name
    assert len(content.layers) == SIZES["layers"]
    for step in (*content.before, *content.layers[0], *content.after):
        assert np.isfinite(step.array).all()
        assert step.title
        assert step.formula
        assert step.about
    assert ("State" if inspected.name == "recurrent" else "Residual stream") in content.layers[0][-1].title


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_the_steps_of_attention_follow_from_each_other(inspected):
    steps = {step.title: step.array for step in explore(inspected, TEXTS[inspected.name][0]).layers[0]}
    queries, keys, values = (steps[name] for name in ("Query", "Keys", "Values"))
    scores = queries @ keys.transpose(0, 2, 1) / queries.shape[-1] ** 0.5
    np.testing.assert_allclose(steps["Scores"], scores, atol=1e-5)
    allowed = np.tril(np.exp(scores))
    weights = allowed / allowed.sum(-1, keepdims=True)
    np.testing.assert_allclose(steps["Attention weights"], weights, atol=1e-5)
    np.testing.assert_allclose(steps["Mixed values"], weights @ values, atol=1e-5)


@pytest.mark.parametrize("inspected", ["recurrent"], indirect=True)
def test_a_recurrent_model_is_followed_through_its_states_and_its_attention(inspected):
    content = explore(inspected, TEXTS[inspected.name][0])
    titles = [step.title for step in content.after]
    assert [step.title for step in content.layers[1]] == ["State so far", "Reset gate", "Update gate", "New values", "State"]
    assert titles[0] == "Query"
    assert titles[-3:] == ["Output of all heads", "States plus attention", "Prediction"]
    arrays = {step.title: step.array for step in (*content.layers[-1], *content.after)}
    np.testing.assert_allclose(
        arrays["States plus attention"], arrays["State"] + arrays["Output of all heads"], atol=1e-5, rtol=1e-4
    )


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_long_texts_and_other_suffixes_are_refused(inspected, tmp_path, monkeypatch):
    with refused(GlasshouseError, ".png"):
        glasshouse.runs.explore(inspected.folder.path, "the", tmp_path / "page.png", device="cpu")
    monkeypatch.setattr(exploration, "MOST_TOKENS", 2)
    with refused(GlasshouseError, "3"):
        explore(inspected, "the")


CELLS = (recurrence.IdentityCell, recurrence.TanhCell, recurrence.ReLUCell, recurrence.GRUCell, recurrence.LSTMCell)


def arrays(layer, x):
    with torch.no_grad():
        return {step.title: step.array for step in recurrent_steps(layer, x)}


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
        for step in recurrent_steps(Recurrence(cell(6, 4), cell(6, 4)), torch.randn(1, 3, 6)):
            assert step.formula
            assert step.about.endswith(".")
