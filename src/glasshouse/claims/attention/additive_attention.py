"""Is additive attention better in small spaces, and is the dot product cheaper, the more so the larger the space?"""

from collections.abc import Mapping, Sequence
from typing import Any

from glasshouse.claims import paired_questions, rules, split_scores
from glasshouse.claims.claim import UPHELD, Bench, Claim, Evidence, Finding
from glasshouse.formatting import size
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge_family
from glasshouse.pages import line_figure
from glasshouse.studies import arms
from glasshouse.training import cost_plan as planning
from glasshouse.training import devices
from glasshouse.training.job import Job

DOT, ADDITIVE = "dot-product", "additive"
WIDTHS = (8, 16, 32, 64, 128)
# The spaces that are called small; the model's width is 64, and a usual head has 32 or more.
SMALL = (8, 16)
RULE = VerdictRule(margin=paired_questions.LETTER_MARGIN)
# Where costs are compared the input is long enough for attention to be a good part of a step.
LONG = ("data.context=256", "training.batch=4", "training.precision=fp32")
SHORT = ("data.context=32", "training.batch=2", *split_scores.QUICK)
Cost = Mapping[str, Any]  # seconds of a step, round by round, and bytes


class AdditiveAttention(Claim):
    """Trains both at every size of the space in which queries and keys meet, each at its own learning rate."""

    statement = "Additive attention is better in small spaces; dot-product attention is cheaper and scales."
    source = "course work on attention"
    reported = "asserted, no figures"
    rule = (
        "Heads of 8, 16, 32, 64 and 128 numbers in a model that is otherwise the same (additive attention has one more "
        "vector a head), each arm at its own best learning rate, chosen on the validation text; test loss paired by seed, "
        "Holm over the sizes. Better in small spaces: additive has the lower loss at 8 and at 16; refuted where it is "
        "higher at one of them, or shown to differ by less than 0.005 nats a letter. Cheaper and scales: at every size the "
        "dot product's training step takes less time (rounds of steps on an input of 256 tokens, paired, Holm) and less "
        "memory, and what additive attention takes more grows from the smallest size to the largest. Upheld where both "
        "statements are, refuted where either is, else undecided."
    )

    def try_it(self, bench: Bench) -> Finding:
        widths = SMALL if bench.quick else WIDTHS
        grid = (f"model.head_width={','.join(map(str, widths))}", f"model.attention={DOT},{ADDITIVE}")
        study = bench.compare(
            "widths",
            *("characters", "model.heads=2", "evaluation.batch=512", *grid),
            metric="test.loss",
            tune=None if bench.quick else "training.learning_rate=1e-3,3e-3,1e-2,3e-2",
            quick=(*split_scores.QUICK, *split_scores.QUICK_TEXT, "training.steps=6", "evaluation.every=6"),
        )
        losses = {
            kind: {width: bench.values(study, name_of(width, kind), "test.loss") for width in widths}
            for kind in (DOT, ADDITIVE)
        }
        quality = judge_family({str(width): (losses[DOT][width], losses[ADDITIVE][width]) for width in widths}, RULE)
        small = better_in_small(quality)
        timed = ("characters", "model.heads=2", *(SHORT if bench.quick else LONG), *grid)
        costs = measure_costs(bench, timed)
        cheap, why = cheaper(costs, widths)
        picture = bench.folder / "widths.svg"
        series = {kind: paired_questions.spans(rows) for kind, rows in losses.items()}
        line_figure.draw(series, picture, "size of a head", "test loss, nats a letter")
        said = "; ".join(f"{width}: {paired_questions.told(quality[width])}" for width in map(str, SMALL))
        return Finding(
            verdict=rules.all_of(small, cheap),
            because=f"Better in small spaces: {small}. Additive against dot-product, test loss at {said}. "
            f"Cheaper and scales: {cheap}. {why}",
            scope=f"State of the Union addresses, letter by letter, two heads a block; {rules.scope(study)}; costs with "
            f"{', '.join(timed[2:5])}",
            rows=tuple(_rows(losses, quality, costs, {arm.name: arm.parameters for arm in study.arms})),
            studies=(study.name,),
            pictures=(picture.name,),
            notes=(
                "memory is that of weights, optimiser and what a step keeps for its backward pass, counted from shapes; "
                "attention takes its fused path, as a single run does",
                *(f"{arm.name}: {note}" for arm in study.arms for note in arm.notes),
            ),
        )


