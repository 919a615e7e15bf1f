"""`glasshouse translate` and fine-tuning from the command line: what a person would type, and what is refused."""

import json
from pathlib import Path

import pytest

from glasshouse.specs.errors import DataError, GlasshouseError, RunError, SpecError

from .program import SMALL, call, refused, worked

LETTERS = ("data.tokenizer=characters", "data.vocabulary=64", "training.epochs=0", "training.steps=4", "evaluation.every=4")


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    words = ["".join(chr(97 + (5 * i + j * j) % 26) for j in range(2 + i % 4)) for i in range(50)]
    path.write_text("".join(f"{word}\t{word.upper()}\n" for word in dict.fromkeys(words)))
    return path


@pytest.fixture
def translator(pairs: Path) -> str:
    small = [word for word in SMALL if not word.startswith(("data.vocabulary", "evaluation.prompts"))]
    worked(call("train", "translator", *small, *LETTERS, f"data.files={pairs}", "--name", "both", "--device", "cpu"))
    return "both"


def test_translate(translator: str, tmp_path: Path) -> None:
    assert worked(call("translate", translator, "abc", "de")).out.count("\n") == 2
    several = json.loads(worked(call("translate", translator, "abc", "--beams", "3", "--n-best", "2", "--json")).out)
    assert [len(best) for best in several] == [2]
    assert several[0][0]["score"] >= several[0][1]["score"]
    file, output = tmp_path / "lines.txt", tmp_path / "out.txt"
    file.write_text("abc\nde fg\n")
    worked(call("translate", translator, "--file", str(file), "--output", str(output), "--word-by-word"))
    assert len(output.read_text().splitlines()) == 2
    cut = worked(call("translate", translator, "a" * 50))
    assert "1 of 1 sources are longer" in cut.err
    assert "BLEU" in worked(call("evaluate", translator)).out or "chrF" in worked(call("evaluate", translator)).out


def test_translations_that_cannot_be(translator: str, tmp_path: Path, run: Path) -> None:
    refused(call("translate", translator), GlasshouseError)
    refused(call("translate", translator, "a", "--file", "b.txt"), GlasshouseError)
    refused(call("translate", translator, "a", "--n-best", "5", "--beams", "2"), GlasshouseError, "--n-best=5", "beams=2")
    refused(call("translate", translator, "a", "--length-penalty", "-1"), GlasshouseError, "--length-penalty=-1")
    refused(call("translate", translator, "--file", str(tmp_path / "no.txt")), GlasshouseError, "no.txt")
    refused(call("translate", str(run), "a"), GlasshouseError)
    refused(call("sample", translator, "--prompt", "a"), GlasshouseError)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["training.start_from=nowhere"], [RunError, "'nowhere'"]),
        (["training.freeze=all"], [GlasshouseError, "training.freeze='all'"]),
        (["training.freeze=backbone"], [SpecError]),
        (["training.lora_rank=2", "training.lora_targets=[key]"], [SpecError, "'key'"]),
        (["training.class_weights=[balanced]"], [SpecError, "class_weights"]),
        (["training.loss_on=all"], [SpecError, "training.loss_on='all'"]),
    ],
)
def test_fine_tuning_that_cannot_be(pairs: Path, overrides: list[str], words: list[str]) -> None:
    small = [word for word in SMALL if not word.startswith(("data.vocabulary", "evaluation.prompts"))]
    refused(call("train", "translator", *small, *LETTERS, f"data.files={pairs}", *overrides, "--device", "cpu"), *words)


def test_pairs_that_cannot_be(tmp_path: Path) -> None:
    for name, lines in (("a.txt", 3), ("b.txt", 2), ("c.txt", 3)):
        (tmp_path / name).write_text("a word\n" * lines)
    a, b, c = (tmp_path / name for name in ("a.txt", "b.txt", "c.txt"))
    refused(call("train", "translator", f"data.files=[{a},{b}]"), DataError)
    refused(call("train", "translator", f"data.files=[{a},{b},{c}]"), DataError)
    refused(call("train", "translator", f"data.files={a}"), DataError)
