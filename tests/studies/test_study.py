"""The study folder: written and read again, found and listed, locked; and what is said of one that cannot be read."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as rules
from hypothesis import strategies as st

from glasshouse.metrics.verdicts import VerdictRule
from glasshouse.records import run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs import spec_files
from glasshouse.studies import arms, run_queue, study_folder, study_results, tuning
from glasshouse.studies.run_queue import QueuedRun
from glasshouse.studies.study_folder import Design, PlannedArm, Question, StudyFolder, Tuning
from tests.refusals import refused

PLAN = {"parameters": {"all": 10}, "steps": 20, "tokens": 1280, "flops": 5, "seconds": 1.0, "memory": {"weights": 40}}


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLASSHOUSE_STUDIES", raising=False)


def planned(*words: str) -> tuple[PlannedArm, ...]:
    """Arms as they are before their runs."""
    return tuple(
        PlannedArm(v.name, v.folder, v.recipe, v.changes, spec_files.to_toml(v.spec), v.spec, {"plan": PLAN}, 1, ("a note",))
        for v in arms.variants(arms.read(("demo-lm", *words)))
    )


def design(*words: str, **changes: object) -> Design:
    question = Question("compare", ("demo-lm", *words))
    made = Design(1.7e9, question, planned(*words), (0, 1, 2), "validation.loss", VerdictRule())
    return replace(made, **changes)  # type: ignore[arg-type]


def finish(run: RunFolder, spec: object, value: float | None, status: str = "done") -> None:
    """A run folder as training leaves it."""
    outcome = {} if value is None else {"outcome": {"seconds": 2.0, "memory": 100, "validation": {"loss": value}}}
    made = run_folder.make(run.path, spec, "demo-lm", plan=PLAN, **outcome)  # type: ignore[arg-type]
    made.record(status=status)


@rules(max_examples=20, deadline=None)
@given(
    seeds=st.lists(st.integers(0, 10**6), min_size=2, max_size=5, unique=True),
    margin=st.none() | st.floats(1e-6, 10),
    looks=st.sets(st.integers(2, 64), max_size=3).map(sorted),
    finished=st.booleans(),
)
def test_a_design_is_read_as_it_was_written(
    seeds: list[int], margin: float | None, looks: list[int], finished: bool
) -> None:
    tuned = Tuning("training.learning_rate", {"layer": ["0.1", "0.3"]}, (5, 6), {"layer": {"0.1": 2.0}}, {"layer": "0.1"})
    made = design(
        "model.norm=layer,rms",
        seeds=tuple(seeds),
        rule=VerdictRule(margin=margin, looks=tuple(looks)),
        tuning=tuned,
        step_seconds={"layer": [0.1, 0.2]},
        judged=(2,),
        notes=("one", "two"),
        finished=finished,
        replicas="off",
    )
    assert Design.from_json(json.loads(json.dumps(made.to_json())), "here") == made


def test_a_study_is_found_by_name_and_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("unknown-study"):
        study_folder.find("norms")
    made = study_folder.create(design("model.norm=layer,rms"), "norms")
    study_folder.create(design("model.norm=layer,rms", created=1.6e9), "earlier")
    assert made.path == Path("studies/norms")
    assert study_folder.find("norms") == study_folder.find("studies/norms") == made
    assert [each.name for each in study_folder.every()] == ["earlier", "norms"]
    with refused("unknown-study", "'norms'"):
        study_folder.find("norm")
    with pytest.raises(FileExistsError):
        study_folder.create(design("model.norm=layer,rms"), "norms")
    with refused("bad-name", "study's"):
        study_folder.create(design("model.norm=layer,rms"), "../norms")
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "elsewhere"))
    assert study_folder.every() == []
    assert study_folder.find("studies/norms").design() == made.design()


def test_the_command_line_makes_it_again() -> None:
    made = design("model.norm=layer,rms", "data.files=[my text.txt]", seeds=(0, 1, 2))
    assert made.command("x") == (
        "glasshouse compare demo-lm model.norm=layer,rms 'data.files=[my text.txt]' --seeds 3 --name x"
    )
    question = Question("compare", ("a", "b"), "test.loss", "flops", "training.clip=1,2", 0.01, 0.5, 4, 32)
    assert replace(made, question=question).command("x") == (
        "glasshouse compare a b --metric test.loss --match flops --tune training.clip=1,2 --alpha 0.01 --margin 0.5 "
        "--until-decided --batch 4 --max-seeds 32 --name x"
    )
    precise = replace(question, alpha=0.0123456789, margin=1e-7 / 3)
    again = replace(made, question=precise, replicas="off").command("x")
    assert "--alpha 0.0123456789 --margin 3.3333333333333334e-08 " in again
    assert "--replicas off --name x" in again
    assert "--seeds 3,5" in replace(made, seeds=(3, 5)).command("x")


def test_looks_are_fixed_beforehand() -> None:
    assert Question("compare", (), batch=4, most=16).looks == (4, 8, 12, 16)
    assert Question("compare", (), batch=4, most=10).looks == (4, 8, 10)
    assert Question("compare", (), batch=4, most=4).looks == (4,)
    assert Question("compare", ()).looks == ()


def test_a_study_is_done_training_or_interrupted() -> None:
    made = study_folder.create(design("model.norm=layer,rms"), "norms")
    assert made.status() == "interrupted"
    with made.locked():
        assert made.status() == "training"
        with refused("in-use"), StudyFolder(made.path).locked():
            pass
    made.write(replace(made.design(), finished=True))
    assert made.status() == "done"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ("not-a-study",)),
        ("[]", ("not-a-study",)),
        ("{}", ("not-a-study",)),
        ('{"format": 99}', ("newer-format",)),
        ('{"format": "x"}', ("not-a-study",)),
    ],
)
def test_a_damaged_study_says_so(content: str, message: str) -> None:
    made = study_folder.create(design("model.norm=layer,rms"), "norms")
    (made.path / "study.json").write_text(content)
    with refused(*message) as caught:
        made.design()
    assert "\n" not in str(caught.value)
    assert study_folder.every() == [made], "it is listed all the same"


def test_values_come_from_the_folder_alone() -> None:
    made = study_folder.create(design("model.norm=layer,rms"), "norms")
    layer, rms = made.design().arms
    for seed, value in ((0, 3.0), (1, 3.5), (2, 4.0)):
        finish(made.run(layer, seed), layer.spec, value)
    finish(made.run(rms, 0), rms.spec, 2.0)
    finish(made.run(rms, 1), rms.spec, None, status="failed")
    finish(made.run(rms, 2), rms.spec, None, status="training")
    found = study_results.values(made, made.design())
    assert found["layer"] == {0: 3.0, 1: 3.5, 2: 4.0}
    assert found["rms"].keys() == {0, 1}
    assert found["rms"][0] == 2.0
    assert math.isnan(found["rms"][1])
    with refused("unknown-metric", "test.bleu", "validation.loss"):
        study_results.value(made.run(layer, 0), "test.bleu")


def test_a_study_of_an_earlier_release_is_read() -> None:
    table = json.loads(json.dumps(design("model.norm=layer,rms").to_json()))
    del table["replicas"], table["arms"][0]["step_flops"], table["arms"][1]["step_flops"]
    assert Design.from_json(table, "here") == design("model.norm=layer,rms")


def test_costs_are_of_the_steps_taken() -> None:
    layer, rms = design("model.norm=layer,rms").arms
    counted = (replace(layer, step_flops=7), replace(rms, step_flops=7))
    made = study_folder.create(design("model.norm=layer,rms", arms=counted), "norms")
    for seed, stopped in enumerate((None, 8, 14)):
        finish(made.run(layer, seed), layer.spec, 3.0)
        finish(made.run(rms, seed), rms.spec, 3.0)
        if stopped:
            made.run(rms, seed).record(stopped=stopped)
    made.run(rms, 0).record(outcome={"validation": {"loss": 3.0}})
    whole, early = study_results.compare(made).arms
    assert (whole.steps, whole.tokens, whole.flops, whole.notes) == (20, 1280, 140, ("a note",))
    assert (early.steps, early.tokens, early.flops) == (14, 896, 98)
    assert early.notes[1].startswith("stopped early after 8 to 14 of 20 steps in 2 of 3 seeds")
    assert early.seconds == 2.0, "the mean of those that are known"


def test_an_arm_that_diverged_has_a_clear_line() -> None:
    made = study_folder.create(design("model.norm=layer,rms"), "norms")
    layer, rms = made.design().arms
    for seed in range(3):
        finish(made.run(layer, seed), layer.spec, 3.0 + 0.1 * seed)
        finish(made.run(rms, seed), rms.spec, None, status="failed")
    comparison = study_results.write(made)
    assert study_results.sentences(comparison) == {"rms": "rms diverged in every seed (3 of 3): its loss was not finite"}
    assert comparison.arms[1].diverged == (0, 1, 2)
    assert "NaN" not in (made.path / "comparison.json").read_text()
    assert "diverged" in made.report_file.read_text()
    assert "diverged" in (made.path / "table.md").read_text()


def test_a_first_arm_that_diverged_leaves_nothing_to_compare_with() -> None:
    made = study_folder.create(design("model.norm=layer,rms"), "norms")
    layer, rms = made.design().arms
    for seed in range(3):
        finish(made.run(layer, seed), layer.spec, None, status="failed")
        finish(made.run(rms, seed), rms.spec, 3.0 + 0.1 * seed)
    (sentence,) = study_results.sentences(study_results.write(made)).values()
    assert "layer diverged in every seed" in sentence
    assert "nothing to be compared with" in sentence


def test_a_study_that_has_not_begun_can_be_looked_at() -> None:
    made = study_folder.create(design("model.norm=layer,rms"), "norms")
    comparison = study_results.write(made)
    assert comparison.status == "interrupted"
    assert all(arm.summary is None for arm in comparison.arms)


def test_a_sweep_lists_its_arms_best_first_after_the_first() -> None:
    question = Question("sweep", ("demo-lm", "model.layers=1..4"))
    made = study_folder.create(design("model.layers=1..4", question=question), "layers")
    for arm, value in zip(made.design().arms, (3.0, 4.0, 1.0, 2.0), strict=True):
        for seed in range(3):
            finish(made.run(arm, seed), arm.spec, value + 0.01 * seed)
    comparison = study_results.compare(made)
    assert [arm.name for arm in comparison.arms] == ["1", "3", "4", "2"]
    assert any("the best mean is that of 3" in note for note in comparison.notes)


def test_side_by_side_are_runs_that_differ_in_seeds_and_rates() -> None:
    made = [
        QueuedRun(
            RunFolder(Path(f"{v.folder}-{seed}")),
            "",
            replace(v.spec, training=replace(v.spec.training, seed=seed)),
            "",
            {},
            3,
        )
        for seed in range(4)
        for v in arms.variants(arms.read(("demo-lm", "model.norm=layer,rms", "training.learning_rate=0.1,0.2")))
    ]
    made = [replace(one, arm=one.spec.model.norm) for one in made]
    groups = run_queue._groups(made)
    assert sorted(map(len, groups)) == [2, 2, 3, 3, 3, 3]
    assert all(len({one.spec.model.norm for one in group}) == 1 for group in groups)
    alone = [replace(one, replicas=1) for one in made]
    assert run_queue._groups(alone) == [[one] for one in alone], "one after another, in the order asked for"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("model.width", ("cannot-tune", "training.learning_rate")),
        ("training.epochs=1,2", ("cannot-tune",)),
        ("model.norm", ("cannot-tune",)),
        ("training.learning_rate=1e-3", ("cannot-tune",)),
        ("training.warmup=0.1,2", ("out-of-range",)),
        ("training.label_smoothing", ("cannot-tune",)),
        ("training.weight_decay=0.1,0.10", ("same-arm",)),
    ],
)
def test_tuning_that_cannot_be(word: str, message: str) -> None:
    variants = arms.variants(arms.read(("demo-lm", "model.norm=layer,rms")))
    with refused(*message):
        tuning.asked(word, variants, (0, 1))


def test_tuning_what_is_compared_is_refused() -> None:
    variants = arms.variants(arms.read(("demo-lm", "training.learning_rate=0.1,0.2")))
    with refused("cannot-tune"):
        tuning.asked("training.learning_rate", variants, (0, 1))


def test_a_ladder_stands_around_each_arms_own_value() -> None:
    variants = arms.variants(arms.read(("demo-lm", "characters")))
    found = tuning.asked("training.learning_rate", variants, (0, 1))
    assert found is not None
    assert found.values["demo-lm"] == ["0.000889", "0.00267", "0.008", "0.024", "0.072"]
    assert found.values["characters"] != found.values["demo-lm"]
    assert not set(found.seeds) & {0, 1}
    with refused("seed-used-in-tuning"):
        tuning.asked("training.learning_rate", variants, (0, tuning.FIRST_SEED))


def test_a_ladder_has_no_rung_that_the_field_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    variants = arms.variants(arms.read(("demo-lm", "training.warmup=0.2", "model.norm=layer,rms")))
    found = tuning.asked("training.warmup", variants, (0, 1))
    assert found is not None
    assert found.values["layer"] == ["0.0222", "0.0667", "0.2", "0.6"]
    monkeypatch.setattr(tuning, "_possible", lambda field, value, variant: value == "0.2")
    with refused("cannot-tune", "--tune", "training.warmup="):
        tuning.asked("training.warmup", variants, (0, 1))


@pytest.mark.parametrize(
    ("means", "best", "words"),
    [
        ({"0.1": 3.0, "0.3": 2.0, "0.9": 4.0}, "0.3", ""),
        ({"0.1": 1.0, "0.3": 2.0, "0.9": 4.0}, "0.1", "edge"),
        ({"0.1": None, "0.3": 2.0, "0.9": None}, "0.3", ""),
        ({"0.1": 3.0, "0.3": 2.0, "0.9": None}, "0.3", ""),
        ({"0.1": None, "0.3": None, "0.9": None}, "0.008", "diverged with every value"),
    ],
)
def test_the_best_value_is_chosen(means: dict[str, float | None], best: str, words: str) -> None:
    arm = planned("model.norm=layer,rms")[0]
    tuned = Tuning("training.learning_rate", {arm.name: list(means)}, (5, 6))
    found, note = tuning._best(arm, tuned, means, "validation.loss", higher=False)
    assert found == best
    assert words in note
    assert ("edge" in note) == (words == "edge")