def name_of(width: int, kind: str) -> str:
    """The study's arm."""
    return f"head_width={width}, attention={kind}"


def better_in_small(quality: Mapping[str, Difference]) -> str:
    """The verdict on: additive attention is better in each of the small spaces; `quality` is corrected already."""
    return rules.all_of(*(rules.direction(quality[str(width)]) for width in SMALL))


def cheaper(costs: Mapping[str, Cost], widths: Sequence[int]) -> tuple[str, str]:
    """The verdict on: the dot product takes less time and memory at every size, and the gap grows; and the figures."""
    seconds = {arm: dict(enumerate(each["seconds"])) for arm, each in costs.items()}
    pairs = {str(width): (seconds[name_of(width, ADDITIVE)], seconds[name_of(width, DOT)]) for width in widths}
    # A step that is faster by less than 2 % is not cheaper in any sense that matters.
    shortest = min(sum(first.values()) / len(first) for first, _ in pairs.values())
    found = judge_family(pairs, VerdictRule(margin=0.02 * shortest))
    time = rules.all_of(*(rules.direction(each) for each in found.values()))
    extra = {width: _extra(seconds, width) for width in (widths[0], widths[-1])}
    growth = [last - first for first, last in zip(extra[widths[0]], extra[widths[-1]], strict=True)]
    scales = rules.beats(growth, 0.0, higher_is_better=True, parts=2)
    bytes_of = {arm: each["memory"] for arm, each in costs.items()}
    lean = all(bytes_of[name_of(width, DOT)] < bytes_of[name_of(width, ADDITIVE)] for width in widths)
    ratios = [_ratio(costs, width) for width in (widths[0], widths[-1])]
    times = "; ".join(f"{width}: {paired_questions.told(each, 1e3)}" for width, each in found.items())
    verdict = rules.all_of(time, scales, UPHELD if lean else rules.REFUTED)
    return verdict, (
        f"Milliseconds of a step, dot-product against additive, at {times}. Additive takes {ratios[0][0]:.2f} times the "
        f"time and {ratios[0][1]:.2f} times the memory at {widths[0]}, {ratios[1][0]:.2f} and {ratios[1][1]:.2f} times at "
        f"{widths[-1]}."
    )


def measure_costs(bench: Bench, words: Sequence[str]) -> dict[str, Cost]:
    """Arm -> seconds of a step, round by round with every arm in its turn, and bytes of training."""
    seconds = bench.step_seconds("seconds", *words)

    def sizes() -> dict[str, int]:
        jobs = {each.name: Job.of(each.spec, devices.pick(bench.device)) for each in arms.variants(arms.read(words))}
        return {name: sum(planning.memory(job, job.spec.training.precision).values()) for name, job in jobs.items()}

    bytes_of = bench.once("bytes", sizes)
    return {arm: {"seconds": rounds, "memory": bytes_of[arm]} for arm, rounds in seconds.items()}


def _extra(seconds: Mapping[str, Mapping[int, float]], width: int) -> list[float]:
    """What additive attention takes more, round by round."""
    dot, additive = seconds[name_of(width, DOT)], seconds[name_of(width, ADDITIVE)]
    return [additive[turn] - dot[turn] for turn in sorted(dot)]


def _ratio(costs: Mapping[str, Cost], width: int) -> tuple[float, float]:
    """Additive over dot-product: time and memory."""
    dot, additive = costs[name_of(width, DOT)], costs[name_of(width, ADDITIVE)]
    return sum(additive["seconds"]) / sum(dot["seconds"]), additive["memory"] / dot["memory"]


def _rows(
    losses: Mapping[str, Mapping[int, paired_questions.BySeed]],
    quality: Mapping[str, Difference],
    costs: Mapping[str, Cost],
    parameters: Mapping[str, int],
) -> list[Evidence]:
    found = []
    for width in losses[DOT]:
        for kind in (DOT, ADDITIVE):
            name = name_of(width, kind)
            milliseconds = rules.figure(costs[name]["seconds"], scale=1000)
            figures = f"{parameters[name]:,} parameters, {milliseconds} ms a step, {size(costs[name]['memory'])}"
            found.append(Evidence(f"test loss at {width}, {kind}", "", f"{rules.shown(losses[kind][width])}; {figures}"))
        found.append(Evidence(f"additive against dot-product at {width}", "", paired_questions.told(quality[str(width)])))
    return found
