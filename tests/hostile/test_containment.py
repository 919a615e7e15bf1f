"""A folder from somebody else, resumed: nothing outside it is written or deleted."""

import json
import os
import shutil
from pathlib import Path

import pytest

import glasshouse
from glasshouse.api import page_index
from glasshouse.records import containment, metric_log, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import GlasshouseError, RunError
from glasshouse.studies import study_folder
from glasshouse.training import resume as resuming
from tests.refusals import refused
from tests.scaling import small_studies
from tests.studies.example_studies import make_design, write_study
from tests.training import small_runs
from tests.training.small_runs import train_demo

LINE = "The state of our union is strong, and we will keep it so for all who come after us.\n"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder that no command may change."""
    folder = tmp_path / "victim"
    (folder / "step-00000001").mkdir(parents=True)
    (folder / "step-00000001" / "thesis.txt").write_text("three years of work")
    (folder / "log.txt").write_text("a log\n")
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """A run that says it was interrupted. No test may change it."""
    folder = tmp_path_factory.mktemp("original")
    (folder / "text.txt").write_text(LINE * 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        run = train_demo(folder / "text.txt", "training.checkpoint_every=4", name="foreign")
    change_facts(run.folder.path, status="interrupted")
    return run.folder.path


@pytest.fixture
def unfinished(original: Path, runs: Path) -> Path:
    """A copy of the run in the test's own folder of runs."""
    return Path(shutil.copytree(original, runs / "foreign"))


def change_facts(run: Path, **facts: object) -> None:
    path = run / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


@pytest.mark.parametrize("name", ["checkpoints", "metrics.jsonl", ".lock", "report.html", "checkpoints/step-00000012"])
def test_nothing_is_written_through_a_link(unfinished, victim, name):
    before = content(victim)
    link = unfinished / name
    if link.is_dir():
        os.rename(link, unfinished.parent / "moved")
    else:
        link.unlink(missing_ok=True)
    link.symlink_to(victim if "checkpoints" in name else victim / "log.txt")
    with refused(GlasshouseError, name):
        glasshouse.resume("foreign", device="cpu")
    assert content(victim) == before


@pytest.mark.parametrize(("name", "processes"), [(".lock", None), ("processes.log", 2)])
def test_nothing_is_written_through_a_hard_link(unfinished, victim, name, processes):
    before = content(victim)
    (unfinished / name).unlink(missing_ok=True)
    os.link(victim / "log.txt", unfinished / name)
    with refused(GlasshouseError, f"{name} is a hard link"):
        glasshouse.resume("foreign", device="cpu", processes=processes)
    assert content(victim) == before


@pytest.mark.parametrize("family", [["foreign", "../victim/run"], ["foreign", "/etc"], ["foreign", 3], ["foreign", ".."]])
def test_a_sibling_is_a_run_beside_this_one(unfinished, family):
    change_facts(unfinished, family=family)
    with refused(RunError, "run.json"):
        RunFolder(unfinished).siblings()


@pytest.mark.parametrize("family", ["foreign", 7, None, ["another"]])
def test_a_family_without_this_run_is_no_family(unfinished, family):
    change_facts(unfinished, family=family)
    assert [run.path for run in RunFolder(unfinished).siblings()] == [unfinished]


def test_no_log_is_continued_through_a_hard_link(unfinished, victim):
    (unfinished / "metrics.jsonl").unlink()
    os.link(victim / "log.txt", unfinished / "metrics.jsonl")
    with refused(GlasshouseError, "metrics.jsonl is a hard link"):
        metric_log.append(unfinished / "metrics.jsonl", {"step": 1})
    assert (victim / "log.txt").read_text() == "a log\n"


def test_runs_are_siblings_if_they_name_each_other(unfinished):
    other = Path(shutil.copytree(unfinished, unfinished.with_name("other")))
    change_facts(unfinished, family=["foreign", "other"], together=[".", "../other"])
    before = content(other)
    run = RunFolder(unfinished)
    assert [found.path for found in run.siblings()] == [unfinished]
    assert [found.path for found in resuming.companions(run)] == [unfinished]
    glasshouse.resume("foreign", device="cpu")
    assert content(other) == before
    change_facts(other, family=["other", "foreign"])
    assert [found.path for found in run.siblings()] == [unfinished, other]
    assert [found.path for found in resuming.companions(run)] == [unfinished, other]


def test_only_runs_that_are_named_by_their_seed_get_siblings(unfinished, runs):
    change_facts(unfinished, family=["foreign", "foreign-seed-3", "3"])
    run_folder.create_missing_siblings(RunFolder(unfinished))
    assert [path.name for path in runs.iterdir()] == ["foreign"]


