"""Every kept file, damaged: its reader returns, or raises the project's own error in one line, and never anything else."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import glasshouse
from glasshouse.api import reports
from glasshouse.baselines import baseline_results
from glasshouse.baselines.baseline_results import BaselineResult, BaselineResults, PairedDifference
from glasshouse.claims import registration, trial_values, trials
from glasshouse.data import prepared_data, shards
from glasshouse.launching import job_folder
from glasshouse.launching.job_folder import JobFolder
from glasshouse.llms.answer_grid import ANSWERS, DESIGN, GridAnswer
from glasshouse.llms.answer_journal import AnswerJournal, refuse_other
from glasshouse.llms.debate_rounds import DebateJournal
from glasshouse.records import atomic_files, checkpoint, kept_json, metric_log, run_folder
from glasshouse.records.run_entries import RunEntryReader
from glasshouse.records.run_folder import RunFolder
from glasshouse.results.claim import SUPERIORITY, Measured, Part, Quantity, Registration, Series
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError, RunError
from glasshouse.studies import study_entries, study_results
from glasshouse.studies.study_folder import StudyFolder
from tests.hostile.damage import DEEP, VALUES, damaged_bytes, damaged_values
from tests.refusals import refused
from tests.studies.example_studies import make_design, write_study
from tests.training.small_runs import train_demo

# A sweep of hostile input: what SECURITY.md promises is held in every run by test_containment.py and test_bounds.py.
pytestmark = pytest.mark.slow

LINE = "The state of our union is strong, and we will keep it so for all who come after us.\n"
FEW, MANY = 20, 1500
GRID = {"questions": ["q"], "seed": 0}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """A folder with a run, a study, a trial of a claim, a job and journals. Each example mends what it damaged."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "text.txt").write_text(LINE * 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder / "runs"))
        run = train_demo(folder / "text.txt", "training.checkpoint_every=4", name="tiny")
    shutil.copytree(_shard_folder(run), folder / "shards")
    differences = (PairedDifference("loss", 0.1),)
    result = BaselineResult("most", "most frequent", {"loss": 3.0}, {"loss": 3.1}, {"n": 1}, "", differences)
    results = BaselineResults("next-token", "ab", "test", 12, "loss", "texts", {"loss": 2.0}, (result,))
    results.write(run.folder.baselines_file)
    losses = {"layer": [2.0, 2.1, 2.2], "rms": [1.0, 1.1, 1.3]}
    study = write_study("norms", make_design("model.norm=layer,rms", finished=True), losses, folder / "studies")
    reports.write_study(study)
    _make_trial(folder / "trial")
    job = JobFolder(folder / "job")
    job.path.mkdir()
    job_folder.record(job, 7, "tiny", job_folder.RUN, str(run.folder.path), ["glasshouse", "resume"], 0, 0)
    (job.path / job_folder.TASKS).write_text(json.dumps([[[{"run": "a", "name": "a", "branch_of": None}]]]))
    (folder / "grid").mkdir()
    (folder / "grid" / DESIGN).write_text(json.dumps(GRID))
    journal = AnswerJournal(folder / "grid" / ANSWERS, GridAnswer, lambda answer: answer.cell)
    journal.add(GridAnswer("q", "m", 0, 0, "text", "stop", 3, 4, 0.5))
    journal.add(GridAnswer("q", "m", 1, 0, "text", "stop", 3, 4, 0.5, passed=True))
    journal.close()
    debate = DebateJournal(folder / "debate.jsonl", {"rounds": 2})
    debate.add({"kind": "point", "key": "a/1", "text": "yes", "finish": "end"})
    debate.close()
    return folder


def _shard_folder(run: Run) -> Path:
    return prepared_data.prepare(run.spec.data, run.tokenizer).splits["train"].folder


def _make_trial(folder: Path) -> None:
    plan = Registration(
        claim="order-blind",
        number=1,
        registered=1.7e9,
        digest="",
        first_seed=1000,
        looks=(3,),
        alpha=0.05,
        statement="a is above b",
        procedure="measure both",
        outcomes="in this order",
        quantities={"a": Quantity("a", "test.loss"), "b": Quantity("b", "test.loss")},
        parts=(Part("above", SUPERIORITY, "a", "higher", "b", margin=0.1),),
        studies=({"name": "s", "words": ["demo-lm"]},),
    )
    table = registration.to_json(plan)
    table["digest"] = registration.digest_of(table)
    folder.mkdir()
    atomic_files.write_json(folder / trials.REGISTRATION, table)
    series = {"a": Series({0: 1.0, 1: 1.2, 2: 1.1}, {0: (1.0, 0.0), 1: (1.0, 1.0), 2: (0.0, 1.0)})}
    series["b"] = Series({0: 0.1, 1: 0.3, 2: 0.2})
    measured = Measured(series, 3, (("what", "text"),), ("a note",), {"c": ((1.0, 2.0),)}, {"cores": "2"}, 1.7e9)
    atomic_files.write_json(folder / trials.VALUES, trial_values.to_json(measured))


