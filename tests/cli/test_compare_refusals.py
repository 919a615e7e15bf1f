"""`glasshouse compare` refuses invalid studies before anything is trained."""

import shutil
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError, RunError, SpecError

from .program import (
    call,
    refused,
    worked,
)
from .study_commands import ALONE, POSITIONS, TINY, compare

pytestmark = pytest.mark.usefixtures("short_trials")


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ((POSITIONS, "--seeds", "1"), [SpecError]),
        ((), [SpecError]),
        (("model.position=learned",), [SpecError]),
        (("model.position=learned,rotari",), [GlasshouseError, "'rotary'"]),
        (("model.positon=learned,none",), [GlasshouseError, "'model.positon'"]),
        (("model.heads=2,3",), [SpecError]),
        (("model.attention=dot-product,linformer",), [SpecError, "'linformer'"]),
        ((POSITIONS, "--metric", "validation.los"), [GlasshouseError, "'validation.loss'", "test.bits_per_byte"]),
        ((POSITIONS, "--metric", "loss"), [GlasshouseError, "--metric=loss"]),
        ((POSITIONS, "--metric", "validation.accuracy"), [GlasshouseError, "--metric=validation.accuracy"]),
        ((POSITIONS, "--metric", "validation.tokens"), [GlasshouseError]),
        ((POSITIONS, "--metric", "train.loss"), [GlasshouseError]),
        ((POSITIONS, "data.validation=0", "--metric", "validation.loss"), [GlasshouseError, "test.loss"]),
        ((POSITIONS, "data.validation=0", "data.test=0"), [GlasshouseError]),
        ((POSITIONS, "data.validation=0", "--tune", "training.learning_rate"), [GlasshouseError, "--tune"]),
        ((POSITIONS, "--tune", "model.width"), [SpecError]),
        ((POSITIONS, "--match", "beauty"), [GlasshouseError, "--match=beauty"]),
        (("model.width=16,32", "--match", "parameters"), [SpecError, "model.width"]),
        ((POSITIONS, "--alpha", "0"), [SpecError, "--alpha=0"]),
        ((POSITIONS, "--margin", "-1"), [SpecError, "--margin=-1"]),
        ((POSITIONS, "--margin", "nan"), [SpecError, "--margin=nan"]),
        ((POSITIONS, "--until-decided", "--batch", "1"), [SpecError, "--batch=1"]),
        ((POSITIONS, "--until-decided", "--batch", "0"), [SpecError, "--batch=0"]),
        ((POSITIONS, "--until-decided", "--batch", "0", "--max-seeds", "0"), [SpecError, "--batch=0"]),
        ((POSITIONS, "--batch", "5"), [GlasshouseError, "--batch=5", "--until-decided"]),
        ((POSITIONS, "--max-seeds", "9"), [GlasshouseError, "--max-seeds=9", "--until-decided"]),
        (("training.steps=4,8", "--match", "tokens"), [SpecError, "--match=tokens"]),
        (("masked-model",), [SpecError]),
        ((POSITIONS, "--until-decided", "--max-seeds", "3"), [SpecError, "--batch=4", "3"]),
        ((POSITIONS, "--until-decided", "--seeds", "3"), [SpecError, "--seeds", "--until-decided"]),
        ((POSITIONS, "--items"), [SpecError, "validation"]),
        ((POSITIONS, "--items", "--metric", "test.perplexity"), [GlasshouseError, "test.perplexity", "test.loss"]),
        (("data.tokenizer=characters,words", "--items"), [SpecError, "'words'"]),
        ((POSITIONS, "--multiverse", "--tune", "training.clip"), [SpecError, "training.clip"]),
        ((POSITIONS, "--multiverse", "data.validation=0"), [GlasshouseError, "--multiverse"]),
        ((POSITIONS, "--name", "../up"), [RunError, "study"]),
        ((POSITIONS, "--name", ""), [RunError, "study"]),
        ((POSITIONS, "data.files=nowhere.txt"), [GlasshouseError, "nowhere.txt"]),
        ((POSITIONS, "training.seed=3"), [SpecError, "--seeds"]),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_trained(
    short_text: Path, words: tuple[str, ...], messages: list[str]
) -> None:
    refused(compare(short_text, *words), *messages)
    assert not Path("studies").exists()


@pytest.mark.parametrize("replicas", ["0", "-1", "many", "²"])
def test_replicas_that_cannot_be(short_text: Path, replicas: str) -> None:
    words = (*TINY, f"data.files={short_text}", POSITIONS, "--replicas", replicas, "--device", "cpu")
    refused(call("compare", "language-model", *words), GlasshouseError, "--replicas=", f"{replicas}")


def test_a_device_that_is_not_there(short_text: Path) -> None:
    refused(
        call("compare", "language-model", *TINY, f"data.files={short_text}", POSITIONS, "--device", "abacus"),
        GlasshouseError,
    )


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (("model.position=learned,rotary",), ["its arms are learned, none, not learned, rotary"]),
        ((POSITIONS, "--metric", "test.loss"), ["its metric is None, not test.loss"]),
        ((POSITIONS, "--match", "flops"), ["its match is steps, not flops"]),
        (
            (POSITIONS, "training.steps=7"),
            ["arm 'learned'", "training.steps=4, not training.steps=7"],
        ),
        ((POSITIONS, "--until-decided"), ["its until-decided is False, not True"]),
    ],
)
def test_a_name_that_another_study_has(study: Path, short_text: Path, words: tuple[str, ...], messages: list[str]) -> None:
    refused(compare(short_text, *words, "--name", "positions"), RunError, "studies/positions", "--name", *messages)


def test_a_folder_that_is_no_study(short_text: Path) -> None:
    Path("studies/mine").mkdir(parents=True)
    refused(compare(short_text, POSITIONS, "--name", "mine"), RunError, "studies/mine")


def test_a_study_or_run_that_is_not_there(study: Path) -> None:
    refused(call("report", "position"), RunError, "'position'")
    refused(call("resume", "nothing"), RunError, "'nothing'")


def test_text_that_changed_meanwhile(study: Path, short_text: Path) -> None:
    mine = Path("mine.txt")
    shutil.copy(short_text, mine)
    words = ("language-model", *TINY, f"data.files={mine}", POSITIONS, "--name", "changed", *ALONE)
    worked(call("compare", *words, "--seeds", "2"))
    mine.write_text(short_text.read_text()[::-1])
    refused(call("compare", *words, "--seeds", "3"), GlasshouseError, "seed-2")
