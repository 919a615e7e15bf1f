"""Is a feed-forward part of two to eight times the width the right size, and one wide inner layer better than several?"""

import math
import statistics
from collections.abc import Mapping
from pathlib import Path

from glasshouse.claims import paired_questions, rules, split_scores
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge_family
from glasshouse.pages import line_figure
from glasshouse.pages.study_content import StudyResults
from glasshouse.records import atomic_files
from glasshouse.runs import resolve_spec
from glasshouse.specs import spec_files

WIDTH = 64
RATIOS = (4, 1, 2, 8, 16)  # the first is what the others' parameters are matched to
USUAL, OUTSIDE = (2, 4, 8), (1, 16)
# Inner layers -> the study's arm. The one wide layer has four times the width.
ARMS = {1: "one-wide", 2: "two-narrow", 3: "three-narrow"}
WIDE = 4 * WIDTH
# What weights begin with decides how much of a signal comes through several layers; at 2 each of the arms did far worse.
BEGINNINGS = ("0.5", "1.0")
RULE = VerdictRule(margin=paired_questions.LETTER_MARGIN)
# With heads of a fixed size any width is possible, and so parameters can be matched to about a per cent.
MODEL = ("characters", "model.head_width=16", "evaluation.batch=512")
RATES = "training.learning_rate=1e-3,3e-3,9e-3,2.7e-2"
QUICK = (*split_scores.QUICK[:2], *split_scores.QUICK_TEXT, "training.steps=6", "evaluation.every=6")
Beginnings = Mapping[str, paired_questions.BySeed]  # what weights begin with -> seed -> loss


class FeedForwardRatio(Claim):
    """Trains ratios from 1 to 16, then one inner layer against two and three narrower ones, in models of equal size."""

    statement = (
        "An inner size of two to eight times the width is usual in the feed-forward part, and one wide layer is better than "
        "several narrow ones."
    )
    source = "course work on the parts of a Transformer"
    reported = "asserted, no figures"
    rule = (
        "Two statements, by test loss paired by seed in models of equal parameters, each arm at its own best learning rate, "
        "chosen on the validation text. Usual is read as: does best. Of ratios 1, 2, 4, 8 and 16, the width making room, "
        "both 1 and 16 are worse than the mean of 2, 4 and 8, Holm over the two. One wide layer: at one width, a "
        "feed-forward part with two inner layers and one with three, each with an activation after every layer and so "
        "narrow that its weights are as many, are both worse than one with a single inner layer of four times the width, "
        "Holm over the two; the weights of each of the three begin with the deviation, 0.5 or 1 over the root of "
        "their inputs, that does better on the validation text. Upheld where both statements are; refuted where an arm that "
        "should be worse is better, or shown to differ by less than 0.005 nats a letter, at a level that the two statements "
        "share; else undecided."
    )

    def try_it(self, bench: Bench) -> Finding:
        tune = None if bench.quick else RATES
        ratios = (4, 1, 16) if bench.quick else RATIOS
        sizes = bench.compare(
            "ratios",
            *MODEL,
            *(("model.layers=1",) if bench.quick else ()),
            f"model.feed_forward={','.join(str(ratio * WIDTH) for ratio in ratios)}",
            metric="test.loss",
            match="parameters",
            tune=tune,
            quick=QUICK,
        )
        layers = bench.compare(
            "inner-layers",
            *(str(written(bench.folder, count)) for count in ARMS),
            f"model.initialisation={','.join(BEGINNINGS)}",
            metric="test.loss",
            tune=tune,
            quick=(*QUICK, "model.layers=1"),
        )
        of_ratios = {ratio: bench.values(sizes, str(ratio * WIDTH), "test.loss") for ratio in ratios}
        held_out, tested = (
            {count: {begun: bench.values(layers, name_of(count, begun), metric) for begun in BEGINNINGS} for count in ARMS}
            for metric in ("validation.loss", "test.loss")
        )
        chosen = {count: better_begun(held_out[count]) for count in ARMS}
        of_layers = {count: tested[count][chosen[count]] for count in ARMS}
        outside, narrow = against_usual(of_ratios), against_wide(of_layers)
        usual, wide = all_worse(outside), all_worse(narrow)
        picture = bench.folder / "ratios.svg"
        line_figure.draw(
            {"": paired_questions.spans(of_ratios)}, picture, "inner size over width", "test loss, nats a letter"
        )
        return Finding(
            verdict=rules.all_of(usual, wide),
            because=f"Two to eight times the width: {usual}. Against the mean of ratios {_list(of_ratios)}, test loss at "
            f"{_said(outside)}. One wide layer: {wide}. Against one inner layer of {WIDE}, test loss with {_said(narrow)}.",
            scope=f"State of the Union addresses, letter by letter; {rules.scope(sizes)}; inner layers: "
            f"{rules.scope(layers)}",
            rows=(*_ratio_rows(sizes, ratios, of_ratios, outside), *_layer_rows(layers, tested, chosen, narrow)),
            studies=(sizes.name, layers.name),
            pictures=(picture.name,),
            notes=(
                "with inner layers of equal weights a step's FLOPs are equal too",
                *(f"{each.name}, {arm.name}: {note}" for each in (sizes, layers) for arm in each.arms for note in arm.notes),
            ),
        )


