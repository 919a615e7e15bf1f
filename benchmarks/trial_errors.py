"""Error rates of whole trials of claims, by simulation: looks, items, compound claims, trivial effects and replication.

Every simulated trial is judged by `glasshouse.claims.rules.finding`, the function that judges real trials. The truth is
known, so false verdicts can be counted. These statements are false: upheld if a part does not hold; refuted if every part
holds; too small to matter if the difference reaches the margin. Undecided is never false.

    python benchmarks/trial_errors.py            # half an hour on one core
    python benchmarks/trial_errors.py --quick    # a tenth of the trials
    python benchmarks/trial_errors.py --smoke    # does it run?
    python benchmarks/trial_errors.py --t-test   # arms skewed apart, one look, without the adjustment for skewness
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from glasshouse.claims import rules
from glasshouse.claims.rules import higher, not_lower
from glasshouse.records import progress_bar
from glasshouse.results.claim import (
    DEPENDS,
    REFUTED,
    TOO_SMALL,
    UNDECIDED,
    UPHELD,
    Measured,
    Part,
    Quantity,
    Registration,
    Series,
)
from glasshouse.verdicts import skewness

ALPHA = 0.05
MARGIN = 1.0
# A smoke run has this many trials a figure, and this many figures.
SMOKE, SMOKE_ROWS = 4, 10
QUANTITY = Quantity("value", "test.value", higher_is_better=True)
EXCEPTION = "skewed apart"
SHAPES = ("normal", "heavy tails", "skewed", EXCEPTION)
LOOKS = {"1 look": (16,), "looks at 8, 16, 32": (8, 16, 32)}


def noise(shape: str, size: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Differences of pairs with mean 0 and standard deviation 1."""
    if shape == "normal":
        return generator.standard_normal(size)
    if shape == "heavy tails":
        return generator.standard_t(5, size) / math.sqrt(5 / 3)
    first, second = (generator.exponential(size=size) - 1 for _ in range(2))
    # Arms that are skewed alike have symmetric differences; arms that are skewed apart add up.
    return (first - second if shape == "skewed" else first + second) / math.sqrt(2)


def plan_of(parts: tuple[Part, ...], looks: tuple[int, ...]) -> Registration:
    keys = {key for part in parts for key in (part.quantity, part.against) if key}
    return Registration(
        "simulated",
        1,
        0.0,
        "",
        1000,
        looks,
        ALPHA,
        quantities=dict.fromkeys(keys, QUANTITY),
        parts=parts,
        studies=(),
        statement="",
        procedure="",
        outcomes="",
    )


def run_trial(plan: Registration, draw: "Draw") -> str:
    """The verdict of one trial, judged at each planned look until it is decided."""
    verdict = UNDECIDED
    for look in plan.looks:
        verdict = rules.finding(plan, Measured(draw(look), look), details=False).verdict
        if verdict != UNDECIDED:
            break
    return verdict


class Draw:
    """The values of one simulated trial: the same numbers at every look, more of them at later looks."""

    def __init__(
        self, plan: Registration, truths: dict[str, float], shape: str, items: float, generator: np.random.Generator
    ):
        most = plan.looks[-1]
        self.series: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}
        for part in plan.parts:
            values = truths[part.quantity] + noise(shape, (most,), generator)
            rows = None
            if part.items:
                # Every item has its own difference between the arms, around the mean of the population of items.
                count = 160
                effects = items * noise(shape, (count,), generator)
                rows = values[:, None] + effects + generator.standard_normal((most, count))
                values = rows.mean(axis=1)
            self.series[part.quantity] = (values, rows)

    def __call__(self, look: int) -> dict[str, Series]:
        return {
            key: Series(
                dict(enumerate(values[:look].tolist())),
                None if rows is None else dict(enumerate(rows[:look])),
            )
            for key, (values, rows) in self.series.items()
        }


def is_false(verdict: str, plan: Registration, truths: dict[str, float]) -> bool:
    """Whether a verdict contradicts the true differences."""
    holds, trivial, margins = [], [], []
    for part in plan.parts:
        truth = truths[part.quantity]
        holds.append(truth > 0 if part.kind == "superiority" else truth > -part.margin)
        trivial.append(abs(truth) < part.margin)
        # At the boundary itself, either decision is false.
        margins.append(truth == -part.margin if part.kind == "non-inferiority" else truth == 0)
    if verdict == UPHELD:
        return not all(holds)
    if verdict == REFUTED:
        return all(held or boundary for held, boundary in zip(holds, margins, strict=True))
    return verdict == TOO_SMALL and not any(trivial)


