"""`compare`, `sweep`, `studies` and `report`: whole studies of tiny runs, stopped and continued, and what is refused."""

import json
import random
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

import glasshouse
from glasshouse.records.run_folder import RunFolder
from glasshouse.runs import resolve_spec
from glasshouse.studies import run_queue, study_planning, study_runner
from glasshouse.training import cost_plan, loop
from glasshouse.training.job import Job

from .program import SMALL, Outcome, call, finish, refused, some_text, start, wait_until, worked

TINY = (*SMALL, "data.tokenizer=characters", "training.steps=4", "evaluation.every=2")
POSITIONS = "model.position=learned,none"
ALONE = ("--replicas", "off", "--device", "cpu")
# What a clock or the memory of a machine says, which no two runs share.
CLOCKS = ("seconds", "memory", "created", "machine")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLASSHOUSE_STUDIES", raising=False)
    monkeypatch.setattr(cost_plan, "TRIAL_STEPS", 2)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file of a page."""
    file = tmp_path_factory.mktemp("page") / "text.txt"
    file.write_text(some_text(600))
    return file


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, text: Path) -> Path:
    """The folder of a finished study; not to be changed."""
    folder = tmp_path_factory.mktemp("studies")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_STUDIES", str(folder))
        patch.setattr(cost_plan, "TRIAL_STEPS", 2)
        worked(compare(text, POSITIONS, "--seeds", "3", "--name", "positions"))
    return folder / "positions"


@pytest.fixture
def study(finished: Path) -> Path:
    """The test's own copy of the finished study, which its commands find by the name `positions`."""
    return shutil.copytree(finished, Path("studies/positions"))


def compare(text: Path, *words: str, kind: str = "compare") -> Outcome:
    """A study of something very small on the CPU."""
    return call(kind, "language-model", *TINY, f"data.files={text}", *words, *ALONE)


def found(study: Path) -> dict[str, Any]:
    """What a study found, without what clocks say."""
    comparison = json.loads((study / "comparison.json").read_text())
    for one in (comparison, *comparison["arms"]):
        for name in CLOCKS:
            one.pop(name, None)
    return comparison


def runs_of(study: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(study)) for path in study.glob("*/*/run.json"))


def test_a_whole_comparison(study: Path) -> None:
    comparison = found(study)
    assert [arm["name"] for arm in comparison["arms"]] == ["learned", "none"]
    assert comparison["metric"] == comparison["curve"] == "validation.loss"
    assert comparison["status"] == "done"
    assert runs_of(study) == [f"{arm}/seed-{seed}" for arm in ("learned", "none") for seed in range(3)]
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
    page = (study / "report.html").read_text()
    assert comparison["arms"][1]["difference"]["sentence"] in page.replace("&#39;", "'")


def test_seeds_pair_the_arms(study: Path) -> None:
    """Arms of one seed read the same batches; another seed reads others."""

    def batch(run: str) -> torch.Tensor:
        return Job.of(RunFolder(study / run).spec(), torch.device("cpu")).engine().batch(3)["inputs"]

    assert torch.equal(batch("learned/seed-2"), batch("none/seed-2"))
    assert not torch.equal(batch("learned/seed-1"), batch("none/seed-2"))


def test_its_runs_are_like_any_other(study: Path) -> None:
    out = worked(call("sample", "studies/positions/none/seed-1", "--tokens", "4", "--device", "cpu")).out
    assert out.strip()
    assert not (study / "none/seed-1/report.html").exists()


def test_the_same_again_does_nothing_new(study: Path, text: Path) -> None:
    before, runs = found(study), {path: path.read_bytes() for path in study.glob("*/*/run.json")}
    outcome = worked(compare(text, POSITIONS, "--seeds", "3", "--name", "positions"))
    assert "it asks the same\n" in outcome.err
    assert found(study) == before
    assert all(path.read_bytes() == content for path, content in runs.items())
    assert "learned" in outcome.out


