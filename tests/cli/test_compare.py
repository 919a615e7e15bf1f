"""`glasshouse compare`: whole studies of very small runs."""

import json
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.records.run_folder import RunFolder
from glasshouse.runs import resolve_spec
from glasshouse.specs.errors import RunError, SpecError
from glasshouse.studies import run_queue
from glasshouse.training import cost_plan
from glasshouse.training.job import Job

from .program import (
    call,
    refused,
    worked,
)
from .study_commands import ALONE, POSITIONS, TINY, compare, results, run_names

pytestmark = pytest.mark.usefixtures("short_trials")


def test_a_whole_comparison(study: Path) -> None:
    comparison = results(study)
    assert [arm["name"] for arm in comparison["arms"]] == ["learned", "none"]
    assert comparison["metric"] == comparison["curve"] == "validation.loss"
    assert comparison["status"] == "done"
    assert run_names(study) == [f"{arm}/seed-{seed}" for arm in ("learned", "none") for seed in range(3)]
    for arm in comparison["arms"]:
        for seed in range(3):
            facts = RunFolder(study / arm["name"] / f"seed-{seed}").facts()
            assert arm["values"][str(seed)] == facts["outcome"]["validation"]["loss"]
            assert [step for step, _ in arm["curves"][str(seed)]] == [2, 4]
        assert arm["parameters"] > 0
        assert arm["steps"] == 4
    assert comparison["arms"][0]["difference"] is None
    assert comparison["arms"][1]["difference"]["word"] in ("better", "worse", "no difference", "undecided")
    differences = [comparison["arms"][1]["values"][s] - comparison["arms"][0]["values"][s] for s in ("0", "1", "2")]
    assert comparison["arms"][1]["difference"]["mean"] == pytest.approx(sum(differences) / 3)
    assert "learned" in (study / "table.md").read_text()
    assert "\\begin{table}" in (study / "table.tex").read_text()
    page = unescape((study / "report.html").read_text())
    assert comparison["arms"][1]["difference"]["sentence"] in page
    assert comparison["arms"][1]["plain"].replace(" %", "\u00a0%") in page
    assert comparison["arms"][1]["caution"].startswith("a first look: 3 seeds")


def test_seeds_pair_the_arms(study: Path) -> None:
    """Arms of one seed read the same batches; another seed reads others."""

    def batch(run: str) -> torch.Tensor:
        return Job.prepare(RunFolder(study / run).spec(), torch.device("cpu")).engine().batch(3)["inputs"]

    assert torch.equal(batch("learned/seed-2"), batch("none/seed-2"))
    assert not torch.equal(batch("learned/seed-1"), batch("none/seed-2"))


def test_its_runs_are_like_any_other(study: Path) -> None:
    out = worked(call("sample", "studies/positions/none/seed-1", "--tokens", "4", "--device", "cpu")).out
    assert out.strip()
    assert not (study / "none/seed-1/report.html").exists()


def test_the_same_again_does_nothing_new(study: Path, short_text: Path) -> None:
    before, runs = results(study), {path: path.read_bytes() for path in study.glob("*/*/run.json")}
    outcome = worked(compare(short_text, POSITIONS, "--seeds", "3", "--name", "positions"))
    assert "which asks the same question\n" in outcome.err
    assert results(study) == before
    assert all(path.read_bytes() == content for path, content in runs.items())
    assert "learned" in outcome.out


def test_more_seeds_are_added(study: Path, short_text: Path) -> None:
    before, runs = results(study), {path: path.read_bytes() for path in study.glob("*/*/run.json")}
    worked(compare(short_text, POSITIONS, "--seeds", "4", "--name", "positions"))
    after = results(study)
    assert all(path.read_bytes() == content for path, content in runs.items()), "what was done is kept"
    assert run_names(study) == [f"{arm}/seed-{seed}" for arm in ("learned", "none") for seed in range(4)]
    for old, new in zip(before["arms"], after["arms"], strict=True):
        assert old["values"].items() < new["values"].items()
        assert new["seeds"] == [0, 1, 2, 3]
    assert any("seeds were added after 3 had been judged" in note for note in after["notes"])
    words = (*TINY, f"data.files={short_text}", POSITIONS, "--seeds", "2", "--name", "positions", "--device", "cpu")
    outcome = worked(call("compare", "language-model", *words, "--replicas", "2"))
    assert "which asks the same question; its other seeds (2) are kept; its --replicas off is kept, not 2" in outcome.err
    assert results(study) == after, "fewer seeds take nothing away"


