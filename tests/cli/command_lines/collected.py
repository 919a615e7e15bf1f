"""The command lines of the documentation: every `glasshouse ...` in a fenced block or in a code span of a page."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
# The log and the changelog tell what was typed at the time.
HISTORY = ("docs/log.md", "CHANGELOG.md")
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"))
    if path.relative_to(ROOT).as_posix() not in HISTORY
)
FENCE = re.compile(r"^ *```[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
# Where a command begins: at the start of a line, behind a prompt, a variable, a pipe, a colon, or as a module of torchrun.
COMMAND = re.compile(r"(?:^|\$ |\| |: |&& |-m |\w+=\S+ )\s*glasshouse (?=[\w-])(.*)$")
# What a page leaves to the reader, and something that may stand there.
PLACEHOLDERS = {
    "RECIPE": "demo-lm",
    "RUN": "demo-lm",
    "NAME": "demo-lm",
    "STUDY": "studies/demo-lm-position",
    "FOLDER": "a-folder",
    "FILES": "mine.txt",
    "JUDGE": "scene-entailment",
    "OVERRIDES": "training.steps=2",
    "FAMILY": "attention",
}
# The same for NAME behind one of these words.
NAMES = {"claim": "bpe", "show": "state-of-the-union"}


@dataclass(frozen=True)
class Line:
    """The words behind `glasshouse`. A mention is a code span in prose, which may leave out arguments."""

    words: tuple[str, ...]
    mention: bool

    @property
    def text(self) -> str:
        return " ".join(("glasshouse", *self.words))


def lines_of(page: str) -> list[Line]:
    """The command lines of a page in their order, each once."""
    text = (ROOT / page).read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = [(line, False) for block in FENCE.findall(text) for line in block.splitlines()]
    spans = [(span.strip(), True) for span in SPAN.findall(FENCE.sub("", text))]
    found = [Line(words, mention) for written, mention in blocks + spans if (words := words_of(written))]
    return list(dict.fromkeys(found))


def words_of(written: str) -> tuple[str, ...]:
    """The words behind `glasshouse`, without comment and redirection; empty if the text is no command line."""
    match = COMMAND.search(written.rstrip("\\"))
    if not match or "[OPTIONS]" in written or match[1].startswith("COMMAND"):
        return ()
    words = shlex.split(match[1], comments=True)
    end = next((index for index, word in enumerate(words) if word in (">", "|", "&&", ";")), len(words))
    return tuple(_filled(word, words[index - 1] if index else "") for index, word in enumerate(words[:end]))


def _filled(word: str, before: str) -> str:
    if word == "N" and before == "--jobs":
        return "2"
    if word == "NAME" and before in NAMES:
        return NAMES[before]
    return re.sub(r"\b[A-Z]{3,}\b", lambda match: PLACEHOLDERS.get(match[0], match[0]), word)