def test_more_seeds_are_added(study: Path, text: Path) -> None:
    before, runs = found(study), {path: path.read_bytes() for path in study.glob("*/*/run.json")}
    worked(compare(text, POSITIONS, "--seeds", "4", "--name", "positions"))
    after = found(study)
    assert all(path.read_bytes() == content for path, content in runs.items()), "what was done is kept"
    assert runs_of(study) == [f"{arm}/seed-{seed}" for arm in ("learned", "none") for seed in range(4)]
    for old, new in zip(before["arms"], after["arms"], strict=True):
        assert old["values"].items() < new["values"].items()
        assert new["seeds"] == [0, 1, 2, 3]
    assert any("seeds were added after 3 had been judged" in note for note in after["notes"])
    words = (*TINY, f"data.files={text}", POSITIONS, "--seeds", "2", "--name", "positions", "--device", "cpu")
    outcome = worked(call("compare", "language-model", *words, "--replicas", "2"))
    assert "it asks the same; its other seeds (2) are kept; its --replicas off is kept, not 2" in outcome.err
    assert found(study) == after, "fewer seeds take nothing away"


def test_an_unfinished_run_is_done_and_a_missing_one_too(study: Path, text: Path) -> None:
    before = found(study)
    RunFolder(study / "none/seed-0").record(status="training")
    shutil.rmtree(study / "learned/seed-2")
    facts = json.loads((study / "study.json").read_text())
    (study / "study.json").write_text(json.dumps({**facts, "finished": False}))
    assert "4/6" in worked(call("studies")).out
    assert "interrupted" in worked(call("studies")).out
    worked(call("resume", "positions", "--device", "cpu"))
    assert found(study) == before


def test_a_name_without_asking_is_after_what_is_compared(study: Path, text: Path) -> None:
    words = (POSITIONS, "--seeds", "2")
    assert "studies/language-model-position" in worked(compare(text, *words)).out
    assert "it asks the same" in worked(compare(text, *words)).err
    outcome = worked(compare(text, "model.position=none,learned", "--seeds", "2"))
    assert "studies/language-model-position-2" in outcome.out


def test_a_study_is_listed_and_reported(study: Path) -> None:
    listed = worked(call("studies")).out
    for word in ("positions", "compare", "language-model", "6/6", "done"):
        assert word in listed
    (study / "report.html").unlink()
    (study / "table.md").unlink()
    assert worked(call("report", "positions")).out.strip() == "studies/positions/report.html"
    assert (study / "report.html").exists()
    assert (study / "table.md").exists()
    (study / "study.json").write_text("{")
    assert "damaged" in worked(call("studies")).out


def test_a_name_of_both_a_run_and_a_study_must_be_told_apart(study: Path, runs: Path) -> None:
    shutil.copytree(study / "none/seed-0", runs / "positions")
    refused(call("report", "positions"), "run-and-study", str(runs / "positions"), "studies/positions")
    worked(call("report", "studies/positions"))
    worked(call("resume", str(runs / "positions"), "--device", "cpu"))


def test_no_studies_yet() -> None:
    assert "There are no studies in studies yet" in worked(call("studies")).out


def test_a_sweep_over_a_grid(text: Path) -> None:
    words = ("training.learning_rate=1e-3..1e-1:log:2", "training.weight_decay=0,0.1")
    worked(compare(text, *words, "--seeds", "2", "--name", "grid", "--metric", "test.bits_per_byte", kind="sweep"))
    comparison = found(Path("studies/grid"))
    assert len(comparison["arms"]) == 4
    assert comparison["metric"] == "test.bits_per_byte"
    changes = [arm["changes"] for arm in comparison["arms"]]
    assert {change["training.learning_rate"] for change in changes} == {"1e-3", "1e-1"}
    assert {change["training.weight_decay"] for change in changes} == {"0", "0.1"}
    means = [arm["summary"]["mean"] for arm in comparison["arms"][1:]]
    assert means == sorted(means)


