"""`--output` replaces no file unless `--overwrite` is given. It is checked before anything else, so no run is needed."""

import io
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError

from .program import call, refused, worked

# Commands whose output is a file of the user. Not among them: `chat` appends, `grid` and `debate` continue a folder, `claims
# report` refreshes a page as `report` does. `pack`, `export`, `augment` and `data prepare` refuse without the option.
COMMANDS = {
    "attribute": ("none", "--text", "a"),
    "card": ("none",),
    "classify": ("none", "--file", "lines.txt"),
    "describe": ("none",),
    "few-shot": ("none", "--task", "none.tsv"),
    "gradients": ("none",),
    "heads": ("none",),
    "lens": ("none", "--text", "a"),
    "look": ("none", "--text", "a"),
    "patch": ("none", "--clean", "a", "--corrupt", "b"),
    "prompt": ("none",),
    "recover": ("none", "--prompt", "a", "--top", "2"),
    "scale fit": ("none.csv",),
    "scale transfer": ("none.csv", "none.csv"),
    "tokenizer train": ("none.txt",),
    "translate": ("none", "a"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_is_kept_unless_overwrite_is_given(command: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    words = [*command.split(), *COMMANDS[command], "--output", "mine.txt"]
    refused(call(*words), GlasshouseError, "mine.txt", "--overwrite")
    assert "--overwrite" not in call(*words, "--overwrite").err
    assert (tmp_path / "mine.txt").read_text() == "mine", "and a command that fails keeps it in any case"


def test_a_card_is_made_again(run: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    refused(call("card", "tiny", "--output", "README.md"), GlasshouseError)
    assert (tmp_path / "README.md").read_text() == "mine"
    worked(call("card", "tiny", "--output", "README.md", "--overwrite"))
    assert (tmp_path / "README.md").read_text() == worked(call("card", "tiny")).out


def test_the_file_that_is_read_is_never_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    (tmp_path / "mine.csv").write_text("text\na\n")
    for option in ((), ("--overwrite",)):
        refused(call("classify", "none", "--file", "mine.csv", "--output", "mine.csv", *option), GlasshouseError)
