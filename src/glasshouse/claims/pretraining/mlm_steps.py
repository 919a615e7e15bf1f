"""Claim: masked pretraining needs more steps to converge than left-to-right pretraining. Same text, width and depth."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from glasshouse.claims.claim import GROUPS, STAND_IN, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.pretraining import arithmetic
from glasshouse.claims.rules import higher
from glasshouse.results.study import StudyResults
from glasshouse.runs.run import Run
from glasshouse.specs.errors import RunError
from glasshouse.tasks.masked_token import MASKING_RATE

# Shares of the whole improvement of the loss at which convergence is measured. One of them decides.
SHARES = (0.9, 0.95, 0.99)
DECIDING_SHARE = 0.95
# The recipe's learning rate, half of it and twice it. The verdict is judged at each.
RATES = ("1e-3", "2e-3", "4e-3")
RECIPE_RATE = "2e-3"
# A curve that makes a larger share of its improvement in the last quarter of the steps has not converged.
MAX_LATE_SHARE = 0.01
# Steps between two evaluations. A smaller difference cannot be seen on the curves.
EVERY = 50
LEFT, MASKED = KINDS = ("left to right", "masked")
STUDIES = {LEFT: "left-to-right", MASKED: "masked"}
WORDS = (
    arithmetic.PRETRAIN,
    "training.steps=1500",
    "training.schedule=constant",
    f"evaluation.every={EVERY}",
    f"training.learning_rate={','.join(RATES)}",
)
Curve = Sequence[tuple[int, float]]


def steps_key(rate: str, share: float, kind: str) -> str:
    return f"{rate}/{share:g}/{STUDIES[kind]}"


def where(rate: str) -> str:
    return f"at a learning rate of {rate}"


class MLMSteps(Claim):
    """Trains an encoder on masked tokens and a decoder on next tokens. Convergence is measured on each run's own curve."""

    group = GROUPS[5]
    statement = "All else equal, masked pretraining needs more steps to converge than left-to-right pretraining."
    source = "course work on pretraining"
    reported = "asserted, without figures"
    why = "A step of masked pretraining predicts 15 % of its tokens. A step from left to right predicts all of them."
    procedure = (
        "An encoder is pretrained on masked tokens and a decoder of the same width and depth on next tokens, with the same "
        "text, tokenizer, batches and number of steps. A run has converged at the step at which its validation loss has "
        "made 95 % of its whole improvement, from the loss of the untrained model to its lowest loss, with linear "
        "interpolation between evaluations; the learning rate is constant after warm-up, so that no schedule determines "
        "that step. Steps are compared per seed at three learning rates, with a margin of 50 steps, the distance of two "
        "evaluations; other shares of the improvement are shown."
    )
    would_change = (
        "Counting predictions instead of steps, which favours masked pretraining; or a masking rate at which a step "
        "predicts more tokens."
    )
    data = STAND_IN
    studies = (
        StudyPlan("masked", WORDS, metric="validation.loss", quick=(*arithmetic.QUICK_PRETRAIN, "evaluation.every=1")),
        StudyPlan(
            "left-to-right",
            (*WORDS, "task=next-token", "model.kind=decoder", "data.tokenizer_file={tokenizer}"),
            metric="validation.loss",
            quick=(*arithmetic.QUICK_PRETRAIN, "evaluation.every=1"),
        ),
    )
    quantities: ClassVar = {
        **{
            steps_key(rate, share, kind): Quantity(
                f"steps to {100 * share:g} % of the improvement, {kind}, {where(rate)}", "validation.loss", "steps"
            )
            for rate in RATES
            for share in SHARES
            for kind in KINDS
        },
        **{
            f"predictions/{STUDIES[kind]}": Quantity(
                f"predictions to {100 * DECIDING_SHARE:g} % of the improvement, {kind}, {where(RECIPE_RATE)}",
                "validation.loss",
                "thousands",
                1e-3,
            )
            for kind in KINDS
        },
    }
    parts = tuple(
        higher(
            steps_key(rate, DECIDING_SHARE, MASKED),
            than=steps_key(rate, DECIDING_SHARE, LEFT),
            margin=EVERY,
            name="masked pretraining needs more steps",
            setting=where(rate),
        )
        for rate in RATES
    )
    figures = (
        LineFigure(
            "steps to a share of the improvement",
            "share of the improvement, %",
            "steps",
            {kind: {100 * share: steps_key(RECIPE_RATE, share, kind) for share in SHARES} for kind in KINDS},
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        masked = bench.study("masked")
        # Both models use the masked model's tokenizer, whose additional mask token does not affect the decoder.
        first = first_run(bench.finished_runs(masked, RECIPE_RATE), masked.name)
        left = bench.study("left-to-right", tokenizer=str(first.folder.tokenizer_file.absolute()))
        series, notes = {}, []
        for kind, study in ((LEFT, left), (MASKED, masked)):
            for rate in RATES:
                for share in SHARES:
                    series[steps_key(rate, share, kind)] = convergence_steps(bench, study, rate, share)
            notes.append(late_note(bench.finished_runs(study, RECIPE_RATE), kind))
            predicted = (MASKING_RATE if kind == MASKED else 1.0) * first.spec.training.batch * first.spec.data.context
            deciding = series[steps_key(RECIPE_RATE, DECIDING_SHARE, kind)].values
            series[f"predictions/{STUDIES[kind]}"] = Series({seed: steps * predicted for seed, steps in deciding.items()})
        return Measurements(
            series,
            tuple(bench.facts(masked, left)),
            notes=(
                "this experiment cannot separate three differences: a step of masked pretraining predicts fewer tokens, a "
                "masked model sees both sides of a token, and the two predictions are not equally hard; so each kind is "
                "measured on its own curve, and the number of steps does not tell which pretraining is better",
                *filter(None, notes),
            ),
        )


def first_run(runs: Sequence[Run], study: str) -> Run:
    """The first finished run of a study."""
    if not runs:
        raise RunError(f"every run of the study {study!r} diverged, so it has no tokenizer; lower its learning rate")
    return runs[0]


def convergence_steps(bench: Bench, study: StudyResults, rate: str, share: float) -> Series:
    """Seed -> the step at which the run has made this share of its improvement; NaN if the run diverged."""
    steps = dict.fromkeys(bench.values(study, rate, "validation.loss").values, math.nan)
    for run in bench.finished_runs(study, rate):
        steps[run.spec.training.seed] = convergence_step(*loss_curve(run.metrics), share)
    return Series(steps)


def loss_curve(rows: Iterable[Mapping[str, Any]]) -> tuple[float, list[tuple[int, float]]]:
    """(the untrained model's loss on the first batch, (step, validation loss) points) from a run's metric log."""
    log = list(rows)
    first = next((float(row["loss"]) for row in log if "loss" in row), float("nan"))
    return first, [(int(row["step"]), float(row["validation.loss"])) for row in log if "validation.loss" in row]


def convergence_step(start: float, curve: Curve, share: float) -> float:
    """The step, interpolated between evaluations, at which a loss has made a share of its whole improvement.

    NaN if the loss never improved.
    """
    lowest = min((loss for _, loss in curve), default=float("nan"))
    if not lowest < start:
        return float("nan")
    target = start - share * (start - lowest)
    previous_step, previous_loss = 0, start
    for step, loss in curve:
        if loss <= target:
            return previous_step + (step - previous_step) * (previous_loss - target) / (previous_loss - loss)
        previous_step, previous_loss = step, loss
    raise AssertionError("the lowest loss of a curve is never above the target")


def late_share(start: float, curve: Curve) -> float:
    """The share of the whole improvement that happened in the last quarter of the steps."""
    last = max((step for step, _ in curve), default=0)
    lowest, early = (min((loss for step, loss in curve if step <= end), default=start) for end in (last, 0.75 * last))
    return (early - lowest) / (start - lowest) if lowest < start else float("nan")


def late_note(runs: Sequence[Run], kind: str) -> str:
    """A warning if the loss was still falling at the end; otherwise empty."""
    shares = [late_share(*loss_curve(run.metrics)) for run in runs]
    mean = statistics.fmean(shares) if shares else float("nan")
    if not mean > MAX_LATE_SHARE:
        return ""
    return (
        f"{kind}: {100 * mean:.1f} % of the improvement came in the last quarter of the steps; longer training would change "
        "its step of convergence"
    )
