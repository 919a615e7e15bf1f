"""Claim: feed-forward parts of two to eight times the width are usual, and one wide layer is better than several narrow."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import ClassVar

from glasshouse.claims import margins
from glasshouse.claims.attention import initialisation_choice, ngram_opponents
from glasshouse.claims.attention.initialisation_choice import SCALES
from glasshouse.claims.attention.quick_overrides import QUICK
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import higher

WIDTH = 64
RATIOS = (4, 1, 2, 8, 16)  # the parameters of the others are matched to the first
USUAL, OUTSIDE = (2, 4, 8), (1, 16)
WIDE = 4 * WIDTH
# Number of inner layers -> the name of its recipe. One inner layer is the ratio of 4.
NARROW = {2: "two-narrow", 3: "three-narrow"}
# A fixed head width allows any model width, so parameters can be matched to about one per cent.
MODEL = ("characters", "model.head_width=16", "evaluation.batch=512")
TUNE = "training.learning_rate=1e-3,3e-3,9e-3,2.7e-2,8.1e-2"


def inner_size(count: int) -> int:
    """The size at which `count` inner layers have, up to rounding, as many weights as the one wide layer.

    With n = count - 1 additional layers of size h: 2 W h + n h^2 = 2 W wide.
    """
    additional = count - 1
    if not additional:
        return WIDE
    return round((math.sqrt(WIDTH**2 + additional * 2 * WIDTH * WIDE) - WIDTH) / additional)


def narrow_recipe(count: int) -> tuple[str, ...]:
    """The recipe with this number of narrow inner layers."""
    return (*MODEL, f"model.feed_forward_layers={count}", f"model.feed_forward={inner_size(count)}")


# The shapes that are compared: key -> label.
SHAPES = {
    **{f"ratio-{ratio}": f"inner size {ratio} times the width" for ratio in sorted(RATIOS)},
    **{f"layers-{count}": f"{count} inner layers of {inner_size(count)}" for count in NARROW},
}
USUAL_MEAN, WIDE_LAYER = "usual", f"ratio-{WIDE // WIDTH}"


class FeedForwardRatio(Claim):
    """Trains ratios from 1 to 16, then two and three narrow inner layers, in models of equal size."""

    group = GROUPS[0]
    statement = (
        "An inner size of two to eight times the width is usual in the feed-forward part, and one wide layer is better than "
        "several narrow ones."
    )
    source = "course work on the parts of a Transformer"
    reported = "asserted, no figures"
    why = (
        "A small inner layer leaves the feed-forward part little to compute with. A very large one takes the parameters "
        "from the rest of the model. Several layers in a row are harder to train than one."
    )
    procedure = (
        "What is usual is a matter of practice, which no training can judge. It is read as what would make it sensible: of "
        "the ratios 1, 2, 4, 8 and 16, in models of equal parameters, both 1 and 16 have a higher test loss than the mean "
        "of 2, 4 and 8. For the second half, feed-forward parts with two and with three narrow inner layers, each followed "
        "by an activation and together with as many weights, must both have a higher test loss than one inner layer of four "
        "times the width. Every arm has the best of five learning rates and of three initial scales (0.5, 1 and 2), both "
        "chosen on the validation text."
    )
    would_change = (
        "A larger model or a longer training, in which the best ratio may lie elsewhere; or narrow layers with residual "
        "connections and norms of their own, which would be additional blocks."
    )
    data = PUBLIC_TEXT
    # Some shapes vary much between seeds: ratio 1 was undecided after 8 and decided after 24.
    looks = (32,)
    studies = (
        StudyPlan(
            "ratios",
            (*MODEL, f"model.feed_forward={','.join(str(ratio * WIDTH) for ratio in RATIOS)}", initialisation_choice.WORD),
            metric="test.loss",
            match="parameters",
            tune=TUNE,
            margin=margins.CHARACTER_LOSS,
            quick=(*QUICK, "training.batch=4"),
        ),
        StudyPlan(
            "inner-layers",
            (*NARROW.values(), initialisation_choice.WORD),
            metric="test.loss",
            tune=TUNE,
            margin=margins.CHARACTER_LOSS,
            quick=(*QUICK, "training.batch=4"),
            recipes={name: narrow_recipe(count) for count, name in NARROW.items()},
        ),
    )
    quantities: ClassVar = {
        **{
            f"{shape}{scale and '/'}{scale}": Quantity(
                f"test loss, {label}, {f'initial scale {scale}' if scale else 'chosen initial scale'}",
                "test.loss",
                "nats per character",
            )
            for scale in ("", *SCALES)
            for shape, label in (*SHAPES.items(), (USUAL_MEAN, "mean of 2, 4 and 8 times the width"))
        },
        **ngram_opponents.ngram_quantities("nats per character"),
    }
    parts = tuple(
        higher(
            f"{shape}{scale and '/'}{scale}",
            than=f"{than}{scale and '/'}{scale}",
            margin=margins.CHARACTER_LOSS,
            name=f"{SHAPES[shape]}: worse than {name}",
            setting=f"initial scale {scale}" if scale else "",
            decides=not scale,
        )
        for scale in ("", *SCALES)
        for shape, than, name in (
            *((f"ratio-{ratio}", USUAL_MEAN, "2 to 8") for ratio in OUTSIDE),
            *((f"layers-{count}", WIDE_LAYER, f"one of {WIDE}") for count in NARROW),
        )
    )
    figures = (
        LineFigure(
            "ratios",
            "inner size / width",
            "test loss, nats per character",
            {
                "chosen initial scale": {ratio: f"ratio-{ratio}" for ratio in sorted(RATIOS)},
                **{
                    f"initial scale {scale}": {ratio: f"ratio-{ratio}/{scale}" for ratio in sorted(RATIOS)}
                    for scale in SCALES
                },
            },
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        ratios, layers = bench.study("ratios"), bench.study("inner-layers")
        series: dict[str, Series] = {}
        facts = bench.facts(ratios, layers)
        for shape in SHAPES:
            study = ratios if shape.startswith("ratio") else layers
            losses, chosen = initialisation_choice.test_losses(
                bench, study, {scale: arm_name(shape, scale) for scale in SCALES}
            )
            series |= {f"{shape}/{scale}": losses[scale] for scale in SCALES}
            series[shape] = losses[chosen]
            facts.append((f"initial scale chosen on the validation text, {SHAPES[shape]}", chosen))
        for suffix in ("", *(f"/{scale}" for scale in SCALES)):
            series[f"{USUAL_MEAN}{suffix}"] = mean_series([series[f"ratio-{ratio}{suffix}"] for ratio in USUAL])
        series |= ngram_opponents.ngram_series(bench, ratios)
        notes = ("Inner layers with equally many weights also need equally many FLOPs per step.",)
        return Measurements(series, tuple(facts), notes)


def arm_name(shape: str, scale: str) -> str:
    """The name of an arm in its study."""
    kind, _, number = shape.partition("-")
    if kind == "ratio":
        return f"feed_forward={int(number) * WIDTH}, initialisation={scale}"
    return f"{NARROW[int(number)]}, initialisation={scale}"


def mean_series(series: Sequence[Series]) -> Series:
    """Seed -> the mean over several series. NaN if one of them diverged."""
    values: list[Mapping[int, float]] = [one.values for one in series]
    seeds = set.intersection(*(set(by_seed) for by_seed in values))
    return Series({seed: statistics.fmean(by_seed[seed] for by_seed in values) for seed in sorted(seeds)})