def test_an_arm_that_diverges(text: Path) -> None:
    words = ("training.learning_rate=1e-3,1e18", "model.norm=none", "training.clip=0", "--seeds", "2", "--name", "wild")
    outcome = worked(compare(text, *words))
    assert "1e18 diverged in every seed (2 of 2)" in outcome.out
    assert "1e18, seed 0: diverged" in outcome.err
    comparison = found(Path("studies/wild"))
    assert comparison["arms"][1]["diverged"] == [0, 1]
    assert comparison["arms"][1]["values"] == {"0": None, "1": None}
    assert comparison["arms"][0]["summary"]["seeds"] == 2
    assert comparison["status"] == "done"
    before = (Path("studies/wild/1e18/seed-0/run.json")).read_bytes()
    worked(call("resume", "wild", "--device", "cpu"))
    assert Path("studies/wild/1e18/seed-0/run.json").read_bytes() == before, "it is not repeated"
    assert "1e18 diverged" in worked(call("studies")).out


def test_each_arm_gets_its_own_learning_rate(text: Path) -> None:
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
    outcome = worked(compare(text, *words))
    study = Path("studies/tuned")
    tuning = json.loads((study / "study.json").read_text())["tuning"]
    assert tuning["chosen"] == {"learned": "1e-2", "none": "1e-2"}
    assert tuning["found"]["learned"]["1e-6"] > tuning["found"]["learned"]["1e-2"]
    for arm in ("learned", "none"):
        assert RunFolder(study / arm / "seed-0").spec().training.learning_rate == 0.01
        assert RunFolder(study / arm / "tuning/1e-6/seed-1000001").facts()["status"] == "done"
    notes = [note for arm in found(study)["arms"] for note in arm["notes"]]
    assert all(note.startswith("tuned: training.learning_rate=1e-2 (of 1e-6, 1e-2, 1e18; validation.loss") for note in notes)
    assert "each arm has its own best training.learning_rate" in outcome.out
    before = found(study)
    worked(compare(text, *words))
    assert found(study) == before


def test_until_decided(text: Path) -> None:
    growing = ("--until-decided", "--batch", "3", "--max-seeds", "7", "--name", "growing")
    words = ("training.learning_rate=1e-7,3e-2", "training.steps=8", *growing)
    worked(compare(text, *words))
    comparison = found(Path("studies/growing"))
    assert comparison["rule"]["looks"] == [3, 6, 7]
    seeds = comparison["arms"][0]["seeds"]
    assert seeds == list(range(len(seeds)))
    assert len(seeds) in (3, 6, 7)
    word = comparison["arms"][1]["difference"]["word"]
    assert word == "better" if len(seeds) < 7 else word in ("better", "undecided")
    assert "done" in worked(call("studies")).out
    refused(compare(text, *words[:-2], "--seeds", "9", "--name", "growing"), "bad-seeds", "--seeds", "--until-decided")


@pytest.mark.parametrize("currency", ["tokens", "flops", "parameters", "time"])
def test_matched_in_each_currency(text: Path, currency: str) -> None:
    words = ("model.activation=gelu,swiglu", "training.batch=4", "model.position=none", "model.width=32")
    worked(compare(text, *words, "--seeds", "2", "--match", currency, "--name", "fair", "training.steps=12"))
    study = Path("studies/fair")
    comparison = found(study)
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


def test_recipes_as_arms(text: Path) -> None:
    for name, width in (("narrow", 8), ("wide", 16)):
        Path(f"{name}.toml").write_text(f"[model]\nwidth = {width}\n")
    small = [word for word in TINY if not word.startswith("model.width")]
    worked(call("compare", "narrow.toml", "wide.toml", *small, f"data.files={text}", "--seeds", "2", *ALONE))
    comparison = found(Path("studies/narrow-or-wide"))
    assert [arm["name"] for arm in comparison["arms"]] == ["narrow", "wide"]
    assert comparison["recipe"] == "narrow and wide"
    assert "arms of one seed read the same batches in the same order" in comparison["notes"]


def test_side_by_side(text: Path) -> None:
    words = (POSITIONS, f"data.files={text}", "--seeds", "3", "--device", "cpu", "--replicas", "2", "--name", "abreast")
    worked(call("compare", "language-model", *TINY, *words))
    facts = [RunFolder(Path(f"studies/abreast/none/seed-{seed}")).facts() for seed in range(3)]
    assert [fact["status"] for fact in facts] == ["done"] * 3
    assert [len(fact.get("together", [])) for fact in facts[:2]] == [2, 2]


