"""Claim: feed-forward parts of two to eight times the width are usual, and one wide layer is better than several narrow."""

import math
import statistics
from collections.abc import Mapping
from pathlib import Path

from glasshouse.claims import paired_comparisons, rules, split_scores
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge_family
from glasshouse.pages import line_figure
from glasshouse.pages.study_content import StudyResults
from glasshouse.records import atomic_files
from glasshouse.runs import resolve_spec
from glasshouse.specs import spec_files

WIDTH = 64
RATIOS = (4, 1, 2, 8, 16)  # the parameters of the others are matched to the first
USUAL, OUTSIDE = (2, 4, 8), (1, 16)
# Number of inner layers -> the name of its spec.
SPEC_NAMES = {1: "one-wide", 2: "two-narrow", 3: "three-narrow"}
WIDE = 4 * WIDTH
# The initial standard deviation decides how a signal passes through several layers. With 2, every arm did far worse.
INITIALISATIONS = ("0.5", "1.0")
RULE = VerdictRule(margin=paired_comparisons.CHARACTER_MARGIN)
# A fixed head width allows any model width, so parameters can be matched to about one per cent.
MODEL = ("characters", "model.head_width=16", "evaluation.batch=512")
LEARNING_RATES = "training.learning_rate=1e-3,3e-3,9e-3,2.7e-2"
QUICK = (*split_scores.QUICK[:2], *split_scores.QUICK_TEXT, "training.steps=6", "evaluation.every=6")
ByInitialisation = Mapping[str, paired_comparisons.BySeed]  # initialisation -> seed -> loss


