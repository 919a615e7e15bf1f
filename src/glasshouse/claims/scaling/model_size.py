"""Claim: the loss of the decoder-only translator is lowest near width 96, and the larger model overfits."""

from typing import ClassVar

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import higher
from glasshouse.claims.scaling.equal_compute import MARGIN, PRECISION, QUICK, RECIPE
from glasshouse.claims.translation import course_translator
from glasshouse.claims.translation.course_translator import COURSE_LISTS, STAND_INS
from glasshouse.data import prepared_data
from glasshouse.results.study import StudyResults
from glasshouse.runs.run import Run

# Hidden size -> reported loss.
REPORTED = {16: "1.655", 32: "1.054", 48: "0.757", 64: "0.487", 96: "0.314", 128: "0.425"}
WIDTHS = tuple(REPORTED)
SMALLER, BEST, LARGER = 64, 96, 128
# Study -> (what it is, its list of words). The first two decide.
STUDIES = {
    "reported": ("at the reported learning rate", COURSE_LISTS["small"]),
    "tuned": ("at tuned learning rates", COURSE_LISTS["small"]),
    "stand-in": ("stand-in: a generated word list", STAND_INS["small"]),
}
DECIDING = ("reported", "tuned")
# The smallest sizes need higher rates than the translators of other claims.
TUNE = f"{course_translator.TUNE},1.6e-2"
NATS = "nats per character"
# Metric -> (label, unit, factor to the unit). The last two tell whether a model overfits.
METRICS = {
    "test.loss": ("test loss", NATS, 1.0),
    "test.exact": ("test words exactly right", "%", 100.0),
    "validation.loss": ("lowest validation loss", NATS, 1.0),
    "train.loss": ("loss on the training words", NATS, 1.0),
    "gap": ("test loss minus loss on the training words", NATS, 1.0),
}


def _plan(study: str, tune: str | None = None) -> StudyPlan:
    return StudyPlan(
        study,
        (
            RECIPE,
            *course_translator.LENGTH,
            *course_translator.LAYER,
            *course_translator.OPTIMISER,
            PRECISION,
            f"data.source={STUDIES[study][1]}",
            f"model.width={','.join(map(str, WIDTHS))}",
        ),
        metric="test.loss",
        tune=tune,
        margin=MARGIN,
        most_seeds=0 if study in DECIDING else course_translator.SEEDS_BESIDE,
        quick=QUICK,
    )


class ModelSize(Claim):
    """Trains the decoder-only translator with six hidden sizes."""

    group = GROUPS[6]
    statement = (
        "The loss of the decoder-only translator has an optimum near hidden size 96: at 128 it is higher, because the "
        "larger model overfits."
    )
    source = "course work on scaling: loss of the decoder-only Pig Latin translator by hidden size"
    reported = (
        ", ".join(f"h {width} {loss}" for width, loss in REPORTED.items())
        + "; one seed each; the compute was given as the square of the hidden size"
    )
    why = (
        "A larger model can learn the training words by heart. But each size was trained once, with one learning rate for "
        "all, and a larger model often needs a lower one."
    )
    procedure = (
        "The course's decoder-only translator is trained with six hidden sizes on the course's small list, with equally "
        f"many steps ({course_translator.STEPS:,} of 64 words, which are 100 epochs) and a loss on the characters of the "
        f"translation. Hidden size {BEST} must have a lower test loss than {SMALLER} and than {LARGER}, at the checkpoint "
        "with the lowest validation loss; the test words count as a sample, like the seeds. Everything is done with the "
        "course's learning rate, and with the best of six learning rates for each size, chosen on the validation words. "
        f"The rates to choose from were set after an exploration on the generated list. A difference below {MARGIN:g} nats "
        "per character, a tenth of the lowest reported loss, does not matter. Overfitting is shown beside it: the gap "
        "between the loss on test words and on training words."
    )
    would_change = (
        "Fewer words or more steps, so that the larger model learns the training words by heart before the rule; or a "
        "loss that also covers the characters of the source."
    )
    looks = (8, 16)
    studies = (_plan("reported"), _plan("tuned", tune=TUNE), _plan("stand-in"))
    quantities: ClassVar = {
        f"{study}/{metric}/{width}": Quantity(
            f"{label}, h {width}, {what}",
            metric,
            unit,
            scale,
            higher_is_better=metric == "test.exact",
            reported=REPORTED[width] if (study, metric) == ("reported", "validation.loss") else "",
        )
        for study, (what, _) in STUDIES.items()
        for metric, (label, unit, scale) in METRICS.items()
        for width in WIDTHS
    }
    parts = (
        *(
            higher(
                f"{study}/test.loss/{width}",
                than=f"{study}/test.loss/{BEST}",
                margin=MARGIN,
                name=f"h {width} has a higher test loss than h {BEST}",
                items=study in DECIDING,
                setting=what,
                decides=study in DECIDING,
            )
            for study, (what, _) in STUDIES.items()
            for width in (LARGER, SMALLER)
        ),
        *(
            higher(
                f"{study}/gap/{LARGER}",
                than=f"{study}/gap/{BEST}",
                margin=MARGIN,
                name=f"h {LARGER} overfits more than h {BEST}, {what}",
                decides=False,
            )
            for study, (what, _) in STUDIES.items()
        ),
    )
    figures = tuple(
        LineFigure(
            name,
            "hidden size",
            f"{label}, {unit}",
            {what: {width: f"{study}/{metric}/{width}" for width in WIDTHS} for study, (what, _) in STUDIES.items()},
        )
        for name, metric, (label, unit, _) in (
            ("test-loss", "test.loss", METRICS["test.loss"]),
            ("gap", "gap", METRICS["gap"]),
        )
    )

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        facts: list[tuple[str, str]] = []
        for name, (_, source) in STUDIES.items():
            if not bench.has(source):
                continue
            study = bench.study(name)
            facts += bench.facts(study)
            for width in WIDTHS:
                series |= {
                    f"{name}/{metric}/{width}": values for metric, values in measure_arm(bench, study, str(width)).items()
                }
        return Measurements(series, tuple(facts))


def measure_arm(bench: Bench, study: StudyResults, arm: str) -> dict[str, Series]:
    """Metric -> its values of an arm. The test loss has items in the studies that decide."""
    measured = {metric: bench.values(study, arm, metric) for metric in ("test.loss", "test.exact", "validation.loss")}
    if study.name in DECIDING:
        measured["test.loss"] = bench.item_values(study, arm, "test", "loss")
    train = Series({})
    if bench.finished_runs(study, arm):
        train = Series(split_scores.cached_by_seed(bench, study, arm, "train-loss", training_loss)["loss"])
    return {**measured, "train.loss": train, "gap": difference(measured["test.loss"], train)}


def difference(minuend: Series, subtrahend: Series) -> Series:
    """The difference of two series in their common units."""
    common = [unit for unit in minuend.values if unit in subtrahend.values]
    return Series({unit: minuend.values[unit] - subtrahend.values[unit] for unit in common})


def training_loss(run: Run) -> dict[str, float]:
    """The loss of a run's best checkpoint on its training words, without translating them."""
    prepared = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns)
    with split_scores.evaluation_precision(run):
        evaluation = run.task.evaluate(run.model, prepared.splits["train"], run.spec.evaluation, final=False)
    return {"loss": evaluation.metrics["loss"]}
