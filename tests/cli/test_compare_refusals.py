"""`glasshouse compare` refuses invalid studies before anything is trained."""

import shutil
from pathlib import Path

import pytest

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
        ((POSITIONS, "--seeds", "1"), ["bad-seeds"]),
        ((), ["nothing-to-compare"]),
        (("model.position=learned",), ["nothing-to-compare"]),
        (("model.position=learned,rotari",), ["unknown-word", "'rotary'"]),
        (("model.positon=learned,none",), ["unknown-field", "'model.positon'"]),
        (("model.heads=2,3",), ["heads-divide-width"]),
        (("model.attention=dot-product,linformer",), ["lacks-capability", "'linformer'"]),
        ((POSITIONS, "--metric", "validation.los"), ["unknown-metric", "'validation.loss'", "test.bits_per_byte"]),
        ((POSITIONS, "--metric", "loss"), ["unknown-metric", "--metric=loss"]),
        ((POSITIONS, "--metric", "validation.accuracy"), ["unknown-metric", "--metric=validation.accuracy"]),
        ((POSITIONS, "--metric", "validation.tokens"), ["unknown-metric"]),
        ((POSITIONS, "--metric", "train.loss"), ["unknown-metric"]),
        ((POSITIONS, "data.validation=0", "--metric", "validation.loss"), ["unknown-metric", "test.loss"]),
        ((POSITIONS, "data.validation=0", "data.test=0"), ["nothing-held-out"]),
        ((POSITIONS, "data.validation=0", "--tune", "training.learning_rate"), ["nothing-held-out", "--tune"]),
        ((POSITIONS, "--tune", "model.width"), ["cannot-tune"]),
        ((POSITIONS, "--match", "beauty"), ["unknown-word", "--match=beauty"]),
        (("model.width=16,32", "--match", "parameters"), ["match-undoes-arms", "model.width"]),
        ((POSITIONS, "--alpha", "0"), ["bad-alpha", "--alpha=0"]),
        ((POSITIONS, "--margin", "-1"), ["bad-margin", "--margin=-1"]),
        ((POSITIONS, "--margin", "nan"), ["bad-margin", "--margin=nan"]),
        ((POSITIONS, "--until-decided", "--batch", "1"), ["bad-looks", "--batch=1"]),
        ((POSITIONS, "--until-decided", "--batch", "0"), ["bad-looks", "--batch=0"]),
        ((POSITIONS, "--until-decided", "--batch", "0", "--max-seeds", "0"), ["bad-looks", "--batch=0"]),
        ((POSITIONS, "--batch", "4"), ["bad-option", "--batch=4", "--until-decided"]),
        ((POSITIONS, "--max-seeds", "9"), ["bad-option", "--max-seeds=9", "--until-decided"]),
        (("training.steps=4,8", "--match", "tokens"), ["match-undoes-arms", "--match=tokens"]),
        (("masked-model",), ["one-task"]),
        ((POSITIONS, "--until-decided", "--max-seeds", "3"), ["bad-looks", "--max-seeds=3"]),
        ((POSITIONS, "--until-decided", "--seeds", "3"), ["bad-seeds", "--seeds", "--until-decided"]),
        ((POSITIONS, "--items"), ["too-few-items", "validation"]),
        ((POSITIONS, "--items", "--metric", "test.perplexity"), ["no-item-values", "test.perplexity", "test.loss"]),
        (("data.tokenizer=characters,words", "--items"), ["items-differ", "'words'"]),
        ((POSITIONS, "--multiverse", "--tune", "training.clip"), ["multiverse-tunes", "training.clip"]),
        ((POSITIONS, "--multiverse", "data.validation=0"), ["nothing-held-out", "--multiverse"]),
        ((POSITIONS, "--name", "../up"), ["bad-name", "study"]),
        ((POSITIONS, "--name", ""), ["bad-name", "study"]),
        ((POSITIONS, "data.files=nowhere.txt"), ["unreadable-file", "nowhere.txt"]),
        ((POSITIONS, "training.seed=3"), ["pairs-the-arms", "--seeds"]),
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
    refused(call("compare", "language-model", *words), "bad-option", "--replicas=", f"{replicas}")


def test_a_device_that_is_not_there(short_text: Path) -> None:
    refused(
        call("compare", "language-model", *TINY, f"data.files={short_text}", POSITIONS, "--device", "abacus"),
        "unknown-device",
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
        ((POSITIONS, "--until-decided"), ["its batch is 0, not 4"]),
    ],
)
def test_a_name_that_another_study_has(study: Path, short_text: Path, words: tuple[str, ...], messages: list[str]) -> None:
    refused(compare(short_text, *words, "--name", "positions"), "study-exists", "studies/positions", "--name", *messages)


def test_a_folder_that_is_no_study(short_text: Path) -> None:
    Path("studies/mine").mkdir(parents=True)
    refused(compare(short_text, POSITIONS, "--name", "mine"), "study-exists", "studies/mine")


def test_a_study_or_run_that_is_not_there(study: Path) -> None:
    refused(call("report", "position"), "unknown-run", "'position'")
    refused(call("resume", "nothing"), "unknown-run", "'nothing'")


def test_text_that_changed_meanwhile(study: Path, short_text: Path) -> None:
    mine = Path("mine.txt")
    shutil.copy(short_text, mine)
    words = ("language-model", *TINY, f"data.files={mine}", POSITIONS, "--name", "changed", *ALONE)
    worked(call("compare", *words, "--seeds", "2"))
    mine.write_text(short_text.read_text()[::-1])
    refused(call("compare", *words, "--seeds", "3"), "data-changed", "seed-2")
