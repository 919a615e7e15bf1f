"""Simulated studies with a known truth: how often are verdicts false, how often are effects found, do intervals cover?

    python benchmarks/verdict_errors.py [--quick] [--json FILE]
    python benchmarks/verdict_errors.py --smoke        # does it run? Too few studies for any figure

Prints the tables of `docs/verdicts.md`. Every study is simulated, tested and corrected by the functions that judge a real
one (`verdicts/statistics.py`, `skewness.py`, `sequential_tests.py`, `estimates.py`), many studies in one call. "t-test"
means the same without the adjustment for skewness. The standard deviation over seeds is 1 in every arm. Arms share a part of
the noise, so that pairs are correlated. Distributions over seeds: normal; heavy tails (Student's t with 5 degrees of
freedom); skewed (exponential, all arms alike); others skewed (exponential, but the first arm is normal); skewed apart
(exponential, but the first arm is mirrored, which makes the differences most skewed). "At the margin" means that every other
arm is exactly one true standard deviation above or below the first (the side with more errors, if the distribution is
skewed). In a mixed study every second arm is at the margin, and the others equal the first. Items: two arms that are equal
over a population of items are scored on a sample of them. The exit status is 1 if normal seeds or sampled items break a
promise.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from glasshouse.records import progress_bar
from glasshouse.verdicts import sequential_tests, skewness, statistics
from glasshouse.verdicts.estimates import crossed_mean

ALPHA = 0.05
COUNTS = (4, 8, 16, 32)
LOOKS = (4, 8, 12, 16, 20, 24, 28, 32)
ARMS = (2, 5)
CORRELATIONS = (0.0, 0.8)
SHAPES = ("normal", "heavy tails", "skewed", "others skewed", "skewed apart")
EFFECTS = (0.5, 1.0, 2.0)
ITEMS = 160
ITEM_SEEDS = (4, 8, 16, 32)
# Shape of the effects of items, and the deviations of item by arm and of seed by arm, in deviations of the residual.
ITEM_SETTINGS = [
    (shape, deviation, 0.1) for shape in ("normal", "heavy tails", "skewed", "right or wrong") for deviation in (0.3, 1.0)
] + [("normal", 1.0, 0.4)]
# The true difference whose power is measured, in deviations of the residual.
ITEM_EFFECT = 0.2
# Studies of a smoke test, from which no promise can be judged.
SMOKE = 40


def noise(shape: str, size: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Draws of mean 0 and deviation 1."""
    if shape == "normal":
        return generator.standard_normal(size)
    if shape == "heavy tails":
        return generator.standard_t(5, size) / math.sqrt(5 / 3)
    return generator.standard_exponential(size) - 1


def draw(shape: str, size: tuple[int, int, int], shared: float, generator: np.random.Generator) -> np.ndarray:
    """Values of shape (studies, arms, seeds) without an effect; `shared` is the correlation within pairs."""
    studies, _, seeds = size
    own = noise(shape, size, generator)
    if shape == "skewed apart":
        own[:, 0] *= -1
    if shape == "others skewed":
        own[:, 0] = noise("normal", (studies, seeds), generator)
    return math.sqrt(shared) * noise(shape, (studies, 1, seeds), generator) + math.sqrt(1 - shared) * own


@dataclass
class Judged:
    """What studies came to: an entry a study and arm."""

    mean: np.ndarray
    low: np.ndarray  # of the interval
    high: np.ndarray
    different: np.ndarray  # the difference test is significant
    equivalent: np.ndarray  # the equivalence test is significant: no difference larger than the margin

    def false(self, truth: np.ndarray) -> np.ndarray:
        """Which studies made any false statement, the true differences being these. Equivalence is stated first."""
        direction = self.different & ~self.equivalent & (np.sign(self.mean) != np.sign(truth))
        return (direction | (self.equivalent & (np.abs(truth) >= 1))).any(axis=-1)

    def decided(self) -> np.ndarray:
        return (self.different | self.equivalent).all(axis=-1)

    def covers(self, truth: np.ndarray) -> np.ndarray:
        return (self.low <= truth) & (truth <= self.high)