class FeedForwardRatio(Claim):
    """Trains ratios from 1 to 16, then one inner layer against two and three narrower ones, in models of equal size."""

    statement = (
        "An inner size of two to eight times the width is usual in the feed-forward part, and one wide layer is better than "
        "several narrow ones."
    )
    source = "course work on the parts of a Transformer"
    reported = "asserted, no figures"
    rule = (
        "Two statements are judged by test loss, paired by seed, in models of equal parameters. Each arm has its own "
        "best learning rate, chosen on the validation text. First statement, in which usual is read as best: of the "
        "ratios 1, 2, 4, 8 and 16, with the model width adjusted to equal parameters, both 1 and 16 are worse than the "
        "mean of 2, 4 and 8, with Holm's correction over the two. Second statement: at one model width, a feed-forward "
        "part with two inner layers and one with three inner layers are both worse than one with a single inner layer "
        "of four times the width, with Holm's correction over the two. Every inner layer is followed by an activation, "
        "and the narrow layers have as many weights as the wide one. The initial standard deviation of the weights of "
        "each of the three, 0.5 or 1 divided by the square root of the number of inputs, is the one with the lower loss "
        "on the validation text. The claim is upheld if both statements are upheld. It is refuted if an arm that should "
        "be worse is better, or shown to differ by less than 0.005 nats per character, at a level divided between the "
        "two statements. Otherwise it is undecided."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        tune = None if bench.quick else LEARNING_RATES
        ratios = (4, 1, 16) if bench.quick else RATIOS
        ratio_study = bench.compare(
            "ratios",
            *MODEL,
            *(("model.layers=1",) if bench.quick else ()),
            f"model.feed_forward={','.join(str(ratio * WIDTH) for ratio in ratios)}",
            metric="test.loss",
            match="parameters",
            tune=tune,
            quick=QUICK,
        )
        layer_study = bench.compare(
            "inner-layers",
            *(str(write_spec(bench.folder, count)) for count in SPEC_NAMES),
            f"model.initialisation={','.join(INITIALISATIONS)}",
            metric="test.loss",
            tune=tune,
            quick=(*QUICK, "model.layers=1"),
        )
        ratio_losses = {ratio: bench.values(ratio_study, str(ratio * WIDTH), "test.loss") for ratio in ratios}
        validation_losses, test_losses = (
            {
                count: {value: bench.values(layer_study, arm_name(count, value), metric) for value in INITIALISATIONS}
                for count in SPEC_NAMES
            }
            for metric in ("validation.loss", "test.loss")
        )
        chosen = {count: better_initialisation(validation_losses[count]) for count in SPEC_NAMES}
        layer_losses = {count: test_losses[count][chosen[count]] for count in SPEC_NAMES}
        ratio_differences, layer_differences = against_usual(ratio_losses), against_wide(layer_losses)
        ratio_verdict, layer_verdict = all_worse(ratio_differences), all_worse(layer_differences)
        picture = bench.folder / "ratios.svg"
        line_figure.draw(
            {"": paired_comparisons.means_with_intervals(ratio_losses)},
            picture,
            "inner size / width",
            "test loss, nats per character",
        )
        return Finding(
            verdict=rules.all_of(ratio_verdict, layer_verdict),
            because=f"Two to eight times the width: {ratio_verdict}. Test loss against the mean of the ratios "
            f"{_usual_ratios(ratio_losses)}, by ratio: {_describe_all(ratio_differences)}. One wide layer: {layer_verdict}. "
            f"Test loss against one inner layer of {WIDE}, by inner layers: {_describe_all(layer_differences)}.",
            scope=f"State of the Union addresses, one token per character; {rules.study_scope(ratio_study)}; inner layers: "
            f"{rules.study_scope(layer_study)}",
            rows=(
                *_ratio_rows(ratio_study, ratios, ratio_losses, ratio_differences),
                *_layer_rows(layer_study, test_losses, chosen, layer_differences),
            ),
            studies=(ratio_study.name, layer_study.name),
            pictures=(picture.name,),
            notes=(
                "inner layers with equally many weights also have equal FLOPs per step",
                *(
                    f"{study.name}, {arm.name}: {note}"
                    for study in (ratio_study, layer_study)
                    for arm in study.arms
                    for note in arm.notes
                ),
            ),
        )


def against_usual(losses: Mapping[int, paired_comparisons.BySeed]) -> dict[str, Difference]:
    """Ratio outside 2 to 8 -> its difference from the mean of the ratios inside, paired by seed, corrected."""
    inside = [losses[ratio] for ratio in USUAL if ratio in losses]
    usual = {
        seed: statistics.fmean(by_seed[seed] for by_seed in inside)
        for seed in inside[0]
        if all(seed in by_seed for by_seed in inside)
    }
    return judge_family({str(ratio): (usual, losses[ratio]) for ratio in OUTSIDE}, RULE)


def against_wide(losses: Mapping[int, paired_comparisons.BySeed]) -> dict[str, Difference]:
    """`2 of 128` -> the difference of that many narrow inner layers from the wide one, paired by seed, corrected."""
    pairs = {f"{count} of {inner_size(count)}": (losses[1], losses[count]) for count in losses if count != 1}
    return judge_family(pairs, RULE)


def all_worse(differences: Mapping[str, Difference]) -> str:
    """The verdict on: each of the arms is worse. The differences are corrected and are one of the claim's two families."""
    return rules.all_of(*(rules.direction(difference, claimed="worse", parts=2) for difference in differences.values()))


def better_initialisation(losses: ByInitialisation) -> str:
    """The initialisation with the lowest mean loss. One that diverged in any seed is not eligible."""
    return min(losses, key=lambda value: _mean_or_infinity(losses[value]))


def inner_size(count: int) -> int:
    """The size at which `count` inner layers have, up to rounding, as many weights as the one wide layer.

    With n = count - 1 additional layers of size h: 2 W h + n h^2 = 2 W wide.
    """
    additional = count - 1
    if not additional:
        return WIDE
    return round((math.sqrt(WIDTH**2 + additional * 2 * WIDTH * WIDE) - WIDTH) / additional)


def arm_name(count: int, initialisation: str) -> str:
    """The name of an arm in the study of inner layers."""
    return f"{SPEC_NAMES[count]}, initialisation={initialisation}"


def write_spec(folder: Path, count: int) -> Path:
    """Write a spec file with this number of inner layers: an arm that changes two fields together needs its own recipe."""
    shape = (f"model.feed_forward_layers={count}", f"model.feed_forward={inner_size(count)}")
    path = folder / f"{SPEC_NAMES[count]}.toml"
    atomic_files.write_text(path, spec_files.to_toml(resolve_spec.spec_of(*MODEL, *shape)))
    return path


def _mean_or_infinity(losses: paired_comparisons.BySeed) -> float:
    mean = statistics.fmean(losses.values()) if losses else math.nan
    return mean if math.isfinite(mean) else math.inf


def _ratio_rows(
    study: StudyResults,
    ratios: tuple[int, ...],
    losses: Mapping[int, paired_comparisons.BySeed],
    differences: Mapping[str, Difference],
) -> list[Evidence]:
    rows = [
        Evidence(
            f"test loss, {ratio} times the width",
            "",
            f"{rules.format_with_seeds(losses[ratio])}; {arm.parameters:,} parameters",
        )
        for ratio, arm in sorted(zip(ratios, study.arms, strict=True), key=lambda pair: pair[0])
    ]
    baseline = f"the mean of {_usual_ratios(losses)}"
    rows += [
        Evidence(f"{ratio} times the width against {baseline}", "", paired_comparisons.describe(difference))
        for ratio, difference in differences.items()
    ]
    return rows


def _layer_rows(
    study: StudyResults,
    losses: Mapping[int, ByInitialisation],
    chosen: Mapping[int, str],
    differences: Mapping[str, Difference],
) -> list[Evidence]:
    parameters = {arm.name: arm.parameters for arm in study.arms}
    wide = parameters[arm_name(1, INITIALISATIONS[0])]
    rows = []
    for count, by_initialisation in losses.items():
        for initialisation, values in by_initialisation.items():
            size = parameters[arm_name(count, initialisation)]
            mismatch = f" ({size / wide - 1:+.2%})" if size != wide else ""
            is_chosen = initialisation == chosen[count]
            choice = "; the better of the two on the validation text" if is_chosen else ""
            layers = f"inner layers: {count} of {inner_size(count)}"
            text = f"{rules.format_with_seeds(values)}; {size:,} parameters{mismatch}{choice}"
            rows.append(Evidence(f"test loss, {layers}, initial deviation {initialisation}", "", text))
    rows += [
        Evidence(f"{layers} against 1 of {WIDE}", "", paired_comparisons.describe(difference))
        for layers, difference in differences.items()
    ]
    return rows


def _describe_all(differences: Mapping[str, Difference]) -> str:
    return "; ".join(f"{name}: {paired_comparisons.describe(difference)}" for name, difference in differences.items())


def _usual_ratios(losses: Mapping[int, paired_comparisons.BySeed]) -> str:
    """`2, 4 and 8`: the usual ratios that were trained."""
    inside = [str(ratio) for ratio in USUAL if ratio in losses]
    return inside[0] if len(inside) == 1 else f"{', '.join(inside[:-1])} and {inside[-1]}"