def test_sets_of_replicas_stay_the_same_when_it_goes_on(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the first set is done when the study is stopped; the other does not take a partner from the second set."""
    sets = []
    monkeypatch.setattr(run_queue, "_train", lambda group, device: sets.append([one.run.name for one in group]))
    monkeypatch.setattr(run_queue, "status", lambda run: "done" if run.name == "0" else "absent")
    spec = resolve_spec.spec_of("demo-lm")
    wanted = [run_queue.QueuedRun(RunFolder(Path(str(seed))), "", spec, "", {}, 2, "an arm") for seed in range(4)]
    run_queue.do(wanted, "cpu", "a test")
    assert sets == [["1"], ["2", "3"]]


def test_side_by_side_is_as_alone_nearly(study: Path, text: Path) -> None:
    words = (POSITIONS, f"data.files={text}", "--seeds", "3", "--device", "cpu", "--replicas", "3", "--name", "abreast")
    worked(call("compare", "language-model", *TINY, *words))
    for together, alone in zip(found(Path("studies/abreast"))["arms"], found(study)["arms"], strict=True):
        assert list(together["values"].values()) == pytest.approx(list(alone["values"].values()), abs=1e-3)


# Stopped and continued.


def killed_and_continued(text: Path, chance: int, *how: str) -> dict[str, Any]:
    """What a study found that was killed at a moment of chance and continued, but for its name."""
    folder = Path("studies/killed")
    words = ("language-model", *TINY, f"data.files={text}", POSITIONS, "--seeds", "3", "--name", "killed", *how)
    process = start("compare", *words)
    lines = random.Random(chance).randrange(1, 6 * 6)

    def logged() -> int:
        return sum(path.read_bytes().count(b"\n") for path in folder.glob("*/seed-*/metrics.jsonl"))

    wait_until(lambda: logged() >= lines, process)
    process.send_signal(signal.SIGKILL)
    assert finish(process).code == -signal.SIGKILL
    worked(call("compare", *words))
    return nameless(folder)


def nameless(study: Path) -> dict[str, Any]:
    return {name: value for name, value in found(study).items() if name not in ("name", "command")}


CHANCES = [1, *(pytest.param(chance, marks=pytest.mark.slow) for chance in range(2, 5))]


@pytest.mark.parametrize("chance", CHANCES)
def test_a_kill_at_a_random_moment(study: Path, text: Path, chance: int) -> None:
    assert killed_and_continued(text, chance, *ALONE) == nameless(study)


@pytest.mark.parametrize("chance", CHANCES)
def test_a_kill_of_replicas_at_a_random_moment(study: Path, text: Path, chance: int) -> None:
    how = ("model.dropout=0.2", "--replicas", "3", "--device", "cpu")
    words = ("language-model", *TINY, f"data.files={text}", POSITIONS, "--seeds", "3", "--name", "whole", *how)
    worked(call("compare", *words))
    assert killed_and_continued(text, chance, *how) == nameless(Path("studies/whole"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal(study: Path, text: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int) -> None:
    """It comes in the third of six runs."""
    look, looked = loop._Loop._look, []

    def signalled(self: loop._Loop) -> None:
        look(self)
        looked.append(self.step)
        if looked.count(1) == 3 and self.step == 1:
            signal.raise_signal(number)

    with monkeypatch.context() as patch:
        patch.setattr(loop._Loop, "_look", signalled)
        outcome = compare(text, POSITIONS, "--seeds", "3", "--name", "stopped")
    assert outcome.code == code
    message = outcome.err.splitlines()[-1]
    assert "stopped with 2 of 6 runs done, all saved; continue with: glasshouse resume studies/stopped" in message
    assert "Traceback" not in outcome.err
    assert "interrupted" in worked(call("studies")).out
    worked(call("resume", "studies/stopped", "--device", "cpu"))
    assert found(Path("studies/stopped"))["arms"] == found(study)["arms"]


def test_a_signal_between_two_runs(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, trained = run_queue._train, []

    def signalled(group: Any, device: str) -> None:
        train(group, device)
        trained.append(group)
        if len(trained) == 2:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(run_queue, "_train", signalled)
    outcome = compare(text, POSITIONS, "--seeds", "2", "--name", "stopped")
    assert outcome.code == 143
    assert "stopped with 2 of 4 runs done" in outcome.err


def test_two_at_once(study: Path, text: Path) -> None:
    from glasshouse.studies.study_folder import StudyFolder

    with StudyFolder(study).locked():
        refused(compare(text, POSITIONS, "--seeds", "4", "--name", "positions"), "in-use", "--name")
        refused(call("resume", "positions", "--device", "cpu"), "in-use")
        assert "training" in worked(call("studies")).out
        worked(call("report", "positions"))


def test_the_same_begun_twice_at_once(study: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second did not see the study when it looked first, and finds it when it would make it."""
    before, look, looks = found(study), study_runner._existing, []

    def late(*question: Any) -> Any:
        looks.append(question)
        return (None, "positions") if len(looks) == 1 else look(*question)

    monkeypatch.setattr(study_runner, "_existing", late)
    assert "it asks the same" in worked(compare(text, POSITIONS, "--seeds", "3", "--name", "positions")).err
    assert len(looks) == 2
    assert found(study) == before


# What is refused.


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ((POSITIONS, "--seeds", "1"), ["bad-seeds"]),
        ((), ["nothing-to-compare"]),
        (("model.position=learned",), ["nothing-to-compare"]),
        (("model.position=learned,rotari",), ["unknown-word", "'rotary'"]),
        (("model.positon=learned,none",), ["unknown-field", "'model.positon'"]),
        (("model.heads=2,3",), ["heads-divide-width"]),
        (("model.attention=dot-product,linformer",), ["lacks-capability", "'linformer'"]),
        ((POSITIONS, "--metric", "validation.los"), ["unknown-metric", "'validation.loss'", "test.bits_per_byte"]),
        ((POSITIONS, "--metric", "loss"), ["unknown-metric", "--metric=loss"]),
        ((POSITIONS, "--metric", "validation.accuracy"), ["unknown-metric", "--metric=validation.accuracy"]),
        ((POSITIONS, "--metric", "validation.tokens"), ["unknown-metric"]),
        ((POSITIONS, "--metric", "train.loss"), ["unknown-metric"]),
        ((POSITIONS, "data.validation=0", "--metric", "validation.loss"), ["unknown-metric", "test.loss"]),
        ((POSITIONS, "data.validation=0", "data.test=0"), ["nothing-held-out"]),
        ((POSITIONS, "data.validation=0", "--tune", "training.learning_rate"), ["nothing-held-out", "--tune"]),
        ((POSITIONS, "--tune", "model.width"), ["cannot-tune"]),
        ((POSITIONS, "--match", "beauty"), ["unknown-word", "--match=beauty"]),
        (("model.width=16,32", "--match", "parameters"), ["match-undoes-arms", "model.width"]),
        ((POSITIONS, "--alpha", "0"), ["bad-alpha", "--alpha=0"]),
        ((POSITIONS, "--margin", "-1"), ["bad-margin", "--margin=-1"]),
        ((POSITIONS, "--margin", "nan"), ["bad-margin", "--margin=nan"]),
        ((POSITIONS, "--until-decided", "--batch", "1"), ["bad-looks", "--batch=1"]),
        ((POSITIONS, "--until-decided", "--batch", "0"), ["bad-looks", "--batch=0"]),
        ((POSITIONS, "--until-decided", "--batch", "0", "--max-seeds", "0"), ["bad-looks", "--batch=0"]),
        ((POSITIONS, "--batch", "4"), ["bad-option", "--batch=4", "--until-decided"]),
        ((POSITIONS, "--max-seeds", "9"), ["bad-option", "--max-seeds=9", "--until-decided"]),
        (("training.steps=4,8", "--match", "tokens"), ["match-undoes-arms", "--match=tokens"]),
        (("masked-model",), ["one-task"]),
        ((POSITIONS, "--until-decided", "--max-seeds", "3"), ["bad-looks", "--max-seeds=3"]),
        ((POSITIONS, "--until-decided", "--seeds", "3"), ["bad-seeds", "--seeds", "--until-decided"]),
        ((POSITIONS, "--name", "../up"), ["bad-name", "study's"]),
        ((POSITIONS, "--name", ""), ["bad-name", "study's"]),
        ((POSITIONS, "data.files=nowhere.txt"), ["unreadable-file", "nowhere.txt"]),
        ((POSITIONS, "training.seed=3"), ["pairs-the-arms", "--seeds"]),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_trained(
    text: Path, words: tuple[str, ...], messages: list[str]
) -> None:
    refused(compare(text, *words), *messages)
    assert not Path("studies").exists()


@pytest.mark.parametrize("replicas", ["0", "-1", "many", "²"])
def test_replicas_that_cannot_be(text: Path, replicas: str) -> None:
    words = (*TINY, f"data.files={text}", POSITIONS, "--replicas", replicas, "--device", "cpu")
    refused(call("compare", "language-model", *words), "bad-option", "--replicas=", f"{replicas}")


def test_a_device_that_is_not_there(text: Path) -> None:
    refused(
        call("compare", "language-model", *TINY, f"data.files={text}", POSITIONS, "--device", "abacus"), "unknown-device"
    )


def test_a_sweep_needs_values(text: Path) -> None:
    Path("a.toml").write_text("[model]\nwidth = 8\n")
    refused(compare(text, "a.toml", kind="sweep"), "nothing-to-compare")
    refused(compare(text, "training.learning_rate=1e-4..1e-2", kind="sweep"), "bad-range")


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (("model.position=learned,rotary",), ["its arms are learned, none, not learned, rotary"]),
        ((POSITIONS, "--metric", "test.loss"), ["its metric is None, not test.loss"]),
        ((POSITIONS, "--match", "flops"), ["its match is steps, not flops"]),
        (
            (POSITIONS, "training.steps=7"),
            ["the spec of its arm 'learned' is another", "training.steps=4, not training.steps=7"],
        ),
        ((POSITIONS, "--until-decided"), ["its batch is 0, not 4"]),
    ],
)
def test_a_name_that_another_study_has(study: Path, text: Path, words: tuple[str, ...], messages: list[str]) -> None:
    refused(compare(text, *words, "--name", "positions"), "study-exists", "studies/positions", "--name", *messages)


