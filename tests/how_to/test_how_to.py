"""Every how-to page is true: its files are installed, its commands and scripts run, and they print what the page shows."""

import inspect
import re
from pathlib import Path

import pytest

from glasshouse.specs import catalogue
from glasshouse.training import cost_plan
from tests import needs
from tests.cli.program import call, some_text
from tests.parts import test_battery

from .installed import installed
from .page import CATALOGUE_FILE, PAGES, Command, Page, commands, missing_line

# A page whose scripts need more than the package itself.
PACKAGES = {"add-an-architecture": "transformers"}
# Two models in which the battery tests the part of a page.
MODELS = (
    {"kind": "decoder", "attention": "dot-product", "position": "rotary", "norm": "rms"},
    {"kind": "encoder", "attention": "dot-product", "position": "alibi", "norm": "layer"},
)
EXPECTED = {
    "add-a-claim",
    "add-a-data-source",
    "add-a-metric",
    "add-a-task",
    "add-an-architecture",
    "add-an-attention",
}
NAMES = sorted(path.stem for path in PAGES.glob("*.md"))


def test_every_page_is_here() -> None:
    assert set(NAMES) >= EXPECTED


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_files_a_catalogue_line_and_commands(name: str) -> None:
    page = Page.read(PAGES / f"{name}.md")
    assert page.modules(), "no Python file with a title"
    assert page.entry_points(), f"no {CATALOGUE_FILE} with an entry point"
    assert [step for step in page.steps() if isinstance(step, Command) and step.words[0] == "glasshouse"], "no command"
    unknown = {block.language for block in page.blocks} - {"python", "toml", "console"}
    assert not unknown, f"blocks that nothing checks: {unknown}"
    for link in page.links:
        assert link.startswith("https://") or (PAGES / link).exists(), f"links to {link}"
    for path in page.repository_paths:
        assert (PAGES.parents[1] / path).exists(), f"names {path}"
    assert [path for path in page.repository_paths if path.startswith("src/glasshouse/")], "no source file is named"


@pytest.mark.parametrize("name", NAMES)
def test_a_page_can_be_followed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in PACKAGES:
        needs.package(PACKAGES[name])
    monkeypatch.delenv("GLASSHOUSE_STUDIES", raising=False)
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 2)
    monkeypatch.setattr(cost_plan, "TIMING_SECONDS", 0.01)
    page = Page.read(PAGES / f"{name}.md")
    Path("mine.txt").write_text(some_text())
    with installed(page, tmp_path / "site"):
        for group, words in page.entry_points().items():
            for word in words:
                assert catalogue.find(group.removeprefix("glasshouse."), word)
        scope: dict[str, object] = {"__name__": "__main__"}
        for step in page.steps():
            if isinstance(step, str):
                exec(compile(step, f"{name}.md", "exec"), scope)
            else:
                run(step, page, tmp_path)
    for group, words in page.entry_points().items():
        assert not words.keys() & set(catalogue.names(group.removeprefix("glasshouse."))), "the catalogue is not restored"


def run(command: Command, page: Page, folder: Path) -> None:
    """Run a command of a page. It must succeed, or fail as the page shows, and print the lines that the page shows."""
    match command.words:
        case ("glasshouse", *arguments):
            outcome = call(*arguments)
            printed = outcome.out + outcome.err
            assert outcome.code == (2 if command.is_refused else 0), (
                f"{command.words}: exit status {outcome.code}\n{printed}"
            )
            line = missing_line(command.output, printed)
            assert line is None, f"{' '.join(command.words)} does not print {line!r}, but:\n{printed}"
        case ("pip", "install", "-e", "."):
            pass  # the test has installed the package already
        case ("python", "-m", "pytest", "tests/parts/test_battery.py", "-k", word):
            run_battery(word, page, folder)
        case _:
            pytest.fail(f"the test cannot run {command.words}")


def run_battery(word: str, page: Page, folder: Path) -> None:
    """Run the battery on models with the part that the page adds under this word."""
    [family] = [group.removeprefix("glasshouse.") for group, words in page.entry_points().items() if word in words]
    common = {"connection": "pre-norm", "activation": "gelu"}
    tests = [test for name, test in vars(test_battery).items() if name.startswith("test_")]
    tests = [test for test in tests if "choice" in inspect.signature(test).parameters and not is_slow(test)]
    assert len(tests) > 10
    for index, model in enumerate(MODELS):
        choice = {**common, **model, family: word}
        for test in tests:
            arguments = {"choice": choice}
            if "tmp_path" in inspect.signature(test).parameters:
                arguments["tmp_path"] = folder / f"battery-{index}"
                arguments["tmp_path"].mkdir()
            try:
                test(**arguments)
            except pytest.skip.Exception:
                continue


def is_slow(test: object) -> bool:
    return any(mark.name == "slow" for mark in getattr(test, "pytestmark", ()))


def test_shown_output_is_compared_line_by_line() -> None:
    printed = " data     loss  \n ────\n validation   4.69  1,024\nrun     /somewhere/a\n"
    assert missing_line((), printed) is None
    assert missing_line(("data loss", "validation ...", "run ...a"), printed) is None
    assert missing_line(("validation ...", "data"), printed) == "data"
    assert missing_line(("test ...",), printed) == "test ..."
    assert missing_line(("validation 4.70",), printed) == "validation 4.70"


def test_commands_are_read_with_their_output() -> None:
    first, second = commands("$ glasshouse train a \\\n    b='c d'\nstep 1\n$ glasshouse runs\nglasshouse: no [code]\n")
    assert first == Command(("glasshouse", "train", "a", "b=c d"), ("step 1",))
    assert second.is_refused
    assert not first.is_refused


@pytest.mark.parametrize(
    "words",
    [("glasshouse", "train", "no-such-recipe"), ("glasshouse", "parts", "attentions"), ("make", "coffee")],
    ids=" ".join,
)
def test_a_command_that_does_not_work_is_noticed(words: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        run(Command(words, ()), Page("made-up", ()), tmp_path)


def test_an_unclosed_fence_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("Text.\n\n```python\nx = 1\n")
    with pytest.raises(AssertionError, match=re.escape("page.md")):
        Page.read(tmp_path / "page.md")
