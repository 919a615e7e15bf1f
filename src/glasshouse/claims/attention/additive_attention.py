"""Claim: additive attention is better with small heads; dot-product attention is cheaper, most of all with large heads."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from glasshouse.claims import margins, step_timing
from glasshouse.claims.attention import initialisation_choice, ngram_opponents
from glasshouse.claims.attention.initialisation_choice import SCALES
from glasshouse.claims.attention.quick_overrides import QUICK
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import equal, higher, lower, zero
from glasshouse.claims.step_timing import Timing
from glasshouse.studies import arms
from glasshouse.training import cost_plan, devices
from glasshouse.training.job import Job

DOT, ADDITIVE = KINDS = ("dot-product", "additive")
HEAD_WIDTHS = (8, 16, 32, 64, 128)
# The head widths that count as small. Heads usually have a width of 32 or more.
SMALL = (8, 16)
RECIPE = ("characters", "model.heads=2")
TUNE = "training.learning_rate=1e-3,3e-3,1e-2,3e-2,1e-1"
# Costs are measured on input so long that attention takes a large part of a step.
COST_OVERRIDES = ("data.context=256", "training.batch=4", "training.precision=fp32")
GRID = (f"model.head_width={','.join(map(str, HEAD_WIDTHS))}", f"model.attention={','.join(KINDS)}")


class AdditiveAgainstDotProduct(Claim):
    """Trains both kinds of attention at every head width, each arm with its own learning rate and initial scale."""

    group = GROUPS[0]
    statement = (
        "Additive attention is better if queries and keys are small vectors; dot-product attention is cheaper and scales."
    )
    source = "course work on attention"
    reported = "asserted, no figures"
    why = (
        "Additive attention scores each pair by a small network, which can express more than a dot product of short "
        "vectors. That network must be computed for every pair and every feature, a dot product is one matrix product."
    )
    procedure = (
        "Small language models over characters are trained with both kinds of attention at head widths 8, 16, 32, 64 and "
        "128 and are otherwise the same. Each arm has the best of five learning rates and of three initial scales (0.5, 1 "
        "and 2), both chosen on the validation text. Additive attention must have the lower test loss at head widths 8 "
        "and 16. Dot-product attention must take less time for a training step and less memory at every head width, and "
        "the additional time of additive attention must grow from the smallest to the largest. Steps are timed in rounds "
        "over all arms on input of 256 tokens, and one arm is timed twice under two names."
    )
    would_change = (
        "A longer training or a task that needs a sharper choice between neighbours. A fused kernel for additive attention "
        "would change its memory and perhaps its time."
    )
    data = PUBLIC_TEXT
    studies = (
        StudyPlan(
            "widths",
            (*RECIPE, "evaluation.batch=512", *GRID, initialisation_choice.WORD),
            metric="test.loss",
            tune=TUNE,
            margin=margins.CHARACTER_LOSS,
            quick=(*QUICK, "training.batch=4"),
        ),
        StudyPlan(
            "costs",
            (*RECIPE, *COST_OVERRIDES, *GRID),
            quick=(*QUICK, "data.context=32", "training.batch=2"),
            timed_only=True,
            timing=Timing(steps=10, again=True),
        ),
    )
    quantities: ClassVar = {
        **{
            f"loss/{width}/{kind}": Quantity(
                f"test loss, head width {width}, {kind}, chosen initial scale", "test.loss", "nats per character"
            )
            for width in HEAD_WIDTHS
            for kind in KINDS
        },
        **{
            f"loss/{width}/{kind}/{scale}": Quantity(
                f"test loss, head width {width}, {kind}, initial scale {scale}", "test.loss", "nats per character"
            )
            for width in HEAD_WIDTHS
            for kind in KINDS
            for scale in SCALES
        },
        **{
            f"time/{width}": Quantity(
                f"time of a step with additive attention / with dot-product attention, head width {width}",
                "seconds per step",
                per="round",
            )
            for width in HEAD_WIDTHS
        },
        "time/again": Quantity(
            f"time of the same step under two names (dot-product, head width {HEAD_WIDTHS[0]})",
            "seconds per step",
            per="round",
        ),
        **{
            f"memory/{width}": Quantity(
                f"memory with additive attention / with dot-product attention, head width {width}", "bytes, counted"
            )
            for width in HEAD_WIDTHS
        },
        "not-less-memory": Quantity(
            "head widths at which dot-product attention does not need less memory", "bytes, counted", per="head width"
        ),
        **ngram_opponents.ngram_quantities("nats per character"),
    }
    parts = (
        *(
            lower(
                f"loss/{width}/{ADDITIVE}",
                than=f"loss/{width}/{DOT}",
                margin=margins.CHARACTER_LOSS,
                name=f"additive attention has the lower loss, head width {width}",
                decides=width in SMALL,
            )
            for width in HEAD_WIDTHS
        ),
        *(
            higher(
                f"time/{width}",
                than=1.0,
                margin=margins.STEP_TIME,
                name=f"a step of additive attention takes longer, head width {width}",
            )
            for width in HEAD_WIDTHS
        ),
        higher(
            f"time/{HEAD_WIDTHS[-1]}",
            than=f"time/{HEAD_WIDTHS[0]}",
            margin=margins.STEP_TIME,
            name=f"the additional time grows from head width {HEAD_WIDTHS[0]} to {HEAD_WIDTHS[-1]}",
        ),
        zero("not-less-memory", name="dot-product attention needs less memory at every head width"),
        *(
            lower(
                f"loss/{width}/{ADDITIVE}/{scale}",
                than=f"loss/{width}/{DOT}/{scale}",
                margin=margins.CHARACTER_LOSS,
                name=f"additive attention has the lower loss, head width {width}",
                setting=f"initial scale {scale}",
                decides=False,
            )
            for scale in SCALES
            for width in HEAD_WIDTHS
        ),
        equal(
            "time/again",
            to=1.0,
            margin=margins.STEP_TIME,
            name="control: one arm under two names takes the same time",
            decides=False,
        ),
    )
    figures = (
        LineFigure(
            "widths",
            "head width",
            "test loss, nats per character",
            {kind: {width: f"loss/{width}/{kind}" for width in HEAD_WIDTHS} for kind in KINDS},
        ),
        LineFigure(
            "time",
            "head width",
            "time of a step, additive / dot-product",
            {"additive / dot-product": {width: f"time/{width}" for width in HEAD_WIDTHS}},
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("widths")
        series: dict[str, Series] = {}
        facts = bench.facts(study)
        for width in HEAD_WIDTHS:
            for kind in KINDS:
                names = {scale: arm_name(width, kind, scale) for scale in SCALES}
                losses, chosen = initialisation_choice.test_losses(bench, study, names)
                series |= {f"loss/{width}/{kind}/{scale}": losses[scale] for scale in SCALES}
                series[f"loss/{width}/{kind}"] = losses[chosen]
                facts.append((f"initial scale chosen on the validation text, head width {width}, {kind}", chosen))
        series |= ngram_opponents.ngram_series(bench, study)
        memory = bench.cached("bytes", lambda: planned_bytes(bench))
        series |= time_ratios(bench.step_seconds("costs")) | memory_ratios(memory)
        facts += [(f"bytes in training, {name}", f"{count:,}") for name, count in memory.items()]
        notes = (
            "Memory is that of the weights, the optimiser and the activations stored for the backward pass, counted from "
            "tensor shapes; attention uses its fused kernel, as in a single run.",
        )
        return Measurements(series, tuple(facts), notes)


def arm_name(width: int, kind: str, scale: str) -> str:
    """The name of an arm in the study of head widths."""
    return f"{cost_arm(width, kind)}, initialisation={scale}"


def cost_arm(width: int, kind: str) -> str:
    """The name of an arm among those whose costs are measured."""
    return f"head_width={width}, attention={kind}"


def time_ratios(seconds: Mapping[str, Sequence[float]]) -> dict[str, Series]:
    """Quantity -> round -> time of a step of one arm divided by that of the other, both timed in this round."""

    def ratio(numerator: str, denominator: str) -> Series:
        rounds = zip(seconds[numerator], seconds[denominator], strict=True)
        return Series({number: upper / under for number, (upper, under) in enumerate(rounds)})

    ratios = {f"time/{width}": ratio(cost_arm(width, ADDITIVE), cost_arm(width, DOT)) for width in HEAD_WIDTHS}
    return {**ratios, "time/again": ratio(step_timing.AGAIN, cost_arm(HEAD_WIDTHS[0], DOT))}


def memory_ratios(memory: Mapping[str, int]) -> dict[str, Series]:
    """Quantity -> memory of additive attention divided by that of dot-product attention, and where it is not more."""
    pairs = {width: (memory[cost_arm(width, ADDITIVE)], memory[cost_arm(width, DOT)]) for width in HEAD_WIDTHS}
    ratios = {f"memory/{width}": Series({0: additive / dot}) for width, (additive, dot) in pairs.items()}
    not_less = Series({width: float(additive <= dot) for width, (additive, dot) in pairs.items()})
    return {**ratios, "not-less-memory": not_less}


def planned_bytes(bench: Bench) -> dict[str, int]:
    """Arm -> bytes of memory in training."""
    variants = arms.expand(arms.parse(bench.words("costs")))
    jobs = {variant.name: Job.prepare(variant.spec, devices.pick(bench.device)) for variant in variants}
    return {name: sum(cost_plan.training_memory(job, job.spec.training.precision).values()) for name, job in jobs.items()}