@pytest.mark.parametrize("path", ["../../victim", "/etc", 5, "../..", "../../../x"])
def test_a_companion_is_a_run_beside_this_one(unfinished, path):
    change_facts(unfinished, together=[".", path])
    with refused(RunError, "run.json"):
        resuming.companions(RunFolder(unfinished))


@pytest.mark.parametrize("folder", ["../../victim/evil", "/tmp/evil", "..", "", 3, "a\0b"])
def test_an_arm_is_a_folder_of_its_study(tmp_path, victim, folder):
    before = content(victim)
    study = study_folder.create(make_design("model.layers=1,2"), "foreign-study", tmp_path)
    file = study.path / study_folder.FILE
    table = json.loads(file.read_text())
    table["arms"][1]["folder"] = folder
    file.write_text(json.dumps(table))
    # What is no name at all does not fit the schema of the file.
    with refused(RunError, study_folder.FILE):
        glasshouse.resume(study.path, device="cpu")
    assert content(victim) == before


def test_no_run_of_a_study_is_written_through_a_link(tmp_path, victim):
    before = content(victim)
    study = study_folder.create(make_design("model.layers=1,2"), "foreign-study", tmp_path)
    (study.path / study.design().arms[0].folder).symlink_to(victim)
    with refused(GlasshouseError):
        glasshouse.resume(study.path, device="cpu")
    assert content(victim) == before


@pytest.mark.parametrize("name", ["1e+15", "1e+15/1x16", "learning-rates"])
def test_no_run_of_a_scaling_study_is_written_through_a_link(tmp_path, victim, name):
    before = content(victim)
    study = small_studies.write_study(tmp_path / "scaling")
    (study.path / name).parent.mkdir(exist_ok=True)
    (study.path / name).symlink_to(victim)
    with refused(GlasshouseError, name):
        glasshouse.scaling.run(study.path, device="cpu")
    assert content(victim) == before
    assert not (study.path / ".lock").exists()


@pytest.mark.parametrize("name", ["quick", "trial-1", "trial-1/positions", "../order-blind", ".."])
def test_no_trial_is_written_through_a_link(victim, name):
    before = content(victim)
    place = study_folder.root() / "claims" / "order-blind" / name
    link = study_folder.root() / os.path.relpath(place, study_folder.root())
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(victim)
    with refused(GlasshouseError, str(link)):
        glasshouse.try_claim("order-blind", quick=name == "quick", register_only=True)
    assert content(victim) == before


def test_no_page_is_linked_through_a_link(tmp_path, victim):
    study = write_study("norms", make_design("model.norm=layer,rms"), {"layer": [1.0] * 3, "rms": [2.0] * 3}, tmp_path)
    os.rename(study.path / "rms", victim / "rms")
    (study.path / "rms").symlink_to(victim / "rms")
    page = "<body>\n<main>\n</main>\n</body>"
    pages = [study.path / "layer" / "seed-0" / "report.html", victim / "rms" / "seed-0" / "report.html"]
    for path in pages:
        path.write_text(page)
    page_index.write(page_index.folders_of(tmp_path))
    assert pages[0].read_text() != page
    assert pages[1].read_text() == page


def test_a_path_passes_a_link_only_below_its_folder(tmp_path, victim):
    (tmp_path / "link").symlink_to(victim)
    inside = tmp_path / "link" / "step-00000001"
    assert containment.passes_link(inside, tmp_path)
    assert containment.passes_link(tmp_path / "link", tmp_path)
    assert not containment.passes_link(inside, tmp_path / "link")
    assert not containment.passes_link(tmp_path / "other", tmp_path)


def test_altered_values_of_a_checkpoint_are_noticed(unfinished):
    newest = sorted((unfinished / "checkpoints").iterdir())[-1]
    state = json.loads((newest / "state.json").read_text())
    state["step"] = 4
    (newest / "state.json").write_text(json.dumps(state))
    said: list[str] = []
    loaded = small_runs.checkpoint.newest(unfinished / "checkpoints", said.append)
    assert loaded is not None
    assert loaded.step < 12
    assert "altered" in said[0]


@pytest.mark.parametrize("file", ["run.json", "checkpoints/step-00000012/state.json", "metrics.jsonl", "tokenizer.json"])
def test_deep_nesting_is_no_crash(unfinished, file):
    (unfinished / file).write_text("[" * 200_000)
    errors = []
    try:
        glasshouse.resume("foreign", device="cpu")
    except GlasshouseError as error:
        errors.append(str(error))
    assert all(Path(file).name in error for error in errors)