def test_a_folder_that_is_no_study(text: Path) -> None:
    Path("studies/mine").mkdir(parents=True)
    refused(compare(text, POSITIONS, "--name", "mine"), "study-exists", "studies/mine")


def test_a_study_or_run_that_is_not_there(study: Path) -> None:
    refused(call("report", "position"), "unknown-run", "'position'")
    refused(call("resume", "nothing"), "unknown-run", "'nothing'")


def test_text_that_changed_meanwhile(study: Path, text: Path) -> None:
    mine = Path("mine.txt")
    shutil.copy(text, mine)
    words = ("language-model", *TINY, f"data.files={mine}", POSITIONS, "--name", "changed", *ALONE)
    worked(call("compare", *words, "--seeds", "2"))
    mine.write_text(text.read_text()[::-1])
    refused(call("compare", *words, "--seeds", "3"), "data-changed", "seed-2")


def test_from_python(study: Path, text: Path) -> None:
    words = ("language-model", *TINY, f"data.files={text}", POSITIONS)
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


def test_what_is_measured_is_measured_once(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Precision, threads and plans are settled with the study; no run measures them again."""
    made = []
    make = cost_plan.make
    monkeypatch.setattr(study_planning.planning, "make", lambda job: made.append(job) or make(job))
    words = [word for word in TINY if not word.startswith(("training.precision", "training.threads"))]
    worked(
        call("compare", "language-model", *words, f"data.files={text}", POSITIONS, "--seeds", "2", "--name", "auto", *ALONE)
    )
    assert len(made) == 2
    specs = [RunFolder(path.parent).spec().training for path in Path("studies/auto").glob("*/seed-*/spec.toml")]
    assert len({(spec.precision, spec.threads) for spec in specs}) == 1
    assert specs[0].precision != "auto"
    assert specs[0].threads > 0
