"""Tuning: which fields and values are tried, and which value is chosen."""

import pytest

from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.specs.spec import Spec
from glasshouse.studies import arms, tuning
from glasshouse.studies.study_folder import FIRST_TUNING_SEED, Tuning
from tests.refusals import refused
from tests.studies.example_studies import planned_arms


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("model.width", (SpecError, "training.learning_rate")),
        ("training.epochs=1,2", (SpecError,)),
        ("model.norm", (SpecError,)),
        ("training.learning_rate=1e-3", (SpecError,)),
        ("training.warmup=0.1,2", (GlasshouseError,)),
        ("training.label_smoothing", (SpecError,)),
        ("training.weight_decay=0.1,0.10", (SpecError,)),
    ],
)
def test_impossible_tuning_is_refused(option: str, error: tuple[str, ...]) -> None:
    variants = arms.expand(arms.parse(("demo-lm", "model.norm=layer,rms")))
    with refused(*error):
        tuning.parse(option, variants, (0, 1))


def test_tuning_of_the_field_that_varies_is_refused() -> None:
    variants = arms.expand(arms.parse(("demo-lm", "training.learning_rate=0.1,0.2")))
    with refused(SpecError):
        tuning.parse("training.learning_rate", variants, (0, 1))


def test_default_values_are_around_each_arms_own_value() -> None:
    variants = arms.expand(arms.parse(("demo-lm", "characters")))
    plan = tuning.parse("training.learning_rate", variants, (0, 1))
    assert plan is not None
    assert plan.values["demo-lm"] == ["0.000889", "0.00267", "0.008", "0.024", "0.072"]
    assert plan.values["characters"] != plan.values["demo-lm"]
    assert not set(plan.seeds) & {0, 1}
    with refused(SpecError):
        tuning.parse("training.learning_rate", variants, (0, FIRST_TUNING_SEED))


def test_default_values_outside_the_fields_range_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    variants = arms.expand(arms.parse(("demo-lm", "training.warmup=0.2", "model.norm=layer,rms")))
    plan = tuning.parse("training.warmup", variants, (0, 1))
    assert plan is not None
    assert plan.values["layer"] == ["0.0222", "0.0667", "0.2", "0.6"]

    def only_its_own(spec: Spec, changes: list[str]) -> Spec:
        if changes != ["training.warmup=0.2"]:
            raise SpecError("is not allowed")
        return spec

    monkeypatch.setattr(tuning.spec_files, "override", only_its_own)
    with refused(SpecError, "--tune", "training.warmup="):
        tuning.parse("training.warmup", variants, (0, 1))


@pytest.mark.parametrize(
    ("means", "best", "in_note"),
    [
        ({"0.1": 3.0, "0.3": 2.0, "0.9": 4.0}, "0.3", ""),
        ({"0.1": 1.0, "0.3": 2.0, "0.9": 4.0}, "0.1", "edge"),
        ({"0.1": None, "0.3": 2.0, "0.9": None}, "0.3", ""),
        ({"0.1": 3.0, "0.3": 2.0, "0.9": None}, "0.3", ""),
        ({"0.1": None, "0.3": None, "0.9": None}, "0.008", "diverged with every value"),
    ],
)
def test_the_best_value_is_chosen(means: dict[str, float | None], best: str, in_note: str) -> None:
    arm = planned_arms("model.norm=layer,rms")[0]
    plan = Tuning("training.learning_rate", {arm.name: list(means)}, (5, 6))
    chosen, note = tuning._choose_best(arm, plan, means, "validation.loss", higher=False)
    assert chosen == best
    assert in_note in note
    assert ("edge" in note) == (in_note == "edge")
