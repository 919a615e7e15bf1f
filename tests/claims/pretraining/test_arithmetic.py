"""The experiment of the claims about verbal arithmetic: its plans, its data, and the values of its opponents."""

from types import SimpleNamespace

import pytest

from glasshouse.claims.bench import Bench
from glasshouse.claims.pretraining import arithmetic
from glasshouse.claims.pretraining.arithmetic import FROZEN, FULL, RANDOM_FROZEN, RECIPE, TUNED
from glasshouse.results.claim import Series

COURSE = arithmetic.course_experiment({FULL: "92"}, recipe=(FULL, FROZEN), tuned=(FULL, RANDOM_FROZEN))
GENERATED = arithmetic.generated_experiment(FULL)


def test_every_seed_starts_from_its_own_pretraining_and_only_the_tuned_study_is_tuned():
    pretraining, recipe, tuned = COURSE.plans
    assert pretraining.words == ("course-pretrained", "course-random")
    assert "training.learning_rate=0" in pretraining.recipes["course-random"]
    assert recipe.recipes["course-frozen"][1:] == (
        "data.source=course-arithmetic",
        "training.start_from={pretrained}",
        "training.freeze=backbone",
    )
    assert "training.start_from={random}" in tuned.recipes["course-random-frozen"]
    assert (recipe.tune, tuned.tune) == (None, arithmetic.TUNE)
    assert {plan.most_seeds for plan in COURSE.plans} == {0}
    assert {plan.most_seeds for plan in GENERATED.plans} == {arithmetic.STAND_IN_SEEDS}


def test_one_file_of_a_recipe_never_replaces_another_one():
    contents: dict[str, set[tuple[str, ...]]] = {}
    for plan in (*COURSE.plans, *GENERATED.plans):
        for name, words in plan.recipes.items():
            contents.setdefault(name, set()).add(words)
    assert len(contents) == 8
    assert all(len(written) == 1 for written in contents.values())


def test_quantities_have_the_recalls_of_the_tuned_study_and_the_opponents():
    assert COURSE.quantities[COURSE.quantity(RECIPE, FULL)].reported == "92"
    assert COURSE.quantity(TUNED, FULL, "zero") in COURSE.quantities
    assert COURSE.quantity(RECIPE, FULL, "zero") not in COURSE.quantities
    assert {COURSE.opponent(name) for name in ("majority", "linear")} <= set(COURSE.quantities)
    assert all(quantity.label.startswith("stand-in: ") for quantity in GENERATED.quantities.values())
    assert not set(COURSE.quantities) & set(GENERATED.quantities)
    assert all(quantity.per == "pretraining" for quantity in COURSE.quantities.values())


@pytest.mark.parametrize(
    ("present", "quick", "expected"),
    [(True, False, [COURSE, GENERATED]), (True, True, [COURSE]), (False, False, [GENERATED]), (False, True, [GENERATED])],
)
def test_an_experiment_without_its_data_is_left_out(present, quick, expected):
    bench = SimpleNamespace(has=lambda *sources: present or not sources[0].startswith("course"), quick=quick)
    assert arithmetic.available(bench, COURSE, GENERATED) == expected


def test_the_courses_test_file_is_read_with_its_labels(course_files):
    test = arithmetic.labelled("course-arithmetic", "test")
    assert len(test) == 160
    assert ("seven minus nine", "negative") in [
        row for split in ("train", "validation", "test") for row in arithmetic.labelled("course-arithmetic", split)
    ]


def test_opponents_have_the_same_items_in_every_unit(tmp_path):
    bench = Bench(tmp_path, {}, first_seed=7, seeds=2)
    values = GENERATED._opponents(bench, [7, 8])
    majority = values["generated/majority"]
    assert list(majority.values) == [7, 8]
    assert majority.items[7] == majority.items[8]
    assert majority.values[7] == pytest.approx(sum(majority.items[7]) / 160)
    assert values["generated/linear"].values[8] > majority.values[8]
    assert arithmetic.constant([1.0, 0.0], [3]) == Series({3: 0.5}, {3: (1.0, 0.0)})


def test_parts_decide_on_the_courses_data_and_the_stand_in_is_shown_beside():
    judged = arithmetic.judged(COURSE, GENERATED)
    assert [(experiment.key, setting, decides) for experiment, setting, _, decides in judged] == [
        ("course", RECIPE, True),
        ("course", TUNED, True),
        ("generated", RECIPE, False),
    ]
    assert len({where for _, _, where, _ in judged}) == 3
