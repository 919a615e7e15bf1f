"""Claim: the loss curves of the Pig Latin translators have the reported order, by hidden size and by size of the data."""

import statistics
from collections.abc import Mapping, Sequence
from typing import ClassVar

from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import lower
from glasshouse.claims.translation import course_translator
from glasshouse.claims.translation.course_translator import COURSE_LISTS, MARGIN, STAND_INS
from glasshouse.claims.translation.nmt import REPORTED

Setting = tuple[int, str]  # (hidden size, list of words)
Curve = Sequence[tuple[float, float]]  # (step, validation loss)
# (the arm that is reported to be lower, the arm that is reported to be higher)
ORDERS: dict[str, tuple[Setting, Setting]] = {
    "h 64 below h 32, small list": ((64, "small"), (32, "small")),
    "h 64 below h 32, large list": ((64, "large"), (32, "large")),
    "small list below large, h 32": ((32, "small"), (32, "large")),
    "small list below large, h 64": ((64, "small"), (64, "large")),
}
# Study -> (what it is, its lists of words). The first decides.
COURSE, STAND_IN = "course", "stand-in"
STUDIES = {COURSE: ("", COURSE_LISTS), STAND_IN: ("stand-in: generated word lists", STAND_INS)}


class NMTLossPlots(Claim):
    """Trains every hidden size with every list of words, and keeps the loss curves."""

    group = GROUPS[4]
    statement = "By validation loss, hidden size 64 lies below 32, and the small list of words below the large one."
    source = "course work on translation: figures of the loss by hidden size and by size of the data"
    reported = "lowest losses, small and large: h 32 0.799 and 1.156; h 64 0.478 and 0.569 (the curves as figures only)"
    why = (
        "A wider model learns the rule in fewer steps. That less data should be better is surprising: the two lists may "
        "have been scored on different words, of which those of the small list were easier."
    )
    procedure = (
        "The course's encoder-decoder is trained with hidden sizes 32 and 64 on the course's small and large list, at the "
        f"course's learning rate and with equally many steps ({course_translator.STEPS:,} of 64 words, which are 100 epochs "
        "of the small list). The figures show four orders: 64 below 32 on each list, and the small list below the large one "
        "at each hidden size. Each order is judged by the loss on one common set of test words, which were left out of both "
        "lists, of the checkpoint with the lowest validation loss; the test words count as a sample, like the seeds. A "
        f"difference below {MARGIN:g} nats per character, a tenth of the smallest reported loss, does not matter."
    )
    would_change = (
        "Validation words that differ between the lists, as they may have in the course. Or so many steps that every arm "
        "has learned the rule."
    )
    studies = tuple(
        StudyPlan(
            study,
            (
                course_translator.RECIPE,
                *course_translator.LENGTH,
                *course_translator.LAYER,
                *course_translator.OPTIMISER,
                "evaluation.every=200",
                "model.width=32,64",
                f"data.source={','.join(lists.values())}",
            ),
            metric="test.loss",
            margin=MARGIN,
            most_seeds=course_translator.SEEDS_BESIDE if study == STAND_IN else 0,
            quick=course_translator.QUICK,
        )
        for study, (_, lists) in STUDIES.items()
    )
    quantities: ClassVar = {
        **{
            f"{study}/{metric}/{width}/{size}": Quantity(
                f"{label}, h {width}, {size} list{what and ', '}{what}",
                metric,
                "nats per character",
                reported=REPORTED[width, size] if (study, metric) == (COURSE, "validation.loss") else "",
            )
            for study, (what, _) in STUDIES.items()
            for metric, label in (("test.loss", "test loss"), ("validation.loss", "lowest validation loss"))
            for width, size in REPORTED
        },
        **{
            f"{COURSE}/share/{order}": Quantity(
                f"evaluations at which the first curve is lower: {order}", "validation.loss", "%", 100.0, True
            )
            for order in ORDERS
        },
    }
    parts = tuple(
        lower(
            f"{study}/test.loss/{width}/{size}",
            than=f"{study}/test.loss/{other_width}/{other_size}",
            margin=MARGIN,
            name=order,
            items=study == COURSE,
            setting=what,
            decides=study == COURSE,
        )
        for study, (what, _) in STUDIES.items()
        for order, ((width, size), (other_width, other_size)) in ORDERS.items()
    )
    figures = tuple(
        LineFigure(f"curves-{study}", "step", f"validation loss, nats per character{what and ', '}{what}", {})
        for study, (what, _) in STUDIES.items()
    )

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        facts: list[tuple[str, str]] = []
        curves: dict[str, tuple[tuple[float, float], ...]] = {}
        for name, (_, lists) in STUDIES.items():
            if not bench.has(*lists.values()):
                continue
            study = bench.study(name)
            facts += bench.facts(study)
            by_arm = {arm.name: arm.curves for arm in study.arms}
            by_setting = {setting: by_arm[arm_name(name, *setting)] for setting in REPORTED}
            for width, size in REPORTED:
                arm = arm_name(name, width, size)
                series[f"{name}/validation.loss/{width}/{size}"] = bench.values(study, arm, "validation.loss")
                series[f"{name}/test.loss/{width}/{size}"] = (
                    bench.item_values(study, arm, "test", "loss")
                    if name == COURSE
                    else bench.values(study, arm, "test.loss")
                )
                curves[f"curves-{name}/h {width}, {size} list"] = mean_curve(by_setting[width, size])
            if name == COURSE:
                series |= {
                    f"{name}/share/{order}": shares_below(by_setting[low], by_setting[high])
                    for order, (low, high) in ORDERS.items()
                }
        return Measurements(series, tuple(facts), curves=curves)


def arm_name(study: str, width: int, size: str) -> str:
    """The name of an arm in a study."""
    return f"width={width}, source={STUDIES[study][1][size]}"


def mean_curve(curves: Mapping[int, Curve]) -> tuple[tuple[float, float], ...]:
    """(step, the mean over the seeds that were evaluated at that step)."""
    losses: dict[float, list[float]] = {}
    for curve in curves.values():
        for step, loss in curve:
            losses.setdefault(step, []).append(loss)
    return tuple((float(step), statistics.fmean(values)) for step, values in sorted(losses.items()))


def shares_below(low: Mapping[int, Curve], high: Mapping[int, Curve]) -> Series:
    """Seed -> the share of the common steps at which one curve is below another."""
    shares = {}
    for seed in sorted(set(low) & set(high)):
        first, second = dict(low[seed]), dict(high[seed])
        common = [step for step in first if step in second]
        if common:
            shares[seed] = sum(first[step] < second[step] for step in common) / len(common)
    return Series(shares)
