"""Hard days: odd clocks, locales, modes, folders, streams, two processes. Right results, or one line that says why."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from glasshouse.records import lock
from tests import needs
from tests.cli.program import SMALL, change_facts, checkpoints, losses, some_text, weights
from tests.hostile.fork_server import ROOT, Ended, ForkServer

# A sweep of hostile input: what SECURITY.md promises is held in every run by test_containment.py and test_bounds.py.
pytestmark = pytest.mark.slow

STEPS = ("training.steps=6", "training.checkpoint_every=2", "evaluation.every=3", "data.tokenizer=characters")
ARMS = ("model.position=learned,none", "--seeds", "2", "--replicas", "off", "--device", "cpu")
YEAR = 365 * 24 * 3600.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[ForkServer]:
    started = ForkServer(tmp_path_factory.mktemp("streams"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("text") / "text.txt"
    file.write_text(some_text(800))
    return file


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def _runs_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLASSHOUSE_RUNS")
    monkeypatch.delenv("GLASSHOUSE_STUDIES", raising=False)


@pytest.fixture(scope="module")
def original(server: ForkServer, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run. No test may change it."""
    folder = tmp_path_factory.mktemp("original")
    worked(server.run(*train(text), cwd=folder, env=OWN_FOLDERS))
    return folder


@pytest.fixture
def finished(original: Path, here: Path) -> Path:
    """A copy of the finished run in the test's own folder."""
    return Path(shutil.copytree(original / "runs" / "run", here / "runs" / "run"))


@pytest.fixture
def unfinished(finished: Path) -> Path:
    """The same run, killed before its last step was saved."""
    shutil.rmtree(checkpoints(finished)[-1])
    for name in ("item_values", "report.html", "baselines.json"):
        path = finished / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    change_facts(finished, status="training", outcome=None)
    return finished


# The server's environment has the folders of the test that started it.
OWN_FOLDERS: dict[str, str | None] = {"GLASSHOUSE_RUNS": None, "GLASSHOUSE_STUDIES": None}


def train(text: Path, *more: str, name: str = "run") -> tuple[str, ...]:
    return ("train", "language-model", *SMALL, "model.layers=1", *STEPS, f"data.files={text}", *more, "--name", name, *CPU)


def compare(text: Path, name: str = "study") -> tuple[str, ...]:
    words = ("compare", "language-model", *SMALL, "model.layers=1", *STEPS, "training.steps=3", f"data.files={text}")
    return (*words, *ARMS, "--name", name)


CPU = ("--device", "cpu")


def worked(ended: Ended) -> Ended:
    assert ended.code == 0, ended.err
    assert "Traceback" not in ended.err
    return ended


def refused(ended: Ended) -> str:
    """One line, and nothing else that looks like an error."""
    assert ended.code == 2, ended
    assert "Traceback" not in ended.err, ended.err
    line = ended.err.strip().splitlines()[-1]
    assert line.startswith("glasshouse: "), line
    return line


def assert_same(run: Path, other: Path) -> None:
    assert weights(run) == weights(other)
    assert losses(run) == losses(other)


# --- clocks


@pytest.mark.parametrize("clock", [-20 * YEAR, pytest.param(20 * YEAR, marks=pytest.mark.slow)])
def test_a_clock_that_is_wrong(server, unfinished, original, here, clock):
    worked(server.run("resume", "run", *CPU, cwd=here, env=OWN_FOLDERS, clock=clock))
    assert_same(unfinished, original / "runs/run")
    assert "done" in worked(server.run("runs", cwd=here, env=OWN_FOLDERS, clock=clock)).out


@pytest.mark.parametrize("moment", [pytest.param(0.0, marks=pytest.mark.slow), 140 * YEAR])
def test_files_from_the_past_and_the_future(server, unfinished, original, here, moment):
    for path in (unfinished, *unfinished.rglob("*")):
        os.utime(path, (moment, moment))
    worked(server.run("resume", "run", *CPU, cwd=here, env=OWN_FOLDERS))
    assert_same(unfinished, original / "runs/run")


# --- modes


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*")) if not path.is_symlink()}


@pytest.mark.parametrize(
    ("umask", "expected"), [(0o077, {0o700, 0o600}), pytest.param(0o000, {0o777, 0o666}, marks=pytest.mark.slow)]
)
def test_files_have_the_modes_that_the_user_wants(server, text, here, umask, expected):
    how = {"cwd": here, "umask": umask, "env": {**OWN_FOLDERS, "GLASSHOUSE_CACHE": str(here / "cache")}}
    worked(server.run(*train(text, "model.position=rotary", "model.norm=rms", "model.activation=swiglu"), **how))
    worked(server.run("pack", "run", **how))
    worked(server.run("unpack", "run.tar.gz", "--name", "copy", **how))
    worked(server.run("export", "run", "--to", "huggingface", "--output", "exported", **how))
    for name in ("runs", "run.tar.gz", "exported", "cache"):
        assert modes(here / name) <= expected, name


# --- folders