def test_a_name_without_asking_is_after_what_is_compared(study: Path, short_text: Path) -> None:
    words = (POSITIONS, "--seeds", "2")
    assert "studies/language-model-position" in worked(compare(short_text, *words)).out
    assert "asks the same question" in worked(compare(short_text, *words)).err
    outcome = worked(compare(short_text, "model.position=none,learned", "--seeds", "2"))
    assert "studies/language-model-position-2" in outcome.out


def test_an_arm_that_diverges(short_text: Path) -> None:
    words = ("training.learning_rate=1e-3,1e18", "model.norm=none", "training.clip=0", "--seeds", "2", "--name", "wild")
    outcome = worked(compare(short_text, *words))
    assert "1e18 diverged in every seed (2 of 2)" in outcome.out
    assert "1e18, seed 0: diverged" in outcome.err
    comparison = results(Path("studies/wild"))
    assert comparison["arms"][1]["diverged"] == [0, 1]
    assert comparison["arms"][1]["values"] == {"0": None, "1": None}
    assert comparison["arms"][0]["summary"]["seeds"] == 2
    assert comparison["status"] == "done"
    before = (Path("studies/wild/1e18/seed-0/run.json")).read_bytes()
    worked(call("resume", "wild", "--device", "cpu"))
    assert Path("studies/wild/1e18/seed-0/run.json").read_bytes() == before, "it is not repeated"
    assert "1e18 diverged" in worked(call("studies")).out


@pytest.mark.slow
def test_each_arm_gets_its_own_learning_rate(short_text: Path) -> None:
    words = (
        POSITIONS,
        "--seeds",
        "2",
        "--name",
        "tuned",
        "--tune",
        "training.learning_rate=1e-6,1e-2,1e18",
        "training.clip=0",
    )
    outcome = worked(compare(short_text, *words))
    study = Path("studies/tuned")
    tuning = json.loads((study / "study.json").read_text())["tuning"]
    assert tuning["chosen"] == {"learned": "1e-2", "none": "1e-2"}
    assert tuning["found"]["learned"]["1e-6"] > tuning["found"]["learned"]["1e-2"]
    for arm in ("learned", "none"):
        assert RunFolder(study / arm / "seed-0").spec().training.learning_rate == 0.01
        assert RunFolder(study / arm / "tuning/1e-6/seed-1000001").facts()["status"] == "done"
    notes = [note for arm in results(study)["arms"] for note in arm["notes"]]
    assert all(note.startswith("tuned: training.learning_rate=1e-2 (") for note in notes)
    assert all("1e-6, 1e-2, 1e18; validation.loss" in note for note in notes)
    assert "each arm has its own best training.learning_rate" in outcome.out
    before = results(study)
    worked(compare(short_text, *words))
    assert results(study) == before


def test_until_decided(short_text: Path) -> None:
    growing = ("--until-decided", "--batch", "3", "--max-seeds", "7", "--name", "growing")
    words = ("training.learning_rate=1e-7,3e-2", "training.steps=8", *growing)
    worked(compare(short_text, *words))
    comparison = results(Path("studies/growing"))
    assert comparison["rule"]["looks"] == [3, 6, 7]
    seeds = comparison["arms"][0]["seeds"]
    assert seeds == list(range(len(seeds)))
    assert len(seeds) in (3, 6, 7)
    word = comparison["arms"][1]["difference"]["word"]
    assert word == "better" if len(seeds) < 7 else word in ("better", "undecided")
    assert "done" in worked(call("studies")).out
    refused(compare(short_text, *words[:-2], "--seeds", "9", "--name", "growing"), SpecError, "--seeds", "--until-decided")
    worked(call("compare", "--replicate", "growing", *ALONE))
    seeds = results(Path("studies/growing-replication"))["arms"][0]["seeds"]
    assert seeds == list(range(7, 7 + len(seeds)))
    assert len(seeds) in (3, 6, 7)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "currency", ["flops", *(pytest.param(each, marks=SLOW) for each in ("tokens", "parameters", "time"))]
)
def test_matched_in_each_currency(short_text: Path, currency: str) -> None:
    words = ("model.activation=gelu,swiglu", "training.batch=4", "model.position=none", "model.width=32")
    worked(compare(short_text, *words, "--seeds", "2", "--match", currency, "--name", "fair", "training.steps=12"))
    study = Path("studies/fair")
    comparison = results(study)
    gelu, swiglu = comparison["arms"]
    assert comparison["match"] == currency
    assert any(currency.removesuffix("s") in note.lower() for note in comparison["notes"] if "matched" in note)
    assert gelu["steps"] == 12
    run = RunFolder(study / "swiglu/seed-0").spec()
    assert run.training.steps == swiglu["steps"] == RunFolder(study / "swiglu/seed-1").facts()["plan"]["steps"]
    if currency == "parameters":
        assert abs(swiglu["parameters"] / gelu["parameters"] - 1) < 0.1
        assert run.model.width < 32
        assert "width" in swiglu["notes"][0]
    elif currency == "flops":
        assert swiglu["flops"] == pytest.approx(gelu["flops"], rel=0.1), "of training, without evaluation"
        assert swiglu["steps"] < 12
        assert swiglu["notes"]
    elif currency == "time":
        kept = json.loads((study / "study.json").read_text())["step_seconds"]
        assert {len(rounds) for rounds in kept.values()} == {5}
    else:
        assert swiglu["steps"] == 12