def settings() -> Iterator[tuple[str, tuple[Part, ...], dict[str, float], float]]:
    """Name, parts, true differences, and the deviation of item effects (0: items are fixed)."""
    one = (higher("a", 0.0, MARGIN),)
    good = (not_lower("a", 0.0, MARGIN),)
    three = tuple(higher(key, 0.0, MARGIN) for key in "abc")
    with_items = (replace(one[0], items=True),)
    yield "no effect", one, {"a": 0.0}, 0.0
    yield "an effect at the margin", one, {"a": MARGIN}, 0.0
    yield "the opposite effect at the margin", one, {"a": -MARGIN}, 0.0
    yield "as good: worse by the margin", good, {"a": -MARGIN}, 0.0
    yield "as good: worse by half the margin", good, {"a": -MARGIN / 2}, 0.0
    yield "three parts, one without effect", three, {"a": 0.0, "b": 3.0, "c": 3.0}, 0.0
    yield "three parts, no effect at all", three, {"a": 0.0, "b": 0.0, "c": 0.0}, 0.0
    yield "three parts at the margin", three, dict.fromkeys("abc", MARGIN), 0.0
    for spread in (0.3, 1.0, 3.0):
        yield f"160 items, effects of items {spread:g}, none in the population", with_items, {"a": 0.0}, spread


def simulate(
    trials: int, generator: np.random.Generator, shapes: Sequence[str], look_names: Sequence[str]
) -> Iterator[dict]:
    """Rates of false verdicts, of the same false verdict twice, and of each verdict."""
    for name, parts, truths, items in settings():
        for shape in shapes:
            for looks_name in look_names:
                plan = plan_of(parts, LOOKS[looks_name])
                verdicts = [
                    [run_trial(plan, Draw(plan, truths, shape, items, generator)) for _ in range(2)] for _ in range(trials)
                ]
                false = [is_false(first, plan, truths) for first, _ in verdicts]
                twice = [wrong and first == second for wrong, (first, second) in zip(false, verdicts, strict=True)]
                shares = {
                    word: sum(first == word for first, _ in verdicts) / trials
                    for word in (UPHELD, REFUTED, TOO_SMALL, DEPENDS, UNDECIDED)
                }
                yield {
                    "truth": name,
                    "shape": shape,
                    "looks": looks_name,
                    "false": sum(false) / trials,
                    "false and replicated": sum(twice) / trials,
                    **shares,
                }


def report(rows: list[dict]) -> str:
    lines = [
        "| truth | seeds | looks | false, % | false and replicated, % | upheld / refuted / too small / undecided, % |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for row in rows:
        shares = " / ".join(f"{100 * row[word]:.1f}" for word in (UPHELD, REFUTED, TOO_SMALL, UNDECIDED))
        rates = f"{100 * row['false']:.1f} | {100 * row['false and replicated']:.2f}"
        lines.append(f"| {row['truth']} | {row['shape']} | {row['looks']} | {rates} | {shares} |")
    return "\n".join(lines)


def broken(rows: list[dict], trials: int) -> list[str]:
    """Promises that are broken by more than four standard errors of the simulation. Arms skewed apart are the exception."""
    error = math.sqrt(ALPHA * (1 - ALPHA) / trials)
    return [
        f"{row['truth']}, {row['shape']}, {row['looks']}: {100 * row['false']:.1f} %"
        for row in rows
        if row["shape"] != EXCEPTION and row["false"] > ALPHA + 4 * error
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials: rough figures")
    parser.add_argument("--smoke", action="store_true", help="a few trials: does the benchmark run?")
    parser.add_argument("--t-test", action="store_true", help=f"only arms {EXCEPTION}, judged by plain t-tests")
    parser.add_argument("--trials", type=int, default=2000, help="trials for each figure")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write all figures here as well")
    arguments = parser.parse_args()
    trials = SMOKE if arguments.smoke else arguments.trials // 10 if arguments.quick else arguments.trials
    generator, began = np.random.default_rng(arguments.seed), time.monotonic()
    shapes, look_names = ((EXCEPTION,), [*LOOKS][:1]) if arguments.t_test else (SHAPES, [*LOOKS])
    total = len(list(settings())) * len(shapes) * len(look_names)
    rows = []
    if arguments.t_test:
        # An adjustment of strength 0 is the t-test.
        skewness.ONE_LOOK = 0.0
    with progress_bar.bar("simulating trials") as bar:
        for row in islice(simulate(trials, generator, shapes, look_names), SMOKE_ROWS if arguments.smoke else None):
            rows.append(row)
            bar(len(rows) / total)
    print(report(rows))
    print(f"{trials:,} trials a figure, {time.monotonic() - began:.0f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps({"trials": trials, "alpha": ALPHA, "rows": rows}, indent=1))
    faults = [] if arguments.smoke else broken(rows, trials)
    print("\n".join(["BROKEN", *faults]) if faults else "every promise is kept, arms skewed apart excepted")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