def judge(values: np.ndarray, margin: float | None = None, looks: tuple[int, ...] = (), plain: bool = False) -> Judged:
    """Like `verdicts/verdict.py`, for many studies in one call. The default margin is the standard deviation of arm 1.

    `plain` leaves out the adjustment for skewness.
    """
    seeds = values.shape[-1]
    plan = looks or (seeds,)
    strength = 0.0 if plain else sequential_tests.Look(plan, plan[-1]).strength
    first, differences = values[:, :1], values[:, 1:] - values[:, :1]
    sample = (*statistics.moments(differences), seeds)
    adjustment = (skewness.sample_skewness(differences), strength)
    p = statistics.difference_p(*sample, *adjustment)
    if margin is None:
        scale, degrees, pull = statistics.jackknife_deviation(first)
        together = statistics.correlation(differences, pull)
        equivalence = statistics.equivalence_p(*sample, scale, degrees, together, *adjustment)
    else:
        equivalence = statistics.equivalence_p(*sample, margin, None, 0.0, *adjustment)
    adjusted = statistics.holm_over_arms(
        sequential_tests.sequential_p(p, plan, seeds, True, strength),
        sequential_tests.sequential_p(equivalence, plan, seeds, False, strength),
    )
    level = sequential_tests.nominal_level(ALPHA, plan, seeds, True, strength)
    below, above = skewness.interval_widths(level, adjustment[0], seeds - 1, strength)
    mean, error = sample[0], sample[1] / math.sqrt(seeds)
    return Judged(mean, mean - below * error, mean + above * error, adjusted[0] <= ALPHA, adjusted[1] <= ALPHA)


@dataclass
class Outcome:
    """How studies ended, at one look or at the first that decided every arm: an entry a study."""

    false: np.ndarray  # any false statement, at any look, whether or not it had stopped before
    different: np.ndarray  # any difference test significant, at any look
    right: np.ndarray  # the first of the other arms called different, in the right direction, at the end
    covers: np.ndarray  # the intervals at the end: an entry a study and arm
    seeds: np.ndarray


def decide_at_looks(
    values: np.ndarray,
    truth: np.ndarray,
    margin: float | None = None,
    looks: tuple[int, ...] = (),
    plain: bool = False,
) -> Outcome:
    """Judge studies at one look, or at each look until every arm is decided."""
    running = np.ones(len(values), dtype=bool)
    never = np.zeros(values[:, 1:, 0].shape, dtype=bool)
    outcome = Outcome(~running, ~running, ~running, never, np.zeros(len(values)))
    last = values.shape[-1]
    for look in looks or (last,):
        judged = judge(values[..., :look], margin, looks, plain)
        outcome.false |= judged.false(truth)
        outcome.different |= judged.different.any(axis=-1)
        stops = running & (judged.decided() | (look == last))
        right = judged.different[:, 0] & (np.sign(judged.mean[:, 0]) == np.sign(truth[0]))
        outcome.right[stops] = right[stops]
        outcome.covers[stops] = judged.covers(truth)[stops]
        outcome.seeds[stops] = look
        running &= ~stops
    return outcome


def settings() -> Iterator[tuple[str, float, int, float | None]]:
    """Shape, correlation, arms, margin given (None: estimated)."""
    for shape, margin in [(shape, None) for shape in SHAPES] + [("normal", 1.0)]:
        for shared in CORRELATIONS:
            for arms in ARMS:
                yield shape, shared, arms, margin


def truths(arms: int) -> dict[str, list[np.ndarray]]:
    """The true differences of a study without an effect, one at the margin, and a mixed one; in both directions."""
    margin, mixed = np.ones(arms - 1), np.arange(arms - 1) % 2.0
    table = {"no effect": [0 * margin], "at the margin": [margin, -margin]}
    return {**table, "mixed": [mixed, -mixed]} if arms > 2 else table


