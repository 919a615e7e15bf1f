"""Claim: entailment follows the meaning of a translation better than BLEU and chrF. Captions whose faults are known."""

import math
import statistics
from collections.abc import Mapping
from typing import ClassVar

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import equal, higher, lower, not_higher
from glasshouse.claims.translation import caption_correlations
from glasshouse.claims.translation.caption_correlations import (
    ANY_WORDING_SHARES,
    CAPTIONS,
    ERROR_RATES,
    LEVELS,
    SURFACE,
    TRANSLATORS,
)
from glasshouse.claims.translation.edited_captions import ANY, CHANGES, SAME
from glasshouse.runs.run import Run

# Widths of the judge. The largest is the recipe's, and decides.
WIDTHS = (8, 16, 64)
RECIPE_WIDTH = WIDTHS[-1]
WORDINGS = {ANY: "any wording", SAME: "the wording of the reference"}
LEVEL_NAMES = {CAPTIONS: "single captions", TRANSLATORS: "whole translators"}
# Held-out references of a seed, and in a quick run.
REFERENCES, QUICK_REFERENCES = 200, 8
# In Spearman's correlation. Metrics of translation that differ by less are reported as equally good.
MARGIN = 0.05
# In shares of captions.
SHARE_MARGIN = 0.05
QUICK = (*split_scores.QUICK, "training.steps=2", "training.epochs=0", "training.batch=8", "evaluation.every=2")


def _setting(level: str, wording: str) -> str:
    return f"{LEVEL_NAMES[level]}, {WORDINGS[wording]}"


SETTINGS = tuple((level, wording) for level in LEVELS for wording in WORDINGS)


