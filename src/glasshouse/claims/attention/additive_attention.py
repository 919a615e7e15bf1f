"""Claim: additive attention is better with small heads; dot-product attention is cheaper, most of all with large heads."""

from collections.abc import Mapping, Sequence
from typing import Any

from glasshouse.claims import paired_comparisons, rules, split_scores
from glasshouse.claims.claim import UPHELD, Bench, Claim, Evidence, Finding
from glasshouse.formatting import size
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge_family
from glasshouse.pages import line_figure
from glasshouse.studies import arms
from glasshouse.training import cost_plan, devices
from glasshouse.training.job import Job

DOT, ADDITIVE = "dot-product", "additive"
HEAD_WIDTHS = (8, 16, 32, 64, 128)
# The head widths that count as small. Heads usually have a width of 32 or more.
SMALL = (8, 16)
RULE = VerdictRule(margin=paired_comparisons.CHARACTER_MARGIN)
# Costs are measured on input so long that attention takes a large part of a step.
COST_OVERRIDES = ("data.context=256", "training.batch=4", "training.precision=fp32")
QUICK_COST_OVERRIDES = ("data.context=32", "training.batch=2", *split_scores.QUICK)
Cost = Mapping[str, Any]  # "seconds": seconds per step in each round; "memory": bytes