@pytest.mark.parametrize(
    "home", ["/proc/home", *(pytest.param(home, marks=pytest.mark.slow) for home in (None, "/nonexistent/home"))]
)
def test_no_home(server, text, here, home):
    """Without a folder for its cache, the program works or says in one line which variable helps."""
    env = {**OWN_FOLDERS, "HOME": home, "GLASSHOUSE_CACHE": None, "XDG_CACHE_HOME": str(here) if home is None else None}
    ended = server.run(*train(text), cwd=here, env=env)
    if ended.code:
        assert "GLASSHOUSE_CACHE" in refused(ended)
    assert worked(server.run("runs", cwd=here, env=env))


@pytest.mark.slow
def test_no_folder_for_temporary_files(server, text, here, original):
    worked(server.run(*train(text), cwd=here, env={**OWN_FOLDERS, "TMPDIR": str(here / "missing")}))
    assert_same(here / "runs/run", original / "runs/run")


def test_a_current_folder_that_was_deleted(server, text, here, original):
    elsewhere = {"GLASSHOUSE_RUNS": str(original / "runs"), "GLASSHOUSE_STUDIES": None}
    for number, (words, env) in enumerate(
        [(("runs",), elsewhere), (("sample", "run", "--tokens", "2"), elsewhere), (("runs",), OWN_FOLDERS)]
    ):
        folder = here / str(number)
        folder.mkdir()
        worked(server.run(*words, cwd=folder, env=env, delete_cwd=True))
    folder = here / "other"
    folder.mkdir()
    refused(server.run(*train(text), cwd=folder, env=OWN_FOLDERS, delete_cwd=True))


@pytest.fixture
def small_disk(here: Path) -> Iterator[Path]:
    """A file system of its own, with little space, that is unmounted after the test."""
    folder = here / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        needs.skip("root")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], check=False).returncode:
        needs.skip("root")
    yield folder
    subprocess.run(["umount", folder], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


def fill(folder: Path) -> None:
    free = os.statvfs(folder)
    (folder / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize))


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["GLASSHOUSE_STUDIES", "GLASSHOUSE_CACHE"])
def test_a_full_disk_under_a_study(server, text, here, small_disk, variable):
    """It stops with one line. With space, the same command ends as if nothing had happened."""
    worked(server.run(*compare(text), cwd=here, env=OWN_FOLDERS))
    fill(small_disk)
    env = {**OWN_FOLDERS, variable: str(small_disk)}
    (here / "studies").rename(here / "expected")
    ended = server.run(*compare(text), cwd=here, env=env)
    assert ended.code == 2, ended.err
    assert "Traceback" not in ended.err
    (small_disk / "ballast").unlink()
    remount(small_disk, "size=20m")
    worked(server.run(*compare(text), cwd=here, env=env))
    study = small_disk / "study" if variable == "GLASSHOUSE_STUDIES" else here / "studies/study"
    for run in sorted(path.parent.relative_to(study) for path in study.glob("*/*/run.json")):
        assert_same(study / run, here / "expected/study" / run)


@pytest.mark.slow
@pytest.mark.parametrize("words", [("report", "run", *CPU), ("pack", "run", "--output", "disk/run.tar.gz")])
def test_no_space_for_a_report_or_an_archive(server, finished, here, small_disk, words):
    before = (finished / "report.html").read_bytes()
    shutil.move(here / "runs", small_disk / "runs")
    fill(small_disk)
    refused(server.run(*words, cwd=here, env={**OWN_FOLDERS, "GLASSHOUSE_RUNS": str(small_disk / "runs")}))
    assert (small_disk / "runs/run/report.html").read_bytes() == before
    assert not (small_disk / "run.tar.gz").exists()


@pytest.mark.slow
def test_a_study_on_a_disk_that_is_read_only(server, text, here, small_disk):
    remount(small_disk, "size=20m")
    env = {**OWN_FOLDERS, "GLASSHOUSE_STUDIES": str(small_disk)}
    worked(server.run(*compare(text), cwd=here, env=env))
    remount(small_disk, "ro")
    assert "study" in worked(server.run("studies", cwd=here, env=env)).out
    for words in (("report", "study"), ("resume", "study", *CPU), compare(text), compare(text, "another")):
        ended = server.run(*words, cwd=here, env=env)
        assert ended.code == 2, ended.err
        assert "Traceback" not in ended.err


# --- two processes at once


def both(server: ForkServer, first: tuple[str, ...], second: tuple[str, ...], here: Path, **env: str) -> list[Ended]:
    """Two commands at once; neither ends in a traceback."""
    numbers = [server.start(*words, cwd=here, env={**OWN_FOLDERS, **env}) for words in (first, second)]
    ended = [server.wait(number) for number in numbers]
    for one in ended:
        assert "Traceback" not in one.err, one.err
        assert one.code in (0, 2), one.err
    assert 0 in {one.code for one in ended}, [one.err for one in ended]
    return ended


def test_two_trainings_of_one_name(server, text, here, original):
    codes = sorted(one.code for one in both(server, train(text), train(text), here))
    assert codes == [0, 2]
    assert_same(here / "runs/run", original / "runs/run")


