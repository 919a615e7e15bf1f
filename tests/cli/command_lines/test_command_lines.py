"""Every command line of the README and the documentation is one that the program takes, and most of them are run."""

import io
import shutil
from pathlib import Path

import pytest

from glasshouse.training import cost_plan
from tests.cli.program import call

from . import workspace
from .collected import PAGES, Line, lines_of, words_of
from .parsing import parse, specs_of
from .running import NOT_RUN, quick_words, reason_not_to_run

# The commands of these pages use parts that the pages add; tests/how_to and tests/test_examples.py run them.
ADDING_PARTS = ("docs/how-to/", "examples/")
CLAIMS = "docs/claims/"
WITH_LINES = [page for page in PAGES if lines_of(page)]
# Lines of the page of all capabilities that need no training and about a second.
CHEAP = ("ask", "recover", "few-shot", "export", "tokenizer", "scale")


@pytest.fixture
def named_runs(finished: Path, masked_run: Path, runs: Path) -> None:
    """Runs with the names that lines start from."""
    for name, folder in (("demo-lm", finished), ("arithmetic-pretrain", masked_run), ("bert", masked_run)):
        shutil.copytree(folder, runs / name)


def faults(page: str) -> list[str]:
    """The lines of a page that the program does not take, each with the reason."""
    found = []
    for line in lines_of(page):
        try:
            parsed = parse(line)
            if parsed and not page.startswith(ADDING_PARTS):
                specs_of(parsed)
        except Exception as error:
            found.append(f"{line.text}: {getattr(error, 'message', error)}")
    return found


@pytest.mark.usefixtures("named_runs")
@pytest.mark.parametrize("page", [page for page in WITH_LINES if not page.startswith(CLAIMS)])
def test_the_program_takes_every_line(page: str) -> None:
    assert faults(page) == []


def test_the_program_takes_every_line_of_the_pages_of_claims() -> None:
    pages = [page for page in WITH_LINES if page.startswith(CLAIMS)]
    assert len(pages) > 60
    assert [fault for page in pages for fault in faults(page)] == []


def test_lines_are_found_in_blocks_and_in_prose() -> None:
    assert words_of("$ glasshouse train demo-lm data.files='[a,b]'  # a comment") == ("train", "demo-lm", "data.files=[a,b]")
    assert words_of("printf 'a' | glasshouse chat RUN > out.txt") == ("chat", "demo-lm")
    assert words_of("glasshouse: there is no run 'a'") == ()
    assert Line(("serve", "demo-lm"), mention=True) in lines_of("README.md")
    assert len({line for page in WITH_LINES for line in lines_of(page)}) > 250


@pytest.mark.parametrize(
    "words",
    ["sampel demo-lm", "sample demo-lm --promt x", "train demo-lm model.widht=8", "compare demo-lm model.norm=layer,rsm"],
)
def test_a_line_that_does_not_work_is_noticed(words: str) -> None:
    with pytest.raises(Exception, match="(?i)no such|unknown|is not one of|there is no"):
        specs_of(parse(Line(tuple(words.split()), mention=False)))


def test_every_reason_not_to_run_is_needed() -> None:
    reasons = {reason_not_to_run(line) for page in WITH_LINES for line in lines_of(page)}
    assert set(NOT_RUN.values()) <= reasons


def forget_output(name: str | None, output: str | None) -> None:
    """Delete what an earlier line wrote where this line will write."""
    for folder in (f"runs/{name}", f"runs/{name}-untrained") if name else ():
        shutil.rmtree(folder, ignore_errors=True)
    for path in (Path("debates"), Path(output or "debates")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def run(lines: list[Line], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run the lines in their order, and return those that failed with what they said."""
    failed = []
    for line in lines:
        parsed = parse(line)
        if parsed is None or reason_not_to_run(line):
            continue
        monkeypatch.setattr("sys.stdin", io.StringIO("Hello\n"))
        # An argument `name` is a run that the line reads.
        written = parsed.parameters.get("name") if "--name" in line.words else None
        forget_output(written, parsed.parameters.get("output"))
        outcome = call(*quick_words(line, parsed))
        if outcome.code:
            failed.append(f"{line.text}\n{outcome.err[-500:]}")
    return failed


@pytest.mark.usefixtures("named_runs")
def test_lines_that_train_nothing_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.write_files(tmp_path)
    lines = [line for line in lines_of("docs/capabilities.md") if line.words[0] in CHEAP]
    assert len(lines) >= 7
    assert run(lines, monkeypatch) == []


@pytest.fixture(scope="module")
def filled_folder(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """The folder of the reader, with all files and runs that the pages name."""
    folder = tmp_path_factory.mktemp("reader")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder / "runs"))
        patch.chdir(folder)
        workspace.make(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in WITH_LINES if not page.startswith((CLAIMS, *ADDING_PARTS))])
def test_the_lines_of_a_page_run(page: str, filled_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shutil.copytree(filled_folder, tmp_path / "reader")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GLASSHOUSE_RUNS", "runs")
    monkeypatch.delenv("GLASSHOUSE_STUDIES", raising=False)
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 2)
    monkeypatch.setattr(cost_plan, "TIMING_SECONDS", 0.01)
    failed = run(lines_of(page), monkeypatch)
    assert not failed, "\n\n".join(failed)