class AdditiveAgainstDotProduct(Claim):
    """Trains both kinds of attention at every head width, each arm with its own best learning rate."""

    statement = (
        "Additive attention is better if queries and keys are small vectors; dot-product attention is cheaper and scales."
    )
    source = "course work on attention"
    reported = "asserted, no figures"
    rule = (
        "Models with heads of width 8, 16, 32, 64 and 128 are trained with both kinds of attention and are otherwise "
        "the same (additive attention has one more vector per head). Each arm has its own best learning rate, chosen on "
        "the validation text. Two statements are judged. Better if small: additive attention has the lower test loss at "
        "head widths 8 and 16, paired by seed, with Holm's correction over all head widths; refuted if at one of the "
        "two its loss is higher or shown to differ by less than 0.005 nats per character. Cheaper and scales: at every "
        "head width a training step of dot-product attention takes less time (timed in rounds on input of 256 tokens, "
        "paired by round, with Holm's correction) and less memory, and the additional time of additive attention grows "
        "from the smallest head width to the largest. The claim is upheld if both statements are upheld, refuted if "
        "either is refuted, otherwise undecided."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        widths = SMALL if bench.quick else HEAD_WIDTHS
        grid = (f"model.head_width={','.join(map(str, widths))}", f"model.attention={DOT},{ADDITIVE}")
        study = bench.compare(
            "widths",
            *("characters", "model.heads=2", "evaluation.batch=512", *grid),
            metric="test.loss",
            tune=None if bench.quick else "training.learning_rate=1e-3,3e-3,1e-2,3e-2",
            quick=(*split_scores.QUICK, *split_scores.QUICK_TEXT, "training.steps=6", "evaluation.every=6"),
        )
        losses = {
            kind: {width: bench.values(study, arm_name(width, kind), "test.loss") for width in widths}
            for kind in (DOT, ADDITIVE)
        }
        differences = judge_family({str(width): (losses[DOT][width], losses[ADDITIVE][width]) for width in widths}, RULE)
        better_verdict = better_with_small_heads(differences)
        cost_words = ("characters", "model.heads=2", *(QUICK_COST_OVERRIDES if bench.quick else COST_OVERRIDES), *grid)
        costs = measure_costs(bench, cost_words)
        cost_verdict, cost_text = judge_costs(costs, widths)
        picture = bench.folder / "widths.svg"
        series = {kind: paired_comparisons.means_with_intervals(by_width) for kind, by_width in losses.items()}
        line_figure.draw(series, picture, "head width", "test loss, nats per character")
        small_text = "; ".join(f"{width}: {paired_comparisons.describe(differences[width])}" for width in map(str, SMALL))
        return Finding(
            verdict=rules.all_of(better_verdict, cost_verdict),
            because=f"Better if small: {better_verdict}. Test loss of additive attention against dot-product "
            f"attention at head width {small_text}. Cheaper and scales: {cost_verdict}. {cost_text}",
            scope=f"State of the Union addresses, one token per character, two heads per block; {rules.study_scope(study)}; "
            f"costs with {', '.join(cost_words[2:5])}",
            rows=tuple(_rows(losses, differences, costs, {arm.name: arm.parameters for arm in study.arms})),
            studies=(study.name,),
            pictures=(picture.name,),
            notes=(
                "memory is that of the weights, the optimiser and the activations stored for the backward pass, counted "
                "from tensor shapes; attention uses its fused kernel, as in a single run",
                *(f"{arm.name}: {note}" for arm in study.arms for note in arm.notes),
            ),
        )


def arm_name(width: int, kind: str) -> str:
    """The name of an arm in the study."""
    return f"head_width={width}, attention={kind}"


def better_with_small_heads(differences: Mapping[str, Difference]) -> str:
    """The verdict on: additive attention is better at each small head width. The differences are already corrected."""
    return rules.all_of(*(rules.direction(differences[str(width)]) for width in SMALL))


def judge_costs(costs: Mapping[str, Cost], widths: Sequence[int]) -> tuple[str, str]:
    """The verdict on: dot-product attention takes less time and memory at every width, and the gap grows. With a text."""
    seconds = {arm: dict(enumerate(cost["seconds"])) for arm, cost in costs.items()}
    pairs = {str(width): (seconds[arm_name(width, ADDITIVE)], seconds[arm_name(width, DOT)]) for width in widths}
    # A saving of less than 2 % of a step does not matter.
    shortest = min(sum(additive.values()) / len(additive) for additive, _ in pairs.values())
    differences = judge_family(pairs, VerdictRule(margin=0.02 * shortest))
    time_verdict = rules.all_of(*(rules.direction(difference) for difference in differences.values()))
    extra = {width: _extra_seconds(seconds, width) for width in (widths[0], widths[-1])}
    growth = [last - first for first, last in zip(extra[widths[0]], extra[widths[-1]], strict=True)]
    growth_verdict = rules.beats(growth, 0.0, higher_is_better=True, parts=2)
    memory = {arm: cost["memory"] for arm, cost in costs.items()}
    needs_less = all(memory[arm_name(width, DOT)] < memory[arm_name(width, ADDITIVE)] for width in widths)
    (first_time, first_memory), (last_time, last_memory) = (_cost_ratio(costs, width) for width in (widths[0], widths[-1]))
    times = "; ".join(
        f"{width}: {paired_comparisons.describe(difference, 1e3)}" for width, difference in differences.items()
    )
    verdict = rules.all_of(time_verdict, growth_verdict, UPHELD if needs_less else rules.REFUTED)
    return verdict, (
        f"Milliseconds per step of dot-product attention against additive attention at head width {times}. Additive "
        f"attention takes {first_time:.2f} times the time and {first_memory:.2f} times the memory at head width "
        f"{widths[0]}, and {last_time:.2f} times the time and {last_memory:.2f} times the memory at {widths[-1]}."
    )


def measure_costs(bench: Bench, words: Sequence[str]) -> dict[str, Cost]:
    """Arm -> seconds per step in each round, and bytes of memory in training."""
    seconds = bench.step_seconds("seconds", *words)

    def planned_bytes() -> dict[str, int]:
        variants = arms.expand(arms.parse(words))
        jobs = {variant.name: Job.prepare(variant.spec, devices.pick(bench.device)) for variant in variants}
        return {
            name: sum(cost_plan.training_memory(job, job.spec.training.precision).values()) for name, job in jobs.items()
        }

    memory = bench.cached("bytes", planned_bytes)
    return {arm: {"seconds": rounds, "memory": memory[arm]} for arm, rounds in seconds.items()}


def _extra_seconds(seconds: Mapping[str, Mapping[int, float]], width: int) -> list[float]:
    """The additional seconds per step of additive attention in each round."""
    dot, additive = seconds[arm_name(width, DOT)], seconds[arm_name(width, ADDITIVE)]
    return [additive[round_number] - dot[round_number] for round_number in sorted(dot)]


def _cost_ratio(costs: Mapping[str, Cost], width: int) -> tuple[float, float]:
    """(time, memory) of additive attention divided by those of dot-product attention."""
    dot, additive = costs[arm_name(width, DOT)], costs[arm_name(width, ADDITIVE)]
    return sum(additive["seconds"]) / sum(dot["seconds"]), additive["memory"] / dot["memory"]


def _rows(
    losses: Mapping[str, Mapping[int, paired_comparisons.BySeed]],
    differences: Mapping[str, Difference],
    costs: Mapping[str, Cost],
    parameters: Mapping[str, int],
) -> list[Evidence]:
    rows = []
    for width in losses[DOT]:
        for kind in (DOT, ADDITIVE):
            name = arm_name(width, kind)
            milliseconds = rules.format_plus_minus(costs[name]["seconds"], scale=1000)
            cost = f"{parameters[name]:,} parameters, {milliseconds} ms per step, {size(costs[name]['memory'])}"
            loss = rules.format_with_seeds(losses[kind][width])
            rows.append(Evidence(f"test loss at head width {width}, {kind}", "", f"{loss}; {cost}"))
        difference = paired_comparisons.describe(differences[str(width)])
        rows.append(Evidence(f"additive against dot-product at head width {width}", "", difference))
    return rows
