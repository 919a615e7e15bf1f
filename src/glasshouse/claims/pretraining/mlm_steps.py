"""Claim: masked pretraining needs more steps to converge than left-to-right pretraining. The same text, width and depth."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.pretraining import arithmetic
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge
from glasshouse.runs.run import Run
from glasshouse.tasks.masked_token import CHOSEN

SHARES = (0.9, 0.95, 0.99)
DECIDES = 0.95
# The recipe's own learning rate decides; the others show whether it hangs on that.
RATES = ("1e-3", "2e-3", "4e-3")
RATE = "2e-3"
# A curve that still gains this share of its improvement in the last quarter of the steps has not converged.
STILL = 0.01
LEFT, MASKED = "left to right", "masked"
Curve = Sequence[tuple[int, float]]


class MLMSteps(Claim):
    """An encoder that fills gaps against a decoder that continues, each by its own curve."""

    statement = "All else equal, masked pretraining needs more steps to converge than left-to-right pretraining."
    source = "course work on pretraining"
    reported = "asserted, without figures"
    rule = (
        f"A run has converged at the step where its validation loss has made {100 * DECIDES:g} % of its whole "
        "improvement: from the loss of the untrained model to its lowest, between evaluations along a straight line. "
        "The learning rate is constant after warm-up, so that no schedule says when. Paired by seed, at the recipe's "
        "learning rate: upheld where masked needs more steps, refuted where it needs fewer or where no difference "
        "reaches one standard deviation between seeds of left-to-right, else undecided. Other shares and learning "
        "rates are shown and do not decide."
    )

    def try_it(self, bench: Bench) -> Finding:
        words = (arithmetic.PRETRAIN, "training.steps=1500", "training.schedule=constant", "evaluation.every=50")
        tried = (RATE, RATES[-1]) if bench.quick else RATES
        rates = f"training.learning_rate={','.join(tried)}"
        quick = (*arithmetic.QUICK_PRETRAIN, "evaluation.every=1")
        masked = bench.compare("masked", *words, rates, metric="validation.loss", quick=quick)
        # The same tokens: those of a masked model have one more mark, which does no harm.
        tokens = f"data.tokenizer_file={arithmetic.first(bench.runs(masked, RATE), masked.name).folder.tokenizer_file}"
        other = ("task=next-token", "model.kind=decoder", tokens)
        left = bench.compare("left-to-right", *words, *other, rates, metric="validation.loss", quick=quick)
        runs = {(kind, rate): bench.runs(study, rate) for kind, study in ((LEFT, left), (MASKED, masked)) for rate in tried}
        steps = {
            (kind, rate, share): {run.spec.training.seed: converged(*course(run.metrics), share) for run in opened}
            for (kind, rate), opened in runs.items()
            for share in SHARES
        }
        difference = more_steps(steps[LEFT, RATE, DECIDES], steps[MASKED, RATE, DECIDES])
        spec = arithmetic.first(runs[MASKED, RATE], masked.name).spec
        return Finding(
            verdict=rules.direction(difference, "worse"),
            because=f"Steps to {100 * DECIDES:g} % of the improvement: {difference.sentence} (more steps are worse).",
            scope=(
                f"sentences about numbers, generated; width {spec.model.width}, {spec.model.layers} layers, "
                f"{masked.arms[0].steps:,} steps of {spec.training.batch} windows of {spec.data.context} tokens at a "
                f"constant learning rate, {len(masked.arms[0].seeds)} seeds"
            ),
            rows=tuple(_rows(steps, runs, {LEFT: left.arms[0].parameters, MASKED: masked.arms[0].parameters})),
            studies=(masked.name, left.name),
            notes=(
                f"what cannot be told apart here: a step of masked pretraining asks about {100 * CHOSEN:.0f} % of its "
                "tokens and a left-to-right one about all, a masked model sees both sides, and what is asked is not "
                "equally hard; so each is held to its own curve, and the steps say nothing of which is the better "
                "pretraining",
                "the two losses are of different questions: the studies compare learning rates, never one kind with "
                "the other",
                *(note for note in (still(runs[kind, RATE], kind) for kind in (LEFT, MASKED)) if note),
            ),
        )


def course(rows: Iterable[Mapping[str, Any]]) -> tuple[float, list[tuple[int, float]]]:
    """(the loss before the first step, on its batch; the validation losses by step) from a run's log."""
    logged = list(rows)
    first = next((float(row["loss"]) for row in logged if "loss" in row), float("nan"))
    return first, [(int(row["step"]), float(row["validation.loss"])) for row in logged if "validation.loss" in row]


def converged(start: float, curve: Curve, share: float) -> float:
    """The step, perhaps between two evaluations, at which a loss has made a share of its whole improvement; NaN where it
    never improved."""
    lowest = min((loss for _, loss in curve), default=float("nan"))
    if not lowest < start:
        return float("nan")
    goal = start - share * (start - lowest)
    before, above = 0, start
    for step, loss in curve:
        if loss <= goal:
            return before + (step - before) * (above - goal) / (above - loss)
        before, above = step, loss
    raise AssertionError("the lowest loss of a curve lies below every goal above it")


def late(start: float, curve: Curve) -> float:
    """The share of the whole improvement that fell into the last quarter of the steps."""
    last = max((step for step, _ in curve), default=0)
    lowest, early = (min((loss for step, loss in curve if step <= end), default=start) for end in (last, 0.75 * last))
    return (early - lowest) / (start - lowest) if lowest < start else float("nan")


def more_steps(left: Mapping[int, float], masked: Mapping[int, float]) -> Difference:
    """Masked against left-to-right, paired by seed; fewer steps are better."""
    return judge({LEFT: left, MASKED: masked}, VerdictRule())[MASKED]


def still(runs: Sequence[Run], kind: str) -> str:
    """A warning where the curves were still falling at the end."""
    shares = [late(*course(run.metrics)) for run in runs]
    mean = statistics.fmean(shares) if shares else float("nan")
    if not mean > STILL:
        return ""
    return f"{kind}: {100 * mean:.1f} % of the improvement came in the last quarter of the steps; more would move its mark"


def _rows(
    steps: Mapping[tuple[str, str, float], Mapping[int, float]],
    runs: Mapping[tuple[str, str], Sequence[Run]],
    parameters: Mapping[str, int],
) -> Iterable[Evidence]:
    for share in SHARES:
        for kind in (LEFT, MASKED):
            yield Evidence(
                f"steps to {100 * share:g} % of the improvement, {kind}", "", rules.shown(steps[kind, RATE, share])
            )
    for rate in dict.fromkeys(rate for _, rate in runs):
        if rate != RATE:
            found = more_steps(steps[LEFT, rate, DECIDES], steps[MASKED, rate, DECIDES])
            yield Evidence(f"the same at a learning rate of {rate}", "", found.sentence)
    spec = runs[MASKED, RATE][0].spec
    for kind, asked in ((LEFT, 1.0), (MASKED, CHOSEN)):
        each = asked * spec.training.batch * spec.data.context
        predictions = {seed: count * each for seed, count in steps[kind, RATE, DECIDES].items()}
        yield Evidence(f"predictions until then, thousands, {kind}", "", rules.shown(predictions, scale=1e-3))
    for kind, count in parameters.items():
        yield Evidence(f"parameters, {kind}", "", f"{count:,}")
