"""Matching texts and pictures: the loss, retrieval, own pictures and their faults, and a run that learns."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

import glasshouse
from glasshouse.data import prepared_data
from glasshouse.data.user_files.pictures import UserPictures, read_picture
from glasshouse.specs.spec import DataSpec, Spec
from glasshouse.tasks.match import Match, normal, ranked, symmetric_loss
from tests.refusals import refused

COLOURS = {"red": (220, 30, 30), "green": (30, 180, 60), "blue": (30, 60, 220), "black": (10, 10, 10)}
TINY = {
    "model": {"width": 16, "layers": 1, "heads": 2, "image_size": 16, "image_width": 16, "image_layers": 1},
    "training": {"steps": 120, "batch": 16, "threads": 1, "precision": "fp32", "learning_rate": 1e-2},
    "evaluation": {"every": 30},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Pictures of two halves, left and right, each of one colour, with captions that say so."""
    chance = np.random.default_rng(0)
    lines = []
    for number in range(160):
        names = chance.choice(list(COLOURS), 2)
        halves = [np.full((20, 10, 3), COLOURS[name], np.int16) for name in names]
        noisy = np.concatenate(halves, axis=1) + chance.integers(-10, 10, (20, 20, 3))
        path = tmp_path / "pictures" / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path)
        lines.append(f"pictures/{number}.png\t{names[0]} and {names[1]}\n")
    (tmp_path / "mine.tsv").write_text("".join(lines))
    return tmp_path / "mine.tsv"


def data(file):
    return {"source": "", "files": [str(file)], "picture_size": 16, "context": 4, "validation": 0.2, "test": 0.2}


def test_the_loss_is_the_mean_of_both_cross_entropies():
    scores = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))
    answers = torch.arange(5)
    expected = (F.cross_entropy(scores, answers) + F.cross_entropy(scores.T, answers)) / 2
    assert torch.allclose(symmetric_loss(scores, torch.arange(5) + 7), expected)


def test_equal_captions_share_the_right_answer():
    scores = torch.tensor([[3.0, 3.0, 0.0], [3.0, 3.0, 0.0], [0.0, 0.0, 5.0]])
    told, untold = symmetric_loss(scores, torch.tensor([0, 0, 1])), symmetric_loss(scores, torch.arange(3))
    assert torch.allclose(told, untold), "two equally good answers weigh half each"
    sure = torch.tensor([[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]])
    assert symmetric_loss(sure, torch.tensor([0, 0, 1])) > 2.5 > 0.1 > symmetric_loss(sure, torch.arange(3))


def test_a_rank_counts_wrong_answers_that_score_as_high():
    asking, answers = torch.eye(3), torch.tensor([[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    assert ranked(asking, answers, torch.arange(3)).tolist() == [1, 1, 0]
    assert ranked(asking, answers, torch.tensor([0, 0, 1])).tolist() == [0, 1, 0]
    assert ranked(torch.zeros(4, 2), torch.zeros(4, 2), torch.arange(4)).tolist() == [3] * 4, (
        "no answer at all finds nothing"
    )


def test_a_batch_holds_texts_pictures_and_which_captions_are_equal(file):
    where = DataSpec(
        files=(str(file),), tokenizer="words", vocabulary=20, context=4, picture_size=16, validation=0.2, test=0.2
    )
    prepared = prepared_data.prepare(where, columns=("picture",))
    task = Match.from_spec(replace(Spec(), data=where))
    shard = prepared.splits["train"]
    batch = task.batch(shard, 0, np.zeros(32, int), np.arange(32))
    assert batch["pictures"].shape == (32, 3, 16, 16)
    assert -1 <= batch["pictures"].min() < 0 < batch["pictures"].max() <= 1
    texts = [prepared.tokenizer.decode(shard.document(index).tolist()) for index in range(32)]
    for one, other in ((0, 1), (2, 9), (5, 30)):
        assert (batch["captions"][one] == batch["captions"][other]) == (texts[one] == texts[other])
    left = batch["pictures"][0, :, 8, 2]
    red, green, blue = (float(value) for value in left)
    name = texts[0].split()[0]
    assert {"red": red, "green": green, "blue": blue, "black": -red}[name] > 0
    captions = [{d.text for d in UserPictures((str(file),), 16, 0.2, 0.2).documents(s)} for s in prepared.splits]
    assert not captions[0] & (captions[1] | captions[2])


def test_a_dual_encoder_learns_from_own_pictures_and_is_measured_on_others(file):
    run = glasshouse.train("scene-clip", name="halves", device="cpu", data=data(file), **TINY)
    outcome = run.facts["outcome"]["validation"]
    assert outcome["recall_1"] == pytest.approx((outcome["retrieval_1"] + outcome["picture_to_text_1"]) / 2)
    assert 0 <= outcome["retrieval_1"] <= outcome["retrieval_5"] <= 1
    everything = glasshouse.evaluate("halves", file)[str(file)]
    assert everything["examples"] == 160
    assert everything["retrieval_1"] > 0.5
    assert everything["picture_to_text_1"] > 0.5
    assert glasshouse.evaluate("halves")["validation"] == pytest.approx(outcome)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"training": {"gradient_accumulation": 2}},
            ("batch-not-additive", "training.gradient_accumulation=2", "task='match'"),
        ),
        ({"model": {"image_size": 24}}, ("picture-size-differs", "16", "model.image_size=24")),
        ({"model": {"image_size": 16, "image_channels": 1}}, ("picture-size-differs", "model.image_channels=1")),
        ({"model": {"image_size": 16, "patch_size": 5}}, ("patch-divides-image", "model.patch_size=5")),
    ],
)
def test_what_cannot_be_is_refused(file, changes, words):
    tables = {name: {**TINY.get(name, {}), **changes.get(name, {})} for name in ("model", "training", "evaluation")}
    with refused(*words):
        glasshouse.train("scene-clip", device="cpu", data=data(file), **tables)


