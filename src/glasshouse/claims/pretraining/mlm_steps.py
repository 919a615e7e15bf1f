"""Claim: masked pretraining needs more steps to converge than left-to-right pretraining. Same text, width and depth."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.pretraining import arithmetic
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge
from glasshouse.runs.run import Run
from glasshouse.tasks.masked_token import MASKING_RATE

# Shares of the whole improvement of the loss at which convergence is measured. One of them decides.
SHARES = (0.9, 0.95, 0.99)
DECIDING_SHARE = 0.95
# The recipe's learning rate decides; the others show whether the result depends on it.
RATES = ("1e-3", "2e-3", "4e-3")
DECIDING_RATE = "2e-3"
# A curve that makes a larger share of its improvement in the last quarter of the steps has not converged.
MAX_LATE_SHARE = 0.01
LEFT, MASKED = "left to right", "masked"
Curve = Sequence[tuple[int, float]]


class MLMSteps(Claim):
    """Trains an encoder on masked tokens and a decoder on next tokens. Convergence is measured on each run's own curve."""

    statement = "All else equal, masked pretraining needs more steps to converge than left-to-right pretraining."
    source = "course work on pretraining"
    reported = "asserted, without figures"
    rule = (
        f"A run has converged at the step at which its validation loss has made {100 * DECIDING_SHARE:g} % of its whole "
        "improvement, from the loss of the untrained model to its lowest loss, with linear interpolation between "
        "evaluations. The learning rate is constant after warm-up, so that no schedule determines the step. At the "
        "recipe's learning rate, paired by seed: the claim is upheld if masked pretraining needs more steps. It is "
        "refuted if masked pretraining needs fewer, or if the difference is shown to be smaller than one standard "
        "deviation between seeds of left-to-right pretraining. Otherwise it is undecided. Other shares and learning "
        "rates are shown and do not decide."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        words = (arithmetic.PRETRAIN, "training.steps=1500", "training.schedule=constant", "evaluation.every=50")
        learning_rates = (DECIDING_RATE, RATES[-1]) if bench.quick else RATES
        rates = f"training.learning_rate={','.join(learning_rates)}"
        quick = (*arithmetic.QUICK_PRETRAIN, "evaluation.every=1")
        masked = bench.compare("masked", *words, rates, metric="validation.loss", quick=quick)
        # Both models use the masked model's tokenizer, whose additional mask token does not affect the decoder.
        first = arithmetic.first_run(bench.finished_runs(masked, DECIDING_RATE), masked.name)
        tokenizer = f"data.tokenizer_file={first.folder.tokenizer_file}"
        left_words = ("task=next-token", "model.kind=decoder", tokenizer)
        left = bench.compare("left-to-right", *words, *left_words, rates, metric="validation.loss", quick=quick)
        runs = {
            (kind, rate): bench.finished_runs(study, rate)
            for kind, study in ((LEFT, left), (MASKED, masked))
            for rate in learning_rates
        }
        steps = {
            (kind, rate, share): {
                run.spec.training.seed: convergence_step(*loss_curve(run.metrics), share) for run in finished
            }
            for (kind, rate), finished in runs.items()
            for share in SHARES
        }
        difference = compare_steps(steps[LEFT, DECIDING_RATE, DECIDING_SHARE], steps[MASKED, DECIDING_RATE, DECIDING_SHARE])
        spec = arithmetic.first_run(runs[MASKED, DECIDING_RATE], masked.name).spec
        return Finding(
            verdict=rules.direction(difference, "worse"),
            because=f"Steps to {100 * DECIDING_SHARE:g} % of the improvement: {difference.sentence} (more steps are worse).",
            scope=(
                f"generated sentences about numbers; width {spec.model.width}, {spec.model.layers} layers, "
                f"{masked.arms[0].steps:,} steps of {spec.training.batch} windows of {spec.data.context} tokens at a "
                f"constant learning rate, {len(masked.arms[0].seeds)} seeds"
            ),
            rows=tuple(_rows(steps, runs, {LEFT: left.arms[0].parameters, MASKED: masked.arms[0].parameters})),
            studies=(masked.name, left.name),
            notes=(
                "this experiment cannot separate three differences: a step of masked pretraining predicts "
                f"{100 * MASKING_RATE:.0f} % of its tokens and a left-to-right step predicts all of them, a masked "
                "model sees both sides of a token, and the two predictions are not equally hard; so each kind is "
                "measured on its own curve, and the number of steps does not tell which pretraining is better",
                "the two losses are of different predictions: the studies compare learning rates, never one kind with the "
                "other",
                *(note for note in (late_note(runs[kind, DECIDING_RATE], kind) for kind in (LEFT, MASKED)) if note),
            ),
        )


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


def compare_steps(left: Mapping[int, float], masked: Mapping[int, float]) -> Difference:
    """Masked pretraining compared with left-to-right pretraining, paired by seed; fewer steps are better."""
    return judge({LEFT: left, MASKED: masked}, VerdictRule())[MASKED]


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


def _rows(
    steps: Mapping[tuple[str, str, float], Mapping[int, float]],
    runs: Mapping[tuple[str, str], Sequence[Run]],
    parameters: Mapping[str, int],
) -> Iterable[Evidence]:
    for share in SHARES:
        for kind in (LEFT, MASKED):
            count = rules.format_with_seeds(steps[kind, DECIDING_RATE, share])
            yield Evidence(f"steps to {100 * share:g} % of the improvement, {kind}", "", count)
    for rate in dict.fromkeys(rate for _, rate in runs):
        if rate != DECIDING_RATE:
            difference = compare_steps(steps[LEFT, rate, DECIDING_SHARE], steps[MASKED, rate, DECIDING_SHARE])
            what = f"steps to {100 * DECIDING_SHARE:g} % of the improvement, at a learning rate of {rate}"
            yield Evidence(what, "", difference.sentence)
    spec = runs[MASKED, DECIDING_RATE][0].spec
    for kind, predicted_share in ((LEFT, 1.0), (MASKED, MASKING_RATE)):
        per_step = predicted_share * spec.training.batch * spec.data.context
        deciding_steps = steps[kind, DECIDING_RATE, DECIDING_SHARE]
        predictions = {seed: count * per_step for seed, count in deciding_steps.items()}
        thousands = rules.format_with_seeds(predictions, scale=1e-3)
        yield Evidence(f"thousands of predictions to that step, {kind}", "", thousands)
    for kind, number in parameters.items():
        yield Evidence(f"parameters, {kind}", "", f"{number:,}")