def against_usual(losses: Mapping[int, paired_questions.BySeed]) -> dict[str, Difference]:
    """Ratio outside of 2 to 8 -> it against the mean of those inside, seed by seed, corrected."""
    inside = [losses[ratio] for ratio in USUAL if ratio in losses]
    usual = {
        seed: statistics.fmean(each[seed] for each in inside) for seed in inside[0] if all(seed in each for each in inside)
    }
    return judge_family({str(ratio): (usual, losses[ratio]) for ratio in OUTSIDE}, RULE)


def against_wide(losses: Mapping[int, paired_questions.BySeed]) -> dict[str, Difference]:
    """`2 of 128` -> so many narrow inner layers against the one wide, seed by seed, corrected."""
    pairs = {f"{count} of {inner_size(count)}": (losses[1], losses[count]) for count in losses if count != 1}
    return judge_family(pairs, RULE)


def all_worse(found: Mapping[str, Difference]) -> str:
    """The verdict on: each of them is worse; `found` is corrected already, and one of the claim's two families."""
    return rules.all_of(*(rules.direction(each, wanted="worse", parts=2) for each in found.values()))


def better_begun(losses: Beginnings) -> str:
    """Of several beginnings the one with the lowest mean; one that diverged in any seed is not to be had."""
    return min(losses, key=lambda begun: _mean_of_all(losses[begun]))


def inner_size(count: int) -> int:
    """The size at which so many inner layers have, as nearly as whole numbers allow, the weights of the one wide layer.

    With n more layers of size h: 2 W h + n h^2 = 2 W wide.
    """
    more = count - 1
    return round((math.sqrt(WIDTH**2 + more * 2 * WIDTH * WIDE) - WIDTH) / more) if more else WIDE


def name_of(count: int, begun: str) -> str:
    """The study's arm."""
    return f"{ARMS[count]}, initialisation={begun}"


def written(folder: Path, count: int) -> Path:
    """A spec in the claim's folder: two fields that change together make an arm."""
    shape = (f"model.feed_forward_layers={count}", f"model.feed_forward={inner_size(count)}")
    path = folder / f"{ARMS[count]}.toml"
    atomic_files.write_text(path, spec_files.to_toml(resolve_spec.spec_of(*MODEL, *shape)))
    return path


def _mean_of_all(losses: paired_questions.BySeed) -> float:
    found = statistics.fmean(losses.values()) if losses else math.nan
    return found if math.isfinite(found) else math.inf


def _ratio_rows(
    study: StudyResults,
    ratios: tuple[int, ...],
    losses: Mapping[int, paired_questions.BySeed],
    found: Mapping[str, Difference],
) -> list[Evidence]:
    rows = [
        Evidence(f"test loss, {ratio} times the width", "", f"{rules.shown(losses[ratio])}; {arm.parameters:,} parameters")
        for ratio, arm in sorted(zip(ratios, study.arms, strict=True), key=lambda pair: pair[0])
    ]
    against = f"against the mean of {_list(losses)}"
    return rows + [Evidence(f"{ratio} times {against}", "", paired_questions.told(each)) for ratio, each in found.items()]


def _layer_rows(
    study: StudyResults,
    losses: Mapping[int, Beginnings],
    chosen: Mapping[int, str],
    found: Mapping[str, Difference],
) -> list[Evidence]:
    parameters = {arm.name: arm.parameters for arm in study.arms}
    wide = parameters[name_of(1, BEGINNINGS[0])]
    rows = []
    for count, begun_with in losses.items():
        for begun, values in begun_with.items():
            own = parameters[name_of(count, begun)]
            off = f" ({own / wide - 1:+.2%})" if own != wide else ""
            taken = "; the better of the two on the validation text" if begun == chosen[count] else ""
            inner = f"inner layers: {count} of {inner_size(count)}"
            told = f"{rules.shown(values)}; {own:,} parameters{off}{taken}"
            rows.append(Evidence(f"test loss, {inner}, initial deviation {begun}", "", told))
    return rows + [
        Evidence(f"{narrow} against 1 of {WIDE}", "", paired_questions.told(each)) for narrow, each in found.items()
    ]


def _said(found: Mapping[str, Difference]) -> str:
    return "; ".join(f"{name}: {paired_questions.told(each)}" for name, each in found.items())


def _list(losses: Mapping[int, paired_questions.BySeed]) -> str:
    inside = [str(ratio) for ratio in USUAL if ratio in losses]
    return inside[0] if len(inside) == 1 else f"{', '.join(inside[:-1])} and {inside[-1]}"
