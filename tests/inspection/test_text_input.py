"""A text as the input of any kind of model: the forward pass is the model's own, and wrong requests are refused."""

import pytest
import torch

from glasshouse.inspection.capture import capture, edit
from glasshouse.inspection.text_input import TextInput
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

from .inspected_runs import TEXTS


def test_copies_have_the_same_logits_and_the_likeliest_output_is_the_prediction(inspected):
    text = TextInput(inspected, TEXTS[inspected.name][0])
    with torch.inference_mode():
        logits = text.forward(3)
        torch.testing.assert_close(logits[0], logits[2], atol=1e-5, rtol=1e-5)
    assert logits.shape[1] == len(text.rows)
    prediction = text.prediction()
    assert prediction.logit == pytest.approx(float(logits[0, prediction.row].max()), abs=1e-5)
    assert prediction.name == text.output_name(prediction.output)
    if inspected.name == "masked":
        assert text.rows[prediction.row] == "<|mask|>"


def test_the_last_state_of_the_residual_stream_gives_the_output(inspected):
    text = TextInput(inspected, TEXTS[inspected.name][0])
    if text.recurrent:
        return  # a recurrent model adds its attention after the last layer
    name = text.stacks[-1].stream_probes()[-1][1]
    with torch.inference_mode(), capture(inspected.model, name) as activations:
        output = text.forward()
        torch.testing.assert_close(text.project(activations[name]), output, atol=1e-5, rtol=1e-5)


def test_a_named_output_is_found(inspected):
    text = TextInput(inspected, TEXTS[inspected.name][0])
    prediction = text.prediction()
    name = str(prediction.output) if inspected.name == "dual-encoder" else prediction.name
    assert text.prediction(prediction.row + 1, name) == prediction
    with refused(GlasshouseError, "99"):
        text.prediction(99)


def test_unknown_targets_and_long_or_empty_texts_are_refused(inspected):
    text = TextInput(inspected, TEXTS[inspected.name][0])
    codes = {"classifier": GlasshouseError, "dual-encoder": GlasshouseError}
    with refused(codes.get(inspected.name, GlasshouseError)):
        text.prediction(target="no such answer")
    with refused(GlasshouseError):
        TextInput(inspected, "")
    long = " ".join(["abca", "the", "cat"] * 200)
    with refused(GlasshouseError, "data.context"):
        TextInput(inspected, long)


def test_an_edit_changes_the_output_and_leaves_nothing_behind(inspected):
    text = TextInput(inspected, TEXTS[inspected.name][0])
    with torch.inference_mode():
        before = text.forward()
        with edit(inspected.model, {text.embedding: lambda output: output.roll(1, 1)}):
            assert not torch.allclose(text.forward(), before)
        assert torch.equal(text.forward(), before)
        with refused(GlasshouseError), edit(inspected.model, {text.embedding: lambda output: output[:, 1:]}):
            text.forward()
    assert not any(module._forward_hooks for module in inspected.model.modules())


def test_a_run_that_describes_pictures_cannot_read_a_text_alone(describer):
    with refused(GlasshouseError, "describer"):
        TextInput(describer, "two red circles")
