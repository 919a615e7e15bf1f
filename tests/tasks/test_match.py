"""Matching texts and pictures: the loss, retrieval ranks, batches, a run that learns, and specs that are refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import glasshouse
from glasshouse import models
from glasshouse.data import prepared_data
from glasshouse.data.user_files.pictures import UserPictures
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import DataSpec, ModelSpec, Spec
from glasshouse.tasks.contrastive import retrieval_ranks, sharing, symmetric_losses
from glasshouse.tasks.match import Match, normalise_pictures
from tests.refusals import refused
from tests.tasks.item_metrics import check_item_values

SMALL: dict[str, dict[str, object]] = {
    "model": {"width": 16, "layers": 1, "heads": 2, "image_size": 16, "image_width": 16, "image_layers": 1},
    "training": {"steps": 120, "batch": 16, "threads": 1, "precision": "fp32", "learning_rate": 1e-2},
    "evaluation": {"every": 30},
}


@pytest.fixture
def file(picture_file: Path) -> Path:
    return picture_file


def data(file):
    return {"source": "", "files": [str(file)], "picture_size": 16, "context": 4, "validation": 0.2, "test": 0.2}


def loss(scores, captions):
    return symmetric_losses(scores, sharing((captions, captions))).mean()


def test_the_loss_is_the_mean_of_both_cross_entropies():
    scores = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))
    targets = torch.arange(5)
    expected = (F.cross_entropy(scores, targets) + F.cross_entropy(scores.T, targets)) / 2
    assert torch.allclose(loss(scores, torch.arange(5) + 7), expected)


def test_equal_captions_share_the_target():
    scores = torch.tensor([[3.0, 3.0, 0.0], [3.0, 3.0, 0.0], [0.0, 0.0, 5.0]])
    equal, different = loss(scores, torch.tensor([0, 0, 1])), loss(scores, torch.arange(3))
    assert torch.allclose(equal, different), "two equally good answers have half the weight each"
    diagonal = torch.tensor([[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]])
    assert loss(diagonal, torch.tensor([0, 0, 1])) > 2.5 > 0.1 > loss(diagonal, torch.arange(3))


def test_a_rank_counts_the_wrong_answers_that_score_at_least_as_high():
    queries, answers = torch.eye(3), torch.tensor([[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    assert retrieval_ranks(queries, answers, torch.arange(3)).tolist() == [1, 1, 0]
    assert retrieval_ranks(queries, answers, torch.tensor([0, 0, 1])).tolist() == [0, 1, 0]
    constant = retrieval_ranks(torch.zeros(4, 2), torch.zeros(4, 2), torch.arange(4))
    assert constant.tolist() == [3] * 4, "a model with constant outputs retrieves nothing"


def test_pictures_are_normalised_with_channels_first():
    picture = np.zeros((10, 10, 3), np.uint8)
    picture[..., 0] = 255
    normalised = normalise_pictures(picture[None])
    assert normalised.shape == (1, 3, 10, 10)
    assert normalised[0, 0].unique().tolist() == [1.0]
    assert normalised[0, 1:].unique().tolist() == [-1.0]


def test_a_batch_holds_texts_pictures_and_which_captions_are_equal(file):
    spec = DataSpec(
        files=(str(file),), tokenizer="words", vocabulary=20, context=4, picture_size=16, validation=0.2, test=0.2
    )
    prepared = prepared_data.prepare(spec, columns=("picture",))
    task = Match(replace(Spec(), data=spec))
    shard = prepared.splits["train"]
    batch = task.batch(shard, 0, np.zeros(32, int), np.arange(32))
    assert batch["pictures"].shape == (32, 3, 16, 16)
    assert -1 <= batch["pictures"].min() < 0 < batch["pictures"].max() <= 1
    texts = [prepared.tokenizer.decode(shard.texts(np.array([index]))[0]) for index in range(32)]
    for one, other in ((0, 1), (2, 9), (5, 30)):
        assert (batch["captions"][one] == batch["captions"][other]) == (texts[one] == texts[other])
    red, green, blue = (float(value) for value in batch["pictures"][0, :, 8, 2])
    left_colour = texts[0].split()[0]
    assert {"red": red, "green": green, "blue": blue, "black": -red}[left_colour] > 0
    captions = [{d.text for d in UserPictures(spec).documents(s)} for s in prepared.splits]
    assert not captions[0] & (captions[1] | captions[2])


def test_a_dual_encoder_learns_from_the_users_pictures(file):
    run = glasshouse.train("scene-clip", name="halves", device="cpu", data=data(file), **SMALL)
    outcome = run.facts["outcome"]["validation"]
    assert outcome["recall_1"] == pytest.approx((outcome["retrieval_1"] + outcome["picture_to_text_1"]) / 2)
    assert 0 <= outcome["retrieval_1"] <= outcome["retrieval_5"] <= 1
    everything = glasshouse.evaluate("halves", file, device="cpu")[str(file)]
    assert everything["examples"] == 160
    assert everything["retrieval_1"] > 0.5
    assert everything["picture_to_text_1"] > 0.5
    assert glasshouse.evaluate("halves", device="cpu")["validation"] == pytest.approx(outcome, rel=1e-5)
    recalls = {"retrieval_1", "retrieval_5", "picture_to_text_1", "picture_to_text_5", "recall_1"}
    check_item_values(run, {"validation": int(outcome["examples"])}, {"loss", *recalls})


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        (
            {"training": {"gradient_accumulation": 2}},
            (SpecError, "training.gradient_accumulation=2", "task='match'"),
        ),
        ({"model": {"image_size": 24}}, (SpecError, "16", "model.image_size=24")),
        ({"model": {"image_size": 16, "image_channels": 1}}, (SpecError, "model.image_channels=1")),
        ({"model": {"image_size": 16, "patch_size": 5}}, (SpecError, "model.patch_size=5")),
    ],
)
def test_a_spec_that_does_not_fit_the_pictures_is_refused(file, changes, refusal):
    tables = {name: {**SMALL.get(name, {}), **changes.get(name, {})} for name in ("model", "training", "evaluation")}
    with refused(*refusal):
        glasshouse.train("scene-clip", device="cpu", data=data(file), **tables)


def test_another_kind_of_model_and_a_source_without_pictures_are_refused():
    with refused(SpecError, "model.kind=dual-encoder"):
        Match(Spec()).check_model(models.check(ModelSpec(kind="encoder"), 4), "encoder")
    with refused(DataError):
        glasshouse.train("scene-clip", device="cpu", data={"source": "presidents"})