def _open_run(folder: Path) -> None:
    run = RunFolder(folder / "runs" / "tiny")
    RunEntryReader().read(run.path)
    RunEntryReader().curves(run.path)
    run.siblings()
    run.status()
    opened = Run(run, device="cpu")
    assert opened.final_step >= 0
    list(opened.final_metrics)
    glasshouse.runs.runs_overview()


def _read_log(folder: Path) -> None:
    log = folder / "runs" / "tiny" / "metrics.jsonl"
    for rows in (metric_log.read(log), [metric_log.last_row(log)], metric_log.tail_rows(log)):
        metric_log.column([row for row in rows if row], "loss")
    RunEntryReader().curves(log.parent)


def _read_checkpoint(folder: Path) -> None:
    said: list[str] = []
    newest = checkpoint.newest(folder / "runs" / "tiny" / "checkpoints", said.append)
    assert newest is not None, "an earlier checkpoint is intact"
    assert checkpoint.best(folder / "runs" / "tiny" / "checkpoints", said.append) is not None
    assert newest.step == 12 or said


def _open_study(folder: Path) -> None:
    path = folder / "studies" / "norms"
    study_entries.read(path, RunEntryReader())
    glasshouse.list_studies()
    study_results.to_json(study_results.collect(StudyFolder(path)))


def _read_trial(folder: Path) -> None:
    where = folder / "trial"
    contents = (trials.read_json(where / trials.REGISTRATION), trials.read_json(where / trials.VALUES))
    trials.make_trial(*contents, str(where / trials.REGISTRATION), str(where / trials.VALUES))


def _read_job(folder: Path) -> None:
    job = JobFolder(folder / "job")
    job.parts()
    job.record()
    job.tasks()


def _read_grid(folder: Path) -> None:
    path = folder / "grid"
    refuse_other(path / DESIGN, (path / DESIGN).read_bytes(), GRID)
    AnswerJournal(path / ANSWERS, GridAnswer, lambda answer: answer.cell).close()


FILES: dict[str, Callable[[Path], Any]] = {
    "runs/tiny/run.json": _open_run,
    "runs/tiny/spec.toml": _open_run,
    "runs/tiny/metrics.jsonl": _read_log,
    "runs/tiny/checkpoints/step-00000012/state.json": _read_checkpoint,
    "runs/tiny/tokenizer.json": lambda folder: Run(RunFolder(folder / "runs" / "tiny"), device="cpu").tokenizer.encode(
        "a b"
    ),
    "runs/tiny/baselines.json": lambda folder: baseline_results.read(folder / "runs" / "tiny" / "baselines.json"),
    "studies/norms/study.json": _open_study,
    "studies/norms/comparison.json": _open_study,
    "studies/norms/rms/seed-1/run.json": _open_study,
    f"trial/{trials.REGISTRATION}": _read_trial,
    f"trial/{trials.VALUES}": _read_trial,
    "shards/train.json": lambda folder: shards.open_shard(folder / "shards", "train").tokens,
    "shards/train.starts": lambda folder: shards.open_shard(folder / "shards", "train").starts,
    f"job/{job_folder.FILE}": _read_job,
    f"job/{job_folder.TASKS}": _read_job,
    f"grid/{DESIGN}": _read_grid,
    f"grid/{ANSWERS}": _read_grid,
    "debate.jsonl": lambda folder: DebateJournal(folder / "debate.jsonl", {"rounds": 2}).close(),
}


def _try(kept: Path, file: str, data: st.DataObject, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kept / file
    original = path.read_bytes()
    ways = [damaged_bytes(original), *([damaged_values(original)] if path.suffix in (".json", ".jsonl") else [])]
    damaged = data.draw(st.one_of(ways))
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(kept / "runs"))
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(kept / "studies"))
    path.write_bytes(damaged)
    message = ""
    try:
        FILES[file](kept)
    except GlasshouseError as error:
        message = str(error)
    finally:
        path.write_bytes(original)
    assert "\n" not in message
    assert len(message) < 2000