def errors(studies: int, generator: np.random.Generator) -> Iterator[dict]:
    """Rates of false verdicts and of coverage: a row for each setting and number of seeds, the last of them with looks."""
    for shape, shared, arms, margin in settings():
        for seeds, looks in [*((count, ()) for count in COUNTS), (LOOKS[-1], LOOKS)]:
            row: dict = {
                "shape": shape,
                "correlation": shared,
                "arms": arms,
                "margin": margin,
                "seeds": "looks" if looks else seeds,
            }
            size = (studies // 2, arms, LOOKS[-1]) if looks else (studies, arms, seeds)
            for name, signs in truths(arms).items():
                rates = []
                for truth in signs:
                    values = draw(shape, size, shared, generator)
                    values[:, 1:] += truth[:, None]
                    outcome = decide_at_looks(values, truth, margin, looks)
                    rates.append(float(outcome.false.mean()))
                    if name == "no effect":
                        row["coverage"] = float(outcome.covers.mean())
                        row["mean seeds"] = float(outcome.seeds.mean())
                        row["adjusted"] = float(outcome.different.mean())
                        if margin is None and not shared:
                            plain = decide_at_looks(values, truth, margin, looks, plain=True)
                            row["t-test"] = float(plain.different.mean())
                            row["t-test coverage"] = float(plain.covers.mean())
                row[name] = max(rates) if "skewed" in shape else float(np.mean(rates))
            yield row


def powers(studies: int, generator: np.random.Generator) -> Iterator[dict]:
    """Found and predicted power with normal seeds; an effect is in deviations of the differences."""
    for arms in ARMS:
        for effect in EFFECTS:
            for seeds in COUNTS:
                values = draw("normal", (studies, arms, seeds), 0.0, generator)
                values[:, 1] += effect * math.sqrt(2)
                found = {}
                for method in ("t-test", "found"):
                    judged = judge(values, plain=method == "t-test")
                    found[method] = float(np.mean(judged.different[:, 0] & (judged.mean[:, 0] > 0)))
                predicted = statistics.difference_power(effect, seeds, ALPHA / (arms - 1))
                name = f"effect {effect:g}, {arms} arms"
                yield {"what": name, "seeds": seeds, **found, "predicted": predicted}
    for shared in CORRELATIONS:
        for margin in (None, 1.0):
            for seeds in COUNTS:
                values = draw("normal", (studies, 2, seeds), shared, generator)
                found = {
                    method: float(np.mean(judge(values, margin, plain=method == "t-test").equivalent))
                    for method in ("t-test", "found")
                }
                spread = math.sqrt(2 * (1 - shared))
                predicted = statistics.equivalence_power(0.0, spread, seeds, 1.0, ALPHA, margin is None)
                name = f"no effect, correlation {shared:g}, margin {'given' if margin else 'estimated'}"
                yield {"what": name, "seeds": seeds, **found, "predicted": predicted}


def savings(studies: int, generator: np.random.Generator) -> Iterator[dict]:
    """Until decided, with an effect: how often it is found, and with how many seeds."""
    for arms in ARMS:
        for effect in EFFECTS:
            truth = np.full(arms - 1, effect * math.sqrt(2))
            values = draw("normal", (studies // 2, arms, LOOKS[-1]), 0.0, generator)
            values[:, 1:] += truth[:, None]
            row: dict = {"arms": arms, "effect": effect}
            for method in ("t-test ", ""):
                outcome = decide_at_looks(values, truth, None, LOOKS, plain=bool(method))
                row[f"{method}found"], row[f"{method}seeds"] = float(outcome.right.mean()), float(outcome.seeds.mean())
            yield {**row, "one look": statistics.difference_power(effect, LOOKS[-1], ALPHA / (arms - 1))}


def item_differences(
    shape: str, size: tuple[int, int, int], deviation: float, seed_deviation: float, generator: np.random.Generator
) -> np.ndarray:
    """Differences of two arms that are equal over the population of items, of shape (studies, seeds, items)."""
    studies, seeds, items = size
    of_seeds = seed_deviation * generator.standard_normal((2, studies, seeds, 1))
    if shape == "right or wrong":
        # Items differ in difficulty, and in how hard they are for each arm: logits, whose residual has deviation 1.8.
        logits = 1.8 * (of_seeds + deviation * generator.standard_normal((2, studies, 1, items)))
        logits += 1 + 1.5 * generator.standard_normal((studies, 1, items))
        right = generator.random((2, *size)) < 1 / (1 + np.exp(-logits))
        return right[0].astype(float) - right[1]
    of_items = deviation * noise(shape, (studies, 1, items), generator)
    return of_seeds[0] + of_items + generator.standard_normal(size)


def items(studies: int, generator: np.random.Generator) -> Iterator[dict]:
    """Two arms that are equal over the population of items: false verdicts if items are taken as fixed, and as a sample."""
    chunk = 250
    for shape, deviation, seed_deviation in ITEM_SETTINGS:
        for seeds in ITEM_SEEDS:
            rejected: dict[str, list[np.ndarray]] = {"fixed": [], "sampled": [], "found": []}
            for start in range(0, studies // 2, chunk):
                size = (min(chunk, studies // 2 - start), seeds, ITEMS)
                values = item_differences(shape, size, deviation, seed_deviation, generator)
                means = values.mean(axis=-1)
                sample = (*statistics.moments(means), seeds, skewness.sample_skewness(means))
                rejected["fixed"].append(statistics.difference_p(*sample) <= ALPHA)
                mean = crossed_mean(values)
                residual = 1.0 if shape != "right or wrong" else float(values.std(axis=1).mean())
                for name, effect in (("sampled", 0.0), ("found", ITEM_EFFECT * residual)):
                    p = skewness.p_two_sided((mean.mean + effect) / mean.error, mean.skewness, mean.degrees)
                    rejected[name].append(p <= ALPHA)
            rates = {name: float(np.mean(np.concatenate(each))) for name, each in rejected.items()}
            yield {"shape": shape, "deviation": deviation, "seed deviation": seed_deviation, "seeds": seeds, **rates}


def alternatives(studies: int, generator: np.random.Generator) -> Iterator[dict]:
    """What simpler methods would give, with normal seeds: the errors that the one used was chosen to avoid."""
    for shared in CORRELATIONS:
        for seeds in COUNTS:
            values = draw("normal", (studies, 2, seeds), shared, generator)
            mean, deviation = statistics.moments(values[:, 1] + 1 - values[:, 0])
            margin = values[:, 0].std(axis=-1, ddof=1)
            p = statistics.equivalence_p(mean, deviation, seeds, margin)
            name = f"at the margin, {seeds} seeds, correlation {shared:g}: estimated margin taken for known"
            yield {"what": name, "false": float(np.mean(p <= ALPHA))}
    truth = np.array([0.0, 1.0])
    values = draw("normal", (studies, 3, 16), 0.5, generator)
    values[:, 1:] += truth[:, None]
    mean, deviation = statistics.moments(values[:, 1:] - values[:, :1])
    different = statistics.holm(statistics.difference_p(mean, deviation, 16)) <= ALPHA
    equivalent = statistics.holm(statistics.equivalence_p(mean, deviation, 16, 1.0)) <= ALPHA
    judged = Judged(mean, mean, mean, different, equivalent)
    name = "3 arms, one equal, one at the margin given: Holm over each of the two questions"
    yield {"what": name, "false": float(judged.false(truth).mean())}
    lowest = np.ones(studies)
    values = draw("normal", (studies, 2, LOOKS[-1]), 0.0, generator)
    for look in LOOKS:
        mean, deviation = statistics.moments(values[:, 1, :look] - values[:, 0, :look])
        lowest = np.minimum(lowest, statistics.difference_p(mean, deviation, look))
    yield {"what": f"no effect, {len(LOOKS)} looks: each at 5 %", "false": float(np.mean(lowest <= ALPHA))}
    # The simulated looks themselves, without the bounds for their error: both sides of the comparison alike.
    scores = sequential_tests._smallest_scores(LOOKS, True, skewness.SEVERAL_LOOKS)
    for arms in (5, 21):
        level = np.quantile(scores, ALPHA) / (arms - 1)
        name = f"no effect, {arms} arms, {len(LOOKS)} looks: levels of the looks divided by the other arms, at most"
        yield {"what": name, "false": float(np.mean(scores <= level)) * (arms - 1)}


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" if i == 0 else "---:" for i in range(len(head))), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def percent(row: dict, *names: str) -> str:
    return " / ".join(f"{100 * row[name]:.1f}" for name in names if name in row)


def report(results: dict[str, list[dict]]) -> str:
    """The tables, in Markdown."""
    grouped: dict[tuple, dict] = {}
    for row in results["errors"]:
        key = (row["shape"] + (", margin given" if row["margin"] else ""), f"{row['correlation']:g}", str(row["arms"]))
        grouped.setdefault(key, {})[row["seeds"]] = row
    kinds = ("no effect", "at the margin", "mixed")
    counts = tuple(f"{seeds} seeds" for seeds in COUNTS)
    lines = [(*key, *(percent(group[seeds], *kinds) for seeds in (*COUNTS, "looks"))) for key, group in grouped.items()]
    parts = ["Any false verdict in a study, %: no effect / at the margin / mixed\n"]
    parts.append(table(("seeds", "correlation", "arms", *counts, "until decided"), lines))
    for title, names, arms in (
        (
            "Studies without an effect whose difference test is significant, %: t-test / adjusted",
            ("t-test", "adjusted"),
            ARMS,
        ),
        ("Coverage of the 95 % intervals, %: t-test / adjusted", ("t-test coverage", "coverage"), ARMS[:1]),
    ):
        # Pairs that correlate have differences of the same shape, or nearly so.
        chosen = [(*key, group) for key, group in grouped.items() if int(key[2]) in arms and "t-test" in group["looks"]]
        lines = [
            (shape, arm, *(percent(group[seeds], *names) for seeds in (*COUNTS, "looks"))) for shape, _, arm, group in chosen
        ]
        parts.append(f"{title}\n")
        parts.append(table(("seeds", "arms", *counts, "until decided"), lines))
    power: dict[str, list[str]] = {}
    for row in results["powers"]:
        power.setdefault(row["what"], []).append(percent(row, "t-test", "found", "predicted"))
    parts.append("Power with normal seeds, %: t-test / adjusted / predicted for adjusted\n")
    parts.append(table(("truth", *counts), [(name, *figures) for name, figures in power.items()]))
    parts.append(f"Until decided, looks at {', '.join(map(str, LOOKS))} seeds, normal, correlation 0\n")
    lines = []
    for row in results["savings"]:
        seeds = " / ".join(f"{row[name]:.1f}" for name in ("t-test seeds", "seeds"))
        figures = (percent(row, "t-test found", "found"), seeds, percent(row, "one look"))
        lines.append((f"effect {row['effect']:g}, {row['arms']} arms", *figures))
    for row in results["errors"]:
        if (row["shape"], row["margin"], row["seeds"]) == ("normal", None, "looks"):
            name = f"no effect, {row['arms']} arms, correlation {row['correlation']:g}"
            lines.append((name, "", f"{row['mean seeds']:.1f}", ""))
    head = ("truth", "found, %: t-test / adjusted", "mean seeds: t-test / adjusted", f"found by one look at {LOOKS[-1]}, %")
    parts.append(table(head, lines))
    parts.append(
        f"{ITEMS} items, %: false if items are fixed / false if they are a sample / an effect of {ITEM_EFFECT:g} found\n"
    )
    by_items: dict[tuple[str, ...], list[str]] = {}
    for row in results["items"]:
        key = (row["shape"], f"{row['deviation']:g}", f"{row['seed deviation']:g}")
        by_items.setdefault(key, []).append(percent(row, "fixed", "sampled", "found"))
    lines = [(*key, *figures) for key, figures in by_items.items()]
    counts = tuple(f"{seeds} seeds" for seeds in ITEM_SEEDS)
    parts.append(table(("items", "deviation of item by arm", "of seed by arm", *counts), lines))
    parts.append("What simpler methods would give: any false verdict in a study, %\n")
    parts.append(
        table(("truth and method", "false, %"), [(row["what"], percent(row, "false")) for row in results["simpler"]])
    )
    return "\n".join(parts)


def broken(results: dict[str, list[dict]], studies: int) -> list[str]:
    """Promises that normal seeds, or sampled items, break by more than four standard errors of the simulation."""
    faults = []
    for row in results["errors"]:
        if row["shape"] == "normal":
            error = math.sqrt(ALPHA * (1 - ALPHA) / (studies if row["seeds"] != "looks" else studies // 2))
            promises = ("no effect", "adjusted", "at the margin", "mixed")
            high = [name for name in promises if row.get(name, 0) > ALPHA + 4 * error]
            if row["coverage"] < 1 - ALPHA - 4 * error:
                high.append("coverage")
            faults += [f"{name}: {percent(row, name)} % in {row}" for name in high]
    error = math.sqrt(ALPHA * (1 - ALPHA) / (studies // 2))
    # The degrees of freedom of four seeds are too rough an approximation.
    rows = [row for row in results["items"] if row["seeds"] > 4 and row["sampled"] > ALPHA + 4 * error]
    return faults + [f"items: {percent(row, 'sampled')} % in {row}" for row in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the studies: seconds, and rough figures")
    parser.add_argument("--studies", type=int, default=20_000, help="studies for each figure (half for until decided)")
    parser.add_argument("--smoke", action="store_true", help="a few studies: does the benchmark run?")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write all figures here as well")
    arguments = parser.parse_args()
    studies = SMOKE if arguments.smoke else arguments.studies // 20 if arguments.quick else arguments.studies
    generator = np.random.default_rng(arguments.seed)
    began = time.monotonic()
    results: dict[str, list[dict]] = {"errors": []}
    total = len(list(settings())) * (len(COUNTS) + 1)
    with progress_bar.bar("simulating studies") as bar:
        for row in errors(studies, generator):
            results["errors"].append(row)
            bar(len(results["errors"]) / total)
            if not progress_bar.is_terminal() and len(results["errors"]) % 20 == 0:
                progress_bar.say(f"{len(results['errors'])}/{total} settings, {time.monotonic() - began:.0f} s")
    results["powers"] = list(powers(studies, generator))
    results["savings"] = list(savings(studies, generator))
    results["items"] = list(items(studies, generator))
    results["simpler"] = list(alternatives(studies, generator))
    print(report(results))
    print(f"{studies:,} studies a figure, {time.monotonic() - began:.0f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps({"studies": studies, "alpha": ALPHA, **results}, indent=1))
    faults = [] if arguments.smoke else broken(results, studies)
    kept = "too few studies to judge" if arguments.smoke else "with normal seeds and sampled items, every promise is kept"
    print("\n".join(["BROKEN", *faults]) if faults else kept)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
