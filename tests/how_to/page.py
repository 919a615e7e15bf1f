"""How-to pages as data: the fenced blocks of a page, its files, and its commands with the output that it shows."""

import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
CATALOGUE_FILE = "pyproject.toml"
FENCE = re.compile(r'^```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)")
# A file of the repository, named in prose.
REPOSITORY_PATH = re.compile(r"`((?:src|tests|docs|examples)/[^`*]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its title if it has one, and its text."""

    language: str
    title: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command line as words, and the lines of its output that the page shows."""

    words: tuple[str, ...]
    output: tuple[str, ...]

    @property
    def is_refused(self) -> bool:
        """Whether the page shows an error of the program."""
        return any(line.startswith("glasshouse: ") for line in self.output)


@dataclass(frozen=True)
class Page:
    """The blocks of a page in their order."""

    name: str
    blocks: tuple[Block, ...]
    links: tuple[str, ...] = ()
    repository_paths: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "Page":
        text = path.read_text(encoding="utf-8")
        blocks = blocks_of(text)
        assert text.count("\n```") == 2 * len(blocks), f"{path.name} has a fence that is not closed or not understood"
        prose = FENCE.sub("", text)
        return cls(path.stem, blocks, tuple(LINK.findall(prose)), tuple(REPOSITORY_PATH.findall(prose)))

    def modules(self) -> dict[str, str]:
        """The Python files of the page: name -> text."""
        return {block.title: block.text for block in self.blocks if block.language == "python" and block.title}

    def entry_points(self) -> dict[str, dict[str, str]]:
        """The catalogue lines of the page: group -> word -> `module:name`."""
        groups: dict[str, dict[str, str]] = {}
        for block in self.blocks:
            if block.title == CATALOGUE_FILE:
                for group, words in tomllib.loads(block.text)["project"]["entry-points"].items():
                    groups.setdefault(group, {}).update(words)
        return groups

    def steps(self) -> list[Command | str]:
        """What a reader does after installing the package: commands and scripts, in the order of the page."""
        steps: list[Command | str] = []
        for block in self.blocks:
            if block.language == "console":
                steps += commands(block.text)
            elif block.language == "python" and not block.title:
                steps.append(block.text)
        return steps


def blocks_of(text: str) -> tuple[Block, ...]:
    """The fenced blocks of a Markdown text."""
    return tuple(Block(match["language"], match["title"] or "", match["text"]) for match in FENCE.finditer(text))


def commands(text: str) -> list[Command]:
    """The commands of a console block. A command begins with `$ `; a backslash continues it on the next line."""
    lines = text.replace("\\\n", " ").splitlines()
    assert lines[0].startswith("$ "), f"a console block must begin with a command, not with {lines[0]!r}"
    parsed: list[tuple[tuple[str, ...], list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            parsed.append((tuple(shlex.split(line[2:])), []))
        elif line.strip():
            parsed[-1][1].append(line)
    return [Command(words, tuple(output)) for words, output in parsed]


def missing_line(shown: tuple[str, ...], printed: str) -> str | None:
    """The first shown line that the printed text lacks; None if it has all of them, in this order.

    `...` in a shown line stands for any text, and a shown line may end before the printed one does. Amounts of space do not
    count.
    """
    remaining = iter([" ".join(line.split()) for line in printed.splitlines()])
    for line in shown:
        pattern = re.compile(
            ".*".join(re.escape(" ".join(piece.split())) for piece in line.split("...")).replace("\\ ", " *")
        )
        if not any(pattern.match(candidate) for candidate in remaining):
            return line
    return None