class NLIMetric(Claim):
    """Trains judges of entailment, and correlates their scores with the adequacy of captions that were edited by rules."""

    group = GROUPS[4]
    statement = (
        "The share of outputs that their reference entails, as a model of natural-language inference judges it, follows the "
        "meaning of translations better than the surface overlap of BLEU and chrF does."
    )
    source = "course work on translation: a metric by natural-language inference"
    reported = "asserted, no figures"
    why = (
        "BLEU and chrF count common words and characters, so they punish a paraphrase and forgive a single wrong word. "
        "Entailment asks about the meaning. But it answers yes or no, not how much of the meaning is kept, and the model "
        "that answers makes errors of its own."
    )
    procedure = (
        f"For each seed {REFERENCES} captions of held-out scenes are references. Rules change 0 to 3 of their facts (kind, "
        "count, colour, relation), in the wording of the reference and in any wording, so that the adequacy, the share of "
        "facts kept, is known exactly. Single captions are scored by sentence BLEU, by chrF and by the probability that the "
        "reference entails them, according to a small model trained on other captions; whole translators, made up of these "
        f"captions with {len(ERROR_RATES)} rates of error (and {len(ANY_WORDING_SHARES)} shares of free wording), are "
        "scored by corpus BLEU and chrF and by the share of outputs judged entailed. Entailment must have a Spearman "
        f"correlation with adequacy above those of BLEU and of chrF by a difference that matters ({MARGIN:g}), for single "
        "captions and for whole translators, and in both kinds of wording."
    )
    would_change = (
        "A judge that reads texts unlike those it was trained on, where it errs more often; or real translators, whose "
        "errors are fewer and less even than those made by rules."
    )
    data = "generated data"
    studies = (
        StudyPlan(
            "judges",
            ("scene-entailment", f"model.width={','.join(map(str, WIDTHS))}"),
            metric="test.accuracy",
            quick=QUICK,
        ),
    )
    quantities: ClassVar = {
        **{
            f"{level}/{wording}/{key}": Quantity(
                f"correlation of {name} with adequacy, {_setting(level, wording)}", "Spearman", higher_is_better=True
            )
            for level, wording in SETTINGS
            for key, name in {
                **SURFACE,
                "rules": "exact entailment, by the rules of the scenes,",
                "both": "entailment in both directions",
                **{f"entailment-{width}": f"entailment, judge of width {width}," for width in WIDTHS},
            }.items()
        },
        **{
            f"accuracy/{width}": Quantity(
                f"test accuracy of the judge of width {width}", "test.accuracy", "%", 100.0, higher_is_better=True
            )
            for width in WIDTHS
        },
        "other-reference": Quantity(
            "correlation of entailment with adequacy if each caption is judged by the reference of another", "Spearman"
        ),
        **{
            key: Quantity(f"{what} judged entailed", "share of captions", "%", 100.0)
            for key, what in (
                ("paraphrase", "paraphrases of the reference"),
                ("omission", "captions that omit a fact"),
                ("omission-both", "captions that omit a fact, in both directions"),
                ("shuffled", "references with shuffled words and another meaning"),
            )
        },
    }
    parts = (
        *(
            higher(
                f"{level}/{wording}/entailment-{RECIPE_WIDTH}",
                than=f"{level}/{wording}/{key}",
                margin=MARGIN,
                name=f"entailment follows adequacy better than {name}",
                setting=_setting(level, wording),
            )
            for level, wording in SETTINGS
            for key, name in SURFACE.items()
        ),
        *(
            higher(
                f"{level}/{wording}/rules",
                than=f"{level}/{wording}/{key}",
                margin=MARGIN,
                name=f"a judge without errors follows adequacy better than {name}",
                setting=_setting(level, wording),
                decides=False,
            )
            for level, wording in SETTINGS
            for key, name in SURFACE.items()
        ),
        higher(
            "omission",
            than=0.5,
            margin=SHARE_MARGIN,
            name="what breaks it: most captions that omit a fact are judged entailed",
            decides=False,
        ),
        lower(
            "omission-both",
            than="omission",
            margin=SHARE_MARGIN,
            name="repaired: in both directions fewer captions that omit a fact are judged entailed",
            decides=False,
        ),
        not_higher(
            "shuffled",
            than=SHARE_MARGIN,
            margin=SHARE_MARGIN,
            name="hardly any reference with shuffled words and another meaning is judged entailed",
            decides=False,
        ),
        equal(
            "other-reference",
            to=0.0,
            margin=MARGIN,
            name="control: judged by the reference of another caption, there is no correlation",
            decides=False,
        ),
    )
    figures = (
        LineFigure("scores", "wrong facts", "mean score, as a share of its maximum"),
        LineFigure(
            "judges",
            "width of the judge",
            "Spearman correlation with adequacy, single captions",
            {
                f"{name}, {words}": {width: f"{CAPTIONS}/{wording}/{key}" for width, key in keys}
                for wording, words in WORDINGS.items()
                for name, keys in (
                    ("entailment", [(width, f"entailment-{width}") for width in WIDTHS]),
                    *((metric, [(width, key) for width in WIDTHS]) for key, metric in SURFACE.items()),
                )
            },
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("judges")
        count = QUICK_REFERENCES if bench.quick else REFERENCES
        seeds = [str(seed) for seed in range(bench.first_seed, bench.first_seed + bench.seeds)]
        rows = bench.cached(
            f"surface-by-{bench.seeds}",
            lambda: {seed: caption_correlations.score_surface(int(seed), count) for seed in seeds},
        )
        measured = {key: {int(seed): rows[seed][key] for seed in seeds} for key in rows[seeds[0]]}
        accuracies = {}
        for arm, width in zip(study.arms, WIDTHS, strict=True):

            def score(run: Run, everything: bool = width == RECIPE_WIDTH) -> dict[str, float]:
                return caption_correlations.score_judge(run, count, everything)

            by_seed = split_scores.cached_by_seed(bench, study, arm.name, "entailment", score)
            measured |= {key.replace("entailment", f"entailment-{width}"): values for key, values in by_seed.items()}
            accuracies[f"accuracy/{width}"] = bench.values(study, arm.name, "test.accuracy")
        series = {key: Series(values) for key, values in measured.items() if key in self.quantities}
        return Measurements(series | accuracies, tuple(bench.facts(study)), curves=mean_curves(measured))


def mean_curves(measured: Mapping[str, Mapping[int, float]]) -> dict[str, tuple[tuple[float, float], ...]]:
    """The curves of the mean scores over the number of wrong facts, averaged over the seeds."""
    names = {"adequacy": "facts kept", f"entailment-{RECIPE_WIDTH}": "judged entailed", **SURFACE}
    curves = {}
    for key, name in names.items():
        for wording, words in WORDINGS.items():
            rows = [measured[f"mean/{key}/{wording}/{changes}"] for changes in CHANGES]
            means = [statistics.fmean(value for value in row.values() if math.isfinite(value)) for row in rows]
            curves[f"scores/{name}, {words}"] = tuple(zip(map(float, CHANGES), means, strict=True))
    return curves