def test_recipes_as_arms(short_text: Path) -> None:
    for name, width in (("narrow", 8), ("wide", 16)):
        Path(f"{name}.toml").write_text(f"[model]\nwidth = {width}\n")
    small = [word for word in TINY if not word.startswith("model.width")]
    worked(call("compare", "narrow.toml", "wide.toml", *small, f"data.files={short_text}", "--seeds", "2", *ALONE))
    comparison = results(Path("studies/narrow-or-wide"))
    assert [arm["name"] for arm in comparison["arms"]] == ["narrow", "wide"]
    assert comparison["recipe"] == "narrow and wide"
    assert "arms of one seed read the same batches in the same order" in comparison["notes"]


def train_side_by_side(text: Path, replicas: str) -> None:
    words = (POSITIONS, f"data.files={text}", "--seeds", "3", "--device", "cpu", "--replicas", replicas, "--name", "abreast")
    worked(call("compare", "language-model", *TINY, *words))


def test_side_by_side(short_text: Path) -> None:
    train_side_by_side(short_text, "2")
    facts = [RunFolder(Path(f"studies/abreast/none/seed-{seed}")).facts() for seed in range(3)]
    assert [fact["status"] for fact in facts] == ["done"] * 3
    assert [len(fact.get("together", [])) for fact in facts[:2]] == [2, 2]


