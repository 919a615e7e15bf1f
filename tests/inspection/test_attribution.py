"""Attributions: the scores add up to what they explain, and agree with Captum's."""

import pytest
import torch

import glasshouse
from glasshouse.inspection.attribution import direct_attribution, gradient_x_input, integrated_gradients
from glasshouse.inspection.capture import capture, edit
from glasshouse.inspection.text_input import TextInput
from glasshouse.specs.errors import GlasshouseError
from tests import needs
from tests.refusals import refused

from .inspected_runs import TEXTS


def test_integrated_gradients_sum_to_the_difference_of_the_logits(inspected):
    text = TextInput(inspected, TEXTS[inspected.name][0])
    result = integrated_gradients(text, text.prediction())
    assert len(result.scores) == len(text.tokens)
    difference = result.prediction.logit - result.baseline
    assert sum(result.scores) == pytest.approx(difference, abs=2e-3 * max(abs(difference), 0.1))
    assert any(abs(score) > 1e-4 for score in result.scores)


def test_the_parts_of_a_logit_sum_to_it(inspected):
    text = TextInput(inspected, TEXTS[inspected.name][0])
    result = direct_attribution(text, text.prediction())
    assert sum(part.value for part in result.components) == pytest.approx(result.prediction.logit, abs=1e-4)
    heads = {(part.layer, part.head) for part in result.components if part.head}
    blocks = 1 if text.recurrent else len(text.stacks[-1].outputs)
    assert len(heads) == inspected.spec.model.heads * blocks


@pytest.mark.parametrize("inspected", ["no-norm"], indirect=True)
def test_a_part_of_a_logit_is_what_its_head_writes(inspected):
    """In a model without norms, it is the product of what the head writes and the output weights of the token."""
    text = TextInput(inspected, TEXTS["no-norm"][0])
    prediction = text.prediction()
    part = next(part for part in direct_attribution(text, prediction).components if (part.layer, part.head) == (2, 1))
    attention = inspected.model.blocks[1].attention
    with torch.no_grad(), capture(inspected.model, "blocks.1.attention.mixed") as saved:
        text.forward()
    written = saved["blocks.1.attention.mixed"][0, 0, prediction.row] @ attention.output.weight[:, :8].T
    weight = inspected.model.head.matrix(inspected.model.embedding.weight)[prediction.output]
    assert part.value == pytest.approx(float((written @ weight).detach()), abs=1e-5)


@pytest.mark.parametrize("inspected", ["rms-rotary", "post-norm-alibi"], indirect=True)
@pytest.mark.parametrize("method", ["integrated", "gradient"])
def test_captum_finds_the_same_scores(inspected, method):
    captum = needs.package("captum.attr")
    text = TextInput(inspected, TEXTS[inspected.name][0])
    prediction = text.prediction()
    model = inspected.model
    ids = torch.tensor([text.ids])
    embedded = model.embedding(ids).detach()
    baseline = model.embedding(torch.full_like(ids, inspected.tokenizer.end_of_text)).detach()

    def logit(embeddings):
        with edit(model, {"embedding": lambda _: embeddings}):
            return text.forward(len(embeddings))[:, prediction.row, prediction.output]

    if method == "integrated":
        theirs = captum.IntegratedGradients(logit).attribute(embedded, baseline, n_steps=64, method="gausslegendre")
        ours = integrated_gradients(text, prediction)
    else:
        theirs = captum.InputXGradient(logit).attribute(embedded.requires_grad_())
        ours = gradient_x_input(text, prediction)
    assert ours.scores == pytest.approx(theirs.sum(-1)[0].tolist(), abs=1e-4)


@pytest.mark.parametrize("inspected", ["rms-rotary", "encoder-decoder"], indirect=True)
def test_the_function_writes_figures_and_refuses_unknown_methods(inspected, tmp_path):
    text = TEXTS[inspected.name][0]
    for method in ("integrated-gradients", "gradient-x-input", "direct"):
        path = tmp_path / f"{method}.svg"
        glasshouse.attribute(inspected.folder.path, text, method, output=path, device="cpu")
        assert path.stat().st_size > 1000
    with refused(GlasshouseError, "'magic'"):
        glasshouse.attribute(inspected.folder.path, text, "magic")


def test_scores_include_what_the_wide_part_of_a_classifier_adds(tmp_path):
    """The scores and the parts of a logit sum to it, and a word that only the wide part has learned gets a score."""
    rows = tmp_path / "rows.tsv"
    rows.write_text(
        "".join(f"{label}\t{word} {number}\n" for number in range(20) for label, word in (("a", "fir"), ("b", "oak")))
    )
    settings = ("data.tokenizer=words", "data.vocabulary=40", "model.head.wide=2", "model.head.wide_buckets=512")
    small = (
        "model.width=8",
        "model.layers=1",
        "model.heads=1",
        "training.steps=1",
        "training.precision=fp32",
        "training.threads=1",
    )
    run = glasshouse.train("classifier", f"data.files={rows}", *settings, *small, device="cpu")
    text = TextInput(run, "fir 3")
    prediction = text.prediction()
    assert prediction.name == "a"
    integrated = integrated_gradients(text, prediction)
    assert sum(integrated.scores) == pytest.approx(prediction.logit - integrated.baseline, rel=2e-3)
    for result in (integrated, gradient_x_input(text, prediction)):
        assert result.scores[0] > 0.2
    parts = direct_attribution(text, prediction).components
    assert sum(part.value for part in parts) == pytest.approx(prediction.logit, abs=1e-4)
    assert next(part.value for part in parts if part.title == "wide part") > 0.2
