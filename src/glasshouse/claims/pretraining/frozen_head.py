"""Claim: full fine-tuning of a pretrained encoder is more accurate than a head on the frozen encoder, and slower."""

from collections.abc import Sequence
from typing import ClassVar

from glasshouse.claims import margins
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.pretraining import arithmetic
from glasshouse.claims.pretraining.arithmetic import FROZEN, FULL, LINEAR, RANDOM_FROZEN, Experiment, Way, more_accurate
from glasshouse.claims.rules import lower
from glasshouse.results.claim import Part
from glasshouse.training.warm_start import SEED

NAMES = (FULL, FROZEN, RANDOM_FROZEN)
COURSE = arithmetic.course_experiment({FULL: "92", FROZEN: "74"}, recipe=NAMES, tuned=NAMES)
GENERATED = arithmetic.generated_experiment(*NAMES)
# Values of training.freeze whose steps are timed. The weights do not matter to the time, so one pretraining is enough.
TIMED = {FULL: "none", FROZEN: "backbone"}
BATCHES = {FULL: "15", FROZEN: "60"}
STEP_SHARE = "speed/share"


def accuracy_parts(experiment: Experiment, setting: str, where: str, decides: bool) -> tuple[Part, ...]:
    """The parts about accuracy under one setting."""
    full, frozen, random_frozen = (experiment.quantity(setting, name) for name in NAMES)
    linear = experiment.opponent(LINEAR)
    return (
        more_accurate(full, frozen, "full fine-tuning beats a head on the frozen encoder", where, decides),
        more_accurate(full, random_frozen, "full fine-tuning beats a head on a random frozen encoder", where, decides),
        more_accurate(frozen, random_frozen, "a frozen pretrained encoder beats a frozen random one", where, decides=False),
        more_accurate(full, linear, "full fine-tuning beats a linear model over word pairs", where, decides=False),
    )


class FrozenHead(Claim):
    """Trains everything and the head alone, from pretrained and from random encoders, and times the steps."""

    group = GROUPS[5]
    statement = "Full fine-tuning of a pretrained encoder is more accurate than a head on the frozen encoder, and slower."
    source = "course work on fine-tuning: classes of verbal arithmetic from a pretrained encoder"
    reported = "92 % full against 74 % frozen; 15 against 60 batches/s; always answering positive: 69.4 % of the test file"
    why = (
        "A frozen encoder offers only what pretraining happened to find, while full fine-tuning can change all of it. "
        "Without gradients for the encoder a step has less to compute."
    )
    procedure = (
        "Every seed pretrains its own small encoder on sentences about numbers, and fine-tunes from it to the sign of an "
        "expression, once all of it and once only the head; the same head is also trained on an encoder with random "
        "weights. Accuracies on the course's test file are compared per pretraining and expression, with the recipe's "
        "learning rate and with the best of several for each way, chosen on validation expressions. Steps of both ways are "
        "timed separately, in rounds; a difference counts if it is above one point of accuracy, or 2 % of the time of a "
        "step."
    )
    would_change = (
        "An encoder that was pretrained on far more text, whose frozen features might suffice; or a head with hidden layers."
    )
    studies = (
        *COURSE.plans,
        *GENERATED.plans,
        StudyPlan(
            "speed",
            tuple(f"speed-{name}" for name in TIMED),
            recipes={
                f"speed-{name}": arithmetic.fine_tuning_words(GENERATED.source, Way("", "start", freeze))
                for name, freeze in TIMED.items()
            },
            quick=arithmetic.QUICK_FINETUNE,
            timed_only=True,
        ),
    )
    quantities: ClassVar = {
        **COURSE.quantities,
        STEP_SHARE: Quantity(
            "time of a step with the frozen encoder, as a share of a step of full fine-tuning",
            "seconds per step",
            "%",
            100.0,
            reported="25",
            per="round of timing",
        ),
        **{
            f"speed/{name}": Quantity(
                f"speed of training, {arithmetic.WAYS[name].label}",
                "batches per second",
                "batches/s",
                higher_is_better=True,
                reported=reported,
                per="round of timing",
            )
            for name, reported in BATCHES.items()
        },
        **GENERATED.quantities,
    }
    parts = (
        *(part for where in arithmetic.judged(COURSE, GENERATED) for part in accuracy_parts(*where)),
        lower(STEP_SHARE, 1.0, margins.STEP_TIME, "a step with the frozen encoder takes less time"),
    )

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        facts, start = [], ""
        for experiment in arithmetic.available(bench, COURSE, GENERATED):
            pretraining = experiment.pretrain(bench)
            measured, studies = experiment.fine_tune(bench, pretraining)
            series |= measured
            facts += bench.facts(pretraining, *studies)
            start = bench.starts(pretraining, experiment.arm(arithmetic.PRETRAINED))
        seconds = bench.step_seconds("speed", start=start.replace(SEED, str(bench.first_seed)))
        series |= speeds(seconds[f"speed-{FULL}"], seconds[f"speed-{FROZEN}"])
        return Measurements(
            series,
            tuple(facts),
            notes=(
                "the reported 74 % of the frozen encoder is about the accuracy of always answering positive on the training "
                "file (74.7 %)",
                "speeds are of one run at a time, without evaluation; they and their ratio depend on the machine",
            ),
        )


def speeds(full: Sequence[float], frozen: Sequence[float]) -> dict[str, Series]:
    """The series of the speeds, from the seconds per step in each round."""
    rounds = list(zip(full, frozen, strict=True))
    return {
        STEP_SHARE: Series({number: of_frozen / of_full for number, (of_full, of_frozen) in enumerate(rounds)}),
        f"speed/{FULL}": Series({number: 1 / of_full for number, (of_full, _) in enumerate(rounds)}),
        f"speed/{FROZEN}": Series({number: 1 / of_frozen for number, (_, of_frozen) in enumerate(rounds)}),
    }