def test_sets_of_replicas_stay_the_same_when_it_goes_on(short_text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the first set is done when the study is stopped; the other does not take a partner from the second set."""
    sets = []
    monkeypatch.setattr(run_queue, "_train", lambda group, device: sets.append([one.run.name for one in group]))
    monkeypatch.setattr(run_queue, "status", lambda run: "done" if run.name == "0" else "absent")
    monkeypatch.setattr(run_queue, "_delete_old_checkpoints", lambda queued: None)
    spec = resolve_spec.spec_of("demo-lm")
    wanted = [run_queue.QueuedRun(RunFolder(Path(str(seed))), "", spec, "", {}, 2, "an arm") for seed in range(4)]
    run_queue.run_all(wanted, run_queue.Place("cpu"), Path.cwd(), "a test")
    assert sets == [["1"], ["2", "3"]]


def test_side_by_side_is_as_alone_nearly(study: Path, short_text: Path) -> None:
    train_side_by_side(short_text, "3")
    for together, alone in zip(results(Path("studies/abreast"))["arms"], results(study)["arms"], strict=True):
        assert list(together["values"].values()) == pytest.approx(list(alone["values"].values()), abs=1e-3)


def test_from_python(study: Path, short_text: Path) -> None:
    words = ("language-model", *TINY, f"data.files={short_text}", POSITIONS)
    opened = glasshouse.compare(*words, seeds=3, name="positions", device="cpu", replicas="off")
    assert opened.name == "positions"
    assert opened.comparison.arms[1].summary.seeds == 3
    assert list(opened.verdicts) == ["none"]
    assert opened.report.exists()
    assert opened.run("none", 2, "cpu").spec.training.seed == 2
    assert "<table>" in opened._repr_html_()
    assert repr(opened) == "Study('positions', done)"
    assert [each.name for each in glasshouse.list_studies()] == ["positions"]
    assert glasshouse.open_study("positions").verdicts == opened.verdicts


def test_what_is_measured_is_measured_once(short_text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Precision, threads and plans are settled with the study; no run measures them again."""
    made = []
    make = cost_plan.make

    def counted_make(*arguments):
        made.append(arguments)
        return make(*arguments)

    monkeypatch.setattr(cost_plan, "make", counted_make)
    words = [word for word in TINY if not word.startswith(("training.precision", "training.threads"))]
    worked(
        call(
            "compare",
            "language-model",
            *words,
            f"data.files={short_text}",
            POSITIONS,
            "--seeds",
            "2",
            "--name",
            "auto",
            *ALONE,
        )
    )
    assert len(made) == 2
    specs = [RunFolder(path.parent).spec().training for path in Path("studies/auto").glob("*/seed-*/spec.toml")]
    assert len({(spec.precision, spec.threads) for spec in specs}) == 1
    assert specs[0].precision != "auto"
    assert specs[0].threads > 0


@pytest.mark.slow
def test_items_are_a_sample_too(labelled_rows: Path) -> None:
    words = (*TINY, "training.epochs=0", f"data.files={labelled_rows}", "model.norm=layer,rms", *ALONE)
    options = ("--seeds", "3", "--metric", "test.loss", "--items", "--name", "rows")
    outcome = worked(call("compare", "classifier", *words, *options))
    comparison = results(Path("studies/rows"))
    assert comparison["items"] >= 8
    assert comparison["item_name"] == "texts"
    sample = f"over 3 seeds and {comparison['items']} texts"
    assert sample in comparison["arms"][1]["difference"]["sentence"]
    assert sample in outcome.out
    stored = sorted(Path("studies/rows").glob("*/seed-*/item_values/test.npz"))
    assert len(stored) == 6
    values = [comparison["arms"][arm]["values"][seed] for arm in (0, 1) for seed in ("0", "1", "2")]
    assert [np.load(file)["loss"].mean() for file in stored] == pytest.approx(values, rel=1e-5)
    assert "--items" in comparison["command"]
    refused(call("compare", "classifier", *words, *options[:-3], "--name", "rows"), RunError, "items")


def test_a_registered_study_takes_no_other_seeds(short_text: Path) -> None:
    words = (POSITIONS, "--name", "fixed", "--register")
    outcome = worked(compare(short_text, *words, "--seeds", "2"))
    registered = json.loads(Path("studies/fixed/study.json").read_text())["registered"]
    assert len(registered["digest"]) == 64
    assert registered["digest"] in outcome.out
    assert registered["digest"] in outcome.err.partition("seed 0")[0], "announced before the first run"
    assert registered["digest"] in Path("studies/fixed/report.html").read_text()
    refused(compare(short_text, *words, "--seeds", "3"), SpecError, "2", "--until-decided", "--replicate")
    refused(compare(short_text, *words, "--seeds", "2", "--margin", "1"), RunError, "margin")
    worked(compare(short_text, *words, "--seeds", "2"))
    assert json.loads(Path("studies/fixed/study.json").read_text())["registered"] == registered
    table = json.loads(Path("studies/fixed/study.json").read_text())
    Path("studies/fixed/study.json").write_text(json.dumps({**table, "rule": {**table["rule"], "alpha": 0.2}}))
    refused(call("resume", "fixed", "--device", "cpu"), RunError, registered["digest"][:12])


def test_a_study_with_runs_is_not_registered(study: Path, short_text: Path) -> None:
    words = (POSITIONS, "--seeds", "3", "--name", "positions", "--register")
    refused(compare(short_text, *words), SpecError, "positions")
    assert json.loads((study / "study.json").read_text())["registered"] is None


@pytest.mark.slow
def test_a_replication_has_fresh_seeds_and_says_whether_the_verdict_was_the_same(study: Path) -> None:
    outcome = worked(call("compare", "--replicate", "positions", *ALONE))
    comparison = results(Path("studies/positions-replication"))
    assert comparison["arms"][0]["seeds"] == [3, 4, 5]
    assert "This study is a replication of positions" in outcome.out
    original, replication = comparison["replications"][0]["words"]["none"]
    assert original == results(study)["arms"][1]["difference"]["word"]
    assert replication == comparison["arms"][1]["difference"]["word"]
    assert "../positions/report.html" in Path("studies/positions-replication/report.html").read_text()
    worked(call("report", "positions"))
    assert "../positions-replication/report.html" in (study / "report.html").read_text()
    again = worked(call("compare", "--replicate", "positions", *ALONE))
    assert "asks the same question" in again.err
    assert results(Path("studies/positions-replication")) == comparison
    worked(call("compare", "--replicate", "positions", "--seeds", "2", "--name", "second", *ALONE))
    assert results(Path("studies/second"))["arms"][0]["seeds"] == [6, 7]


@pytest.mark.slow
def test_the_power_of_the_seeds_is_announced_before_the_first_run(short_text: Path) -> None:
    words = ("training.learning_rate=1e-3,2e-3", "--seeds", "4", "--name", "first")
    worked(compare(short_text, *words))
    outcome = worked(compare(short_text, POSITIONS, "--seeds", "2", "--name", "second"))
    (note,) = [note for note in results(Path("studies/second"))["notes"] if note.startswith("power:")]
    assert note in outcome.err.partition("seed 0")[0]
    assert "2 seeds find a difference of" in note
    assert "in the study first" in note
    worked(compare(short_text, POSITIONS, "--seeds", "3", "--name", "second"))
    assert [each for each in results(Path("studies/second"))["notes"] if each.startswith("power:")] == [note]


def test_the_question_of_a_replication_cannot_be_changed(study: Path, short_text: Path) -> None:
    refused(call("compare", "--replicate", "positions", POSITIONS, *ALONE), SpecError, POSITIONS)
    refused(call("compare", "--replicate", "positions", "--margin", "1", *ALONE), SpecError, "--margin 1")
    refused(call("compare", "--replicate", "positions", "--seeds", "1,9", *ALONE), SpecError, "1")
    refused(call("compare", "--replicate", "nowhere", *ALONE), RunError, "'nowhere'")
    refused(call("compare", "--replicate", "positions", "--name", "positions", *ALONE), RunError)
    assert [path.name for path in Path("studies").iterdir()] == ["positions"]


@pytest.mark.slow
def test_a_multiverse_of_choices(short_text: Path) -> None:
    tuning = ("--tune", "training.learning_rate=1e-3,1e-2")
    words = (POSITIONS, "--seeds", "2", "--name", "many", "--multiverse", *tuning)
    outcome = worked(compare(short_text, *words))
    before_the_first_run = outcome.err.partition("seed 1000000")[0]
    assert "multiverse: 3 more studies with 12 runs and 8 tuning runs" in before_the_first_run
    cells = results(Path("studies/many"))["multiverse"]
    assert len(cells) == 8
    main, *others = cells
    assert main["choices"] == {"learning rate": "tuned", "initialisation": "0.5", "split": "validation"}
    assert main["differences"]["none"] == results(Path("studies/many"))["arms"][1]["difference"]
    assert not any(cell["main"] for cell in others)
    means = {cell["differences"]["none"]["mean"] for cell in cells}
    assert len(means) == 8, "every cell has runs or a split of its own"
    reported = RunFolder(Path("studies/many/multiverse/reported-initialisation-1/none/seed-1")).spec()
    assert (reported.model.initialisation, reported.training.learning_rate) == (1.0, 0.004)
    assert "combinations of choices" in outcome.out
    assert "Other reasonable choices" in Path("studies/many/report.html").read_text()
    before = results(Path("studies/many"))
    worked(compare(short_text, *words))
    assert results(Path("studies/many")) == before
    unfinished = Path("studies/many/multiverse/tuned-initialisation-1")
    shutil.rmtree(unfinished / "none/seed-1")
    table = json.loads((unfinished / "study.json").read_text())
    (unfinished / "study.json").write_text(json.dumps({**table, "finished": False}))
    worked(call("resume", "many", "--device", "cpu"))
    assert results(Path("studies/many")) == before


@pytest.mark.slow
def test_a_multiverse_can_be_added_to_a_finished_study(study: Path, short_text: Path) -> None:
    fields = ("model.position=learned,none", "--seeds", "3", "--name", "positions", "--multiverse")
    before = results(study)["arms"]
    worked(compare(short_text, *fields))
    after = results(study)
    assert after["arms"] == before
    assert len(after["multiverse"]) == 8