def test_another_kind_of_model_is_refused():
    with refused("model-does-not-fit-task", "model.kind=dual-encoder"):
        Match(4, 16, 8).check_model(torch.nn.Linear(1, 1), "encoder")
    with refused("source-lacks-column"):
        glasshouse.train("scene-clip", device="cpu", data={"source": "presidents"})


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("pictures/0.png\n", ("no-tab",)),
        ("gone.png\ta thing\n" * 3, ("unreadable-file", "gone.png")),
        ("mine.tsv\ta thing\n" * 3, ("not-a-picture",)),
        ("broken.png\ta thing\n" * 3, ("not-a-picture",)),
        ("\ta thing\n", ("no-rows",)),
    ],
)
def test_faults_of_own_pictures_are_named(file, lines, words):
    whole = (file.parent / "pictures" / "0.png").read_bytes()
    (file.parent / "broken.png").write_bytes(whole[: len(whole) // 2])
    bad = file.with_name("bad.tsv")
    bad.write_text(lines)
    with refused(*words):
        list(UserPictures((str(bad),), 16, 0.0, 0.0).documents("train"))
    bad.rename(bad.with_suffix(".csv"))
    with refused("not-a-table"):
        UserPictures((str(bad.with_suffix(".csv")),), 16, 0.0, 0.0).fingerprint()


def test_a_picture_of_any_kind_becomes_its_middle_square(tmp_path):
    wide = np.zeros((20, 60, 4), np.uint8)
    wide[:, 20:40] = (0, 0, 255, 255)
    wide[:, :20] = (255, 0, 0, 255)
    Image.fromarray(wide).save(tmp_path / "wide.png")
    found = read_picture(tmp_path / "wide.png", 10)
    assert found.shape == (10, 10, 3)
    assert np.abs(found[:, 3:7].astype(int) - (0, 0, 255)).max() < 5
    Image.new("LA", (8, 8), (0, 0)).save(tmp_path / "clear.png")
    assert (read_picture(tmp_path / "clear.png", 8) == 255).all()
    assert normal(found[None]).shape == (1, 3, 10, 10)


def test_prompting_needs_a_dual_encoder(file):
    file.with_suffix(".txt").write_text("red and blue " * 300)
    small = {"model": {"width": 16, "layers": 1, "heads": 2}, "training": {"steps": 2, "threads": 1, "precision": "fp32"}}
    text = {"files": [str(file.with_suffix(".txt"))], "vocabulary": 264, "context": 16}
    glasshouse.train("language-model", name="lm", device="cpu", data=text, **small)
    with refused("not-a-dual-encoder"):
        glasshouse.prompt("lm", ["red"])
