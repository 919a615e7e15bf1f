"""Description: batches, truncation, runs of both kinds of model that learn, and specs that are refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glasshouse
from glasshouse import models
from glasshouse.data import prepared_data
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import DataSpec, ModelSpec, Spec
from glasshouse.tasks.base import IGNORED
from glasshouse.tasks.describe import Describe
from tests.refusals import refused
from tests.tasks.item_metrics import check_item_values

SMALL: dict[str, dict[str, Any]] = {
    "model": {"width": 32, "layers": 2, "heads": 2, "image_size": 16},
    "training": {"steps": 200, "batch": 32, "threads": 1, "precision": "fp32", "learning_rate": 1e-2},
    "evaluation": {"every": 100},
}
RECIPES = ("scene-describer", "scene-describer-decoder-only")


def data_spec(file: Path, context: int = 5) -> DataSpec:
    return DataSpec(
        files=(str(file),), tokenizer="words", vocabulary=20, context=context, picture_size=16, validation=0.2, test=0.2
    )


def data(file: Path) -> dict[str, Any]:
    return {"source": "", "files": [str(file)], "picture_size": 16, "context": 5, "validation": 0.2, "test": 0.2}


def task_and_data(file: Path, context: int = 5) -> tuple[Describe, prepared_data.PreparedData]:
    spec = data_spec(file, context)
    prepared = prepared_data.prepare(spec, columns=("picture",))
    task = Describe(Spec(data=spec, model=ModelSpec(kind="picture-encoder-decoder", own={"image_size": 16})))
    task.set_vocabulary(prepared.tokenizer, ())
    return task, prepared


def test_a_batch_holds_pictures_and_captions_shifted_by_one(picture_file):
    task, prepared = task_and_data(picture_file)
    shard = prepared.splits["train"]
    batch = task.batch(shard, 0, np.zeros(4, int), np.arange(4))
    assert batch["pictures"].shape == (4, 3, 16, 16)
    for row in range(4):
        caption = shard.texts(np.array([row]))[0]
        assert batch["inputs"][row].tolist() == [task.end, *caption]
        assert batch["targets"][row].tolist() == [*caption, task.end]
    assert task.prediction_count(batch) == 16
    assert task.references(shard)[0].split()[1] == "and"
    assert task.truncated(shard) == 0


def test_the_end_of_a_truncated_caption_is_not_learned(picture_file):
    task, prepared = task_and_data(picture_file, context=3)
    shard = prepared.splits["train"]
    batch = task.batch(shard, 0, np.zeros(2, int), np.arange(2))
    assert batch["inputs"].shape == (2, 3)
    assert batch["targets"][0].tolist() == [*shard.texts(np.array([0]))[0][:2], IGNORED]
    assert task.truncated(shard) == shard.documents


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_both_kinds_of_model_learn_to_describe_the_users_pictures(recipe, picture_file):
    run = glasshouse.train(recipe, name="halves", device="cpu", data=data(picture_file), **SMALL)
    everything = glasshouse.evaluate("halves", picture_file, device="cpu")[str(picture_file)]
    assert everything["translated"] == 160
    assert everything["exact"] > 0.5, "one of sixteen captions would be right by chance"
    prepared = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns)
    check_item_values(run, {"validation": prepared.splits["validation"].documents}, {"exact", "loss"})
    task = run.task
    assert isinstance(task, Describe)
    train = prepared.splits["train"]
    one_by_one = [
        task.describe_pictures(run.model, train.pictures[index : index + 1], run.spec.evaluation)[0] for index in range(5)
    ]
    together = task.describe_pictures(run.model, train.pictures[:5], replace(run.spec.evaluation, own={"beams": 1}))
    assert one_by_one == together


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"image_size": 24}, (SpecError, "16", "model.image_size=24")),
        ({"image_channels": 1}, (SpecError, "model.image_channels=1")),
        ({"patch_size": 5}, (SpecError, "model.patch_size=5")),
    ],
)
def test_a_spec_that_does_not_fit_the_pictures_is_refused(picture_file, changes, refusal):
    with refused(*refusal):
        glasshouse.train(
            RECIPES[0], device="cpu", data=data(picture_file), **{**SMALL, "model": {**SMALL["model"], **changes}}
        )


def test_another_kind_of_model_and_a_source_without_pictures_are_refused():
    with refused(SpecError, "model.kind=picture-encoder-decoder"):
        Describe(Spec()).check_model(models.check(ModelSpec(kind="encoder"), 4), "encoder")
    with refused(SpecError, "'dual-encoder'"):
        glasshouse.train("scene-clip", "task=describe", device="cpu")
    with refused(DataError):
        glasshouse.train(RECIPES[0], device="cpu", data={"source": "presidents"})