damages = settings(suppress_health_check=list(HealthCheck), deadline=None)


@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_read_or_refused_in_one_line(kept, file, monkeypatch):
    @settings(damages, max_examples=FEW, derandomize=True, database=None)
    @given(st.data())
    def tried(data: st.DataObject) -> None:
        _try(kept, file, data, monkeypatch)

    tried()


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_read_or_refused_in_one_line_many_times(kept, file, monkeypatch):
    @settings(damages, max_examples=MANY, database=None)
    @given(st.data())
    def tried(data: st.DataObject) -> None:
        _try(kept, file, data, monkeypatch)

    tried()


@pytest.fixture
def own(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the kept files that a test may change, and that commands find."""
    shutil.copytree(kept, tmp_path / "own")
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(tmp_path / "own" / "runs"))
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "own" / "studies"))
    return tmp_path / "own"


def change(file: Path, **entries: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))


def test_a_run_with_one_damaged_entry_lists_and_opens(own, capsys):
    change(own / "runs" / "tiny" / "run.json", created="yesterday")
    [listed] = glasshouse.runs.runs_overview()
    assert listed.status == "damaged"
    assert listed.steps == 12
    assert "run.json: created must be a number, and is 'yesterday'" in listed.error
    assert glasshouse.open_run("tiny").sample("a", tokens=1)
    assert "created must be a number" in capsys.readouterr().err
    change(own / "runs" / "tiny" / "run.json", machine={"cores": "2"})
    assert json.loads((own / "runs" / "tiny" / "run.json").read_text())["created"] == "yesterday"


def test_a_classifier_needs_the_names_of_its_classes(tmp_path):
    rows = (f"a {'warm' if day % 2 else 'wet'} day, the {day}th\t{'warm' if day % 2 else 'wet'}\n" for day in range(60))
    (tmp_path / "rows.tsv").write_text("text\tlabel\n" + "".join(rows))
    size = ("model.width=16", "model.layers=1", "model.heads=2", "data.vocabulary=280", "data.context=16")
    steps = ("training.steps=2", "training.batch=4", "training.threads=1", "training.precision=fp32", "training.epochs=0")
    run = glasshouse.train("classifier", f"data.files={tmp_path / 'rows.tsv'}", *size, *steps, name="c", device="cpu")
    facts = json.loads((run.folder.path / "run.json").read_text())
    del facts["labels"]
    (run.folder.path / "run.json").write_text(json.dumps(facts))
    for use in (glasshouse.report, lambda name: glasshouse.classify(name, "a day"), glasshouse.runs.card):
        with refused(RunError, "run.json", "2 classes"):
            use("c")


def test_a_recorded_entry_keeps_what_is_damaged(own):
    change(own / "runs" / "tiny" / "run.json", created="yesterday")
    RunFolder(own / "runs" / "tiny").record(parallel="x")
    assert json.loads((own / "runs" / "tiny" / "run.json").read_text())["created"] == "yesterday"


def test_half_of_a_surrogate_pair_is_kept_as_it_is(own):
    file = own / "runs" / "tiny" / "run.json"
    change(file, headline={"validation": [["\ud800", "1"]]})
    RunFolder(own / "runs" / "tiny").record(parallel="x")
    assert json.loads(file.read_text())["headline"] == {"validation": [["\ud800", "1"]]}


@pytest.mark.parametrize(
    "values", [{"best": {"value": 1.0}}, {"seconds": "x", "best": {}}, {"seconds": 1.0, "best": {"step": [1]}}, 3]
)
def test_altered_values_of_a_checkpoint_with_the_right_digest_fall_back(own, values):
    state = own / "runs" / "tiny" / "checkpoints" / "step-00000012" / "state.json"
    table = {**json.loads(state.read_text()), "values": values}
    del table["digest"]
    state.write_text(json.dumps({**table, "digest": checkpoint._digest(table)}))
    said: list[str] = []
    found = checkpoint.newest(state.parent.parent, said.append)
    assert found is not None
    assert found.step < 12
    assert "state.json" in said[0] or "step-00000012" in said[0]


def test_one_damaged_study_does_not_hide_the_others(own):
    shutil.copytree(own / "studies" / "norms", own / "studies" / "sound")
    change(own / "studies" / "norms" / "study.json", seeds="x")
    names = {study.name: study for study in glasshouse.list_studies()}
    assert set(names) == {"norms", "sound"}
    with refused(RunError, "seeds must be an array, and is 'x'"):
        assert names["norms"].comparison
    assert names["sound"].comparison.status == "done"
    entry = study_entries.read(own / "studies" / "norms", RunEntryReader())
    assert (entry.status, "seeds" in entry.error) == ("damaged", True)


def test_a_study_opens_without_what_decides_nothing_and_is_not_written(own):
    change(own / "studies" / "norms" / "study.json", notes=[3])
    study = StudyFolder(own / "studies" / "norms")
    assert any("notes.0 must be a text, and is 3" in note for note in study_results.collect(study).notes)
    with refused(RunError, "notes.0"):
        study.write(study.design())


def test_a_damaged_run_is_left_out_of_its_study(own):
    (own / "studies" / "norms" / "rms" / "seed-1" / "run.json").write_text("{")
    results = study_results.collect(StudyFolder(own / "studies" / "norms"))
    assert [len(arm.values) for arm in results.arms] == [3, 2]
    assert any("seed-1" in note for note in results.notes)


def test_a_damaged_trial_does_not_hide_the_other_claims(own):
    trial = own / "studies" / "claims" / "order-blind" / "trial-1"
    shutil.copytree(own / "trial", trial)
    (trial / trials.VALUES).write_text('{"series": 3}')
    cases = {case.name: case for case in glasshouse.claims.list_claims()}
    assert len(cases) > 10
    [damage] = cases["order-blind"].damage
    assert "values.json" in damage


@pytest.mark.parametrize(
    ("variable", "act"),
    [
        ("GLASSHOUSE_STUDIES", lambda: glasshouse.compare("demo-lm", "model.norm=layer,rms", seeds=2, device="cpu")),
        ("GLASSHOUSE_STUDIES", glasshouse.list_studies),
        ("GLASSHOUSE_RUNS", lambda: glasshouse.train("demo-lm", device="cpu")),
        ("GLASSHOUSE_RUNS", glasshouse.runs.runs_overview),
        ("GLASSHOUSE_CACHE", lambda: glasshouse.train("demo-lm", device="cpu")),
    ],
)
def test_a_file_in_place_of_a_folder_is_refused(tmp_path, monkeypatch, variable, act):
    (tmp_path / "file").write_text("a file")
    monkeypatch.setenv(variable, str(tmp_path / "file"))
    with refused(RunError, variable):
        act()


@pytest.mark.parametrize("name", ["", "claims", "../x", "."])
def test_a_study_has_a_name_of_its_own(name):
    with refused(RunError, repr(name)):
        glasshouse.compare("demo-lm", "model.norm=layer,rms", seeds=2, device="cpu", name=name)


def test_an_empty_name_is_no_name_for_a_run():
    with refused(RunError):
        run_folder.create(glasshouse.runs.spec_of("demo-lm"), "", "demo-lm")


def test_files_of_a_run_have_the_mode_that_the_user_wants(kept, monkeypatch, tmp_path):
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    before = os.umask(0o077)
    try:
        run = train_demo(kept / "text.txt", "training.steps=2", "evaluation.every=2", name="private")
    finally:
        os.umask(before)
    files = [*run.folder.path.rglob("*"), *(tmp_path / "cache").rglob("*")]
    assert len(files) > 8
    assert [path for path in files if path.stat().st_mode & 0o077] == []


@pytest.mark.parametrize("text", ["[" * 200_000, json.dumps(DEEP), "9" * 5000, '{"a": 1', ""])
def test_json_that_cannot_be_kept_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"\w"):
        kept_json.parse(text)


def test_values_of_every_kind_are_tried():
    assert {type(value) for value in VALUES} >= {type(None), str, list, dict, int, bool, float}


@pytest.mark.parametrize("data", ["source = 1e308", "files = [1.5]", "files = 'abc'", "source = true"])
def test_a_run_whose_data_have_no_name_is_listed(own, data):
    spec = own / "runs" / "tiny" / "spec.toml"
    lines = [line for line in spec.read_text().splitlines() if not line.startswith(("source =", "files ="))]
    spec.write_text("\n".join(lines).replace("[data]", f"[data]\n{data}"))
    [listed] = glasshouse.runs.runs_overview()
    assert isinstance(listed.data, str)