@pytest.mark.slow
def test_two_that_prepare_the_same_data(server, text, here, original):
    cache = str(here / "cache")
    ended = both(server, train(text), train(text, name="other"), here, GLASSHOUSE_CACHE=cache)
    assert [one.code for one in ended] == [0, 0]
    assert_same(here / "runs/run", original / "runs/run")
    assert_same(here / "runs/other", original / "runs/run")


def test_two_that_resume_one_run(server, unfinished, here, original):
    both(server, ("resume", "run", *CPU), ("resume", "run", *CPU), here)
    assert_same(unfinished, original / "runs/run")


@pytest.mark.slow
def test_two_of_one_study(server, text, here):
    both(server, compare(text), compare(text), here)
    worked(server.run(*compare(text), cwd=here, env=OWN_FOLDERS))
    worked(server.run(*compare(text, "alone"), cwd=here, env=OWN_FOLDERS))
    for run in ("learned/seed-0", "none/seed-1"):
        assert_same(here / "studies/study" / run, here / "studies/alone" / run)


def test_two_reports(server, finished, here):
    assert [one.code for one in both(server, ("report", "run", *CPU), ("report", "run", *CPU), here)] == [0, 0]
    assert (finished / "report.html").read_text().rstrip().endswith("</html>")
    assert list(finished.glob(".*.tmp")) == []


@pytest.mark.slow
def test_two_exports_and_two_archives(server, text, here):
    words = train(text, "model.position=rotary", "model.norm=rms", "model.activation=swiglu")
    worked(server.run(*words, cwd=here, env=OWN_FOLDERS))
    export = ("export", "run", "--to", "huggingface", "--output", "exported")
    both(server, export, export, here)
    assert json.loads((here / "exported/config.json").read_text())
    both(server, ("pack", "run"), ("pack", "run"), here)
    worked(server.run("unpack", "run.tar.gz", "--name", "copy", cwd=here, env=OWN_FOLDERS))
    assert_same(here / "runs/copy", here / "runs/run")
    assert [path.name for path in here.iterdir() if path.name.startswith(".")] == []


@pytest.mark.slow
@pytest.mark.parametrize("words", [("rename", "run", "new"), ("delete", "run", "--yes")])
def test_a_run_that_trains_is_neither_renamed_nor_deleted(server, text, here, original, words):
    number = server.start(*train(text, "training.steps=6"), cwd=here, env=OWN_FOLDERS)
    while not (holder := lock.holder(here / "runs/run")):
        assert not (here / "runs/run/report.html").exists(), "the run has ended before the test began"
    # So that it trains for as long as this takes.
    os.kill(holder, signal.SIGSTOP)
    try:
        refused(server.run("runs", *words, cwd=here, env=OWN_FOLDERS))
    finally:
        os.kill(holder, signal.SIGCONT)
    worked(server.wait(number))
    assert_same(here / "runs/run", original / "runs/run")


# --- locales and streams: the interpreter reads these at its start, so these tests start one

ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def program(here: Path, words: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run a shell command in which G is the program."""
    changed = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "G": f"{sys.executable} -m glasshouse", **env}
    return subprocess.run(["bash", "-c", words], cwd=here, env=changed, capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "env",
    [
        ASCII,
        {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
    ids=["C", "Turkish", "ascii", "latin-1"],
)
@pytest.mark.parametrize(
    "words",
    ["$G runs", *(pytest.param(words, marks=pytest.mark.slow) for words in ("$G runs --help", "$G train nosuch·recipe-ıİ"))],
)
def test_locales_and_encodings(finished, here, env, words):
    shutil.copytree(finished, here / "runs" / "MIXED.Ii")
    ended = program(here, words, **env)
    assert b"Traceback" not in ended.stderr, ended.stderr
    assert ended.returncode == (2 if "nosuch" in words else 0), ended.stderr
    assert ended.stdout or ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("$G runs | head -c 1 > /dev/null; exit ${PIPESTATUS[1]}", 0),
        ("$G runs > /dev/full", 2),
        ("$G runs >&-", 0),
        ("$G runs 2>&-", 0),
        ("$G runs <&-", 0),
        ("env -u TERM -u HOME -u COLUMNS $G runs", 0),
        ("TERM=dumb COLUMNS=1 $G runs", 0),
    ],
)
def test_streams_that_are_closed_or_full(finished, here, words, code):
    ended = program(here, words)
    assert b"Traceback" not in ended.stderr, ended.stderr
    assert b"Exception ignored" not in ended.stderr, ended.stderr
    assert ended.returncode == code, ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("env", [ASCII, {"LC_ALL": "tr_TR.UTF-8"}], ids=["C", "Turkish"])
def test_training_in_another_locale(text, here, original, env):
    folder = here / "Läufe ıİ"
    folder.mkdir()
    ended = program(folder, " ".join(["$G", *(word.replace("[", "\\[") for word in train(text))]), **env)
    assert ended.returncode == 0, ended.stderr
    assert_same(folder / "runs/run", original / "runs/run")
    for words in ("$G sample run --prompt bA --tokens 2", "$G report run --device cpu", "$G pack run"):
        ended = program(folder, words, **env)
        assert ended.returncode == 0, ended.stderr
