"""The control of the claims about pretraining: comparisons whose answers are known beforehand."""

from dataclasses import replace
from typing import ClassVar

from glasshouse.claims import control_series
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity
from glasshouse.claims.pretraining import arithmetic
from glasshouse.claims.pretraining.arithmetic import (
    FULL,
    LINEAR,
    MAJORITY,
    RANDOM_FROZEN,
    RECIPE,
    SETTINGS,
    TOLERANCE,
    more_accurate,
)
from glasshouse.claims.rules import equal, higher

# The seeds of the second experiment are those of the first plus this number.
OFFSET = 500
FIRST = replace(arithmetic.course_experiment({}, recipe=(FULL, RANDOM_FROZEN)), key="first")
SECOND = replace(FIRST, key="second", prefix="again: ", seed_offset=OFFSET)
A, B = FIRST.quantity(RECIPE, FULL), SECOND.quantity(RECIPE, FULL)
RANDOM_HEAD, MAJORITY_CLASS = FIRST.quantity(RECIPE, RANDOM_FROZEN), FIRST.opponent(MAJORITY)
# What is added to every expression of the second experiment, and the answer that a sound trial gives.
LARGE, SMALL = 2 * TOLERANCE, TOLERANCE / 4
PLANTED = {"planted/large": LARGE, "planted/small": SMALL}


class PretrainingControl(Claim):
    """Trains the same thing twice under two names, and adds effects of known size to one of them."""

    group = GROUPS[5]
    statement = (
        f"A sound trial finds no difference between two names for one fine-tuning, finds a planted gain of {100 * LARGE:g} "
        f"points, calls a planted gain of {100 * SMALL:g} points too small to matter, and finds a pretrained encoder better "
        "than always answering the commonest class."
    )
    source = "a control of this group"
    reported = "known beforehand"
    why = "A trial that finds differences where there are none, or misses a planted one, would also misjudge the claims."
    procedure = (
        "Encoders are pretrained and fully fine-tuned twice with different seeds under two names, exactly as in the claims "
        f"of this group, and compared per pretraining and expression with a margin of {100 * TOLERANCE:g} points. To the "
        "second, twice and a quarter of the margin are added. The commonest class, a linear model over word pairs and a "
        "head on a random frozen encoder are shown beside them."
    )
    would_change = "Nothing should: another answer would mean that the trials of this group cannot be trusted."
    needs = FIRST.needs
    # The first trial, with 16 pretrainings, could not show that two sets of them are equally accurate on 160 expressions.
    looks = (32,)
    is_control = True
    studies = (*FIRST.plans, *SECOND.plans)
    quantities: ClassVar = {
        **FIRST.quantities,
        **{key: SECOND.quantities[key] for key in (B, SECOND.quantity(RECIPE, RANDOM_FROZEN))},
        **{
            key: Quantity(
                f"again, plus {100 * gain:g} points",
                "test.accuracy",
                "%",
                100.0,
                higher_is_better=True,
                per="pretraining",
            )
            for key, gain in PLANTED.items()
        },
    }
    parts = (
        equal(B, to=A, margin=TOLERANCE, name="two names for one fine-tuning are equal", items=True),
        higher("planted/large", than=A, margin=TOLERANCE, name="a large planted gain is found", items=True),
        equal("planted/small", to=A, margin=TOLERANCE, name="a small planted gain is too small to matter", items=True),
        more_accurate(A, MAJORITY_CLASS, "full fine-tuning beats the commonest class", ""),
        more_accurate(RANDOM_HEAD, MAJORITY_CLASS, "a random frozen encoder beats the commonest class", "", decides=False),
        more_accurate(
            FIRST.opponent(LINEAR),
            MAJORITY_CLASS,
            "a linear model over word pairs beats the commonest class",
            "",
            decides=False,
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        first, second = FIRST.pretrain(bench), SECOND.pretrain(bench)
        series, studies = FIRST.fine_tune(bench, first)
        again, other_studies = SECOND.fine_tune(bench, second)
        shifted = {
            key: control_series.shift_units(values, -OFFSET) for key, values in again.items() if key in self.quantities
        }
        planted = {key: control_series.plant(shifted[B], gain) for key, gain in PLANTED.items()}
        return Measurements(
            {**series, **shifted, **planted},
            tuple(bench.facts(first, *studies, second, *other_studies)),
            notes=(f"all accuracies are {SETTINGS[RECIPE]}",),
        )
