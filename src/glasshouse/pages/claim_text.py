"""The words and figures of a claim: the command line, the Markdown pages and the HTML page share them."""

import math
from collections import Counter
from collections.abc import Sequence

from glasshouse.formatting import p_value, rounded, utc
from glasshouse.results.claim import (
    CONTROL,
    DEPENDS,
    EQUIVALENCE,
    EXACT,
    NON_INFERIORITY,
    NOT_TRIED,
    REFUTED,
    TOO_SMALL,
    UNDECIDED,
    UPHELD,
    Case,
    PartResult,
    Quantity,
    Series,
    Trial,
)
from glasshouse.verdicts.verdict import summarise

# A symbol for each verdict, so that no reader depends on colour; in the order of the summary.
SYMBOLS = {UPHELD: "✓", REFUTED: "✗", TOO_SMALL: "≈", DEPENDS: "±", UNDECIDED: "?", NOT_TRIED: "–", "unfinished": "…"}
INTERVAL = "95 % interval"
BESIDE = "Comparisons beside these, which do not decide"


def verdict_text(case: Case) -> str:
    """The verdict with its symbol. A control passes or fails."""
    word = case.verdict
    if case.is_control and word in (UPHELD, REFUTED):
        word = {UPHELD: "passed", REFUTED: "failed"}[word]
    return f"{SYMBOLS[case.verdict]} {word}"


def verdict_counts(cases: Sequence[Case]) -> list[tuple[str, int]]:
    counts = Counter(case.verdict for case in cases)
    return [(word, counts[word]) for word in SYMBOLS if counts[word]]


def answer(case: Case) -> str:
    """The answer in one plain sentence."""
    trial = case.original
    if not trial or not trial.finding:
        if case.missing:
            return f"{_capital(case.missing)}."
        return "A trial is registered and not finished yet." if case.trials else "No trial has been made yet."
    finding = trial.finding
    deciding = [result for result in finding.parts if result.part.decides]
    if finding.by_setting and (finding.verdict == DEPENDS or len({word for _, word in finding.by_setting}) > 1):
        halves = "; ".join(f"{setting}: {word}" for setting, word in finding.by_setting)
        return f"{'It depends' if finding.verdict == DEPENDS else 'Not decided'}. {_capital(halves)}."
    if len(deciding) == 1:
        return f"{_ANSWERS[finding.verdict]} {_capital(part_sentence(trial, deciding[0]))}"
    names = [f"“{_with_setting(result)}”" for result in deciding if result.outcome == finding.verdict]
    if finding.verdict == UPHELD:
        return f"Yes: all {len(deciding)} comparisons hold."
    listed = "; ".join([*names[:MAX_NAMED], *([f"{len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else [])])
    all_of_them = "Both" if len(names) == 2 else f"All {len(names)}"
    share = f"{all_of_them if len(names) == len(deciding) else f'{len(names)} of {len(deciding)}'} comparisons"
    one, several = _OUTCOMES[finding.verdict]
    return f"{_ANSWERS[finding.verdict]} {share} {one if len(names) == 1 else several}: {listed}."


_ANSWERS = {
    UPHELD: "Yes.",
    REFUTED: "No.",
    TOO_SMALL: "The difference is too small to matter.",
    UNDECIDED: "Not decided.",
    DEPENDS: "It depends.",
}
# What one comparison does, and what several do.
_OUTCOMES = {
    REFUTED: ("comes out against the claim", "come out against the claim"),
    TOO_SMALL: ("shows a difference below its margin", "show a difference below their margin"),
    UNDECIDED: ("is open", "are open"),
    DEPENDS: ("depends on the setting", "depend on the setting"),
}
# The maximum number of comparisons that an answer names.
MAX_NAMED = 4


def part_sentence(trial: Trial, result: PartResult) -> str:
    """A part in one sentence: the two values, the difference with its interval, the margin and the outcome."""
    part, quantities = result.part, trial.registration.quantities
    quantity = quantities[part.quantity]
    if part.kind == EXACT:
        largest = "not measured" if math.isnan(result.mean) else f"{result.mean:,.6g}"
        return f"{part.name}: {largest} (must be 0)."
    if not result.units:
        why = "one side diverged in every unit" if result.outcome in (UPHELD, REFUTED) else "not measured"
        return f"{part.name}: {why}."
    unit = f" {quantity.unit}" if quantity.unit else ""
    reference = _mean_text(trial, part.against) if part.against else f"{part.figure * quantity.scale:.6g}"
    difference = difference_text(result, quantity)
    margin = f"; margin {part.margin * quantity.scale:.3g}" if part.margin else ""
    phrase = _phrase(result)
    warning = f"; without {quantity.per} {result.fragile} it would not be decided so" if result.fragile is not None else ""
    left_out = f"; {result.diverged} diverged and left out" if result.diverged else ""
    values = f"{_mean_text(trial, part.quantity)} against {reference}{unit}"
    return f"{part.name}: {values}; difference {difference}{margin}: {phrase}{warning}{left_out}."


def difference_text(result: PartResult, quantity: Quantity) -> str:
    """`-0.040 (95 % interval -0.052 to -0.028)`: quantity minus reference in its unit."""
    if math.isnan(result.mean):
        return "not measured"
    mean, low, high = (number * quantity.scale for number in (result.mean, result.low, result.high))
    if math.isnan(low):
        return f"{mean:.4g}"
    half_width = (high - low) / 2
    texts = [rounded(number, half_width) for number in (mean, low, high)]
    return f"{texts[0]} ({INTERVAL} {texts[1]} to {texts[2]})"


def _phrase(result: PartResult) -> str:
    part, word = result.part, result.outcome
    opposite = {"higher": "lower", "lower": "higher"}[part.claimed]
    p = f" (p = {p_value(result.p)})".replace("= <", "<") if not math.isnan(result.p) else ""
    if word == UNDECIDED:
        # The p-values of several tests were too large, so none of them is shown.
        if part.kind in (EQUIVALENCE, NON_INFERIORITY, CONTROL) and result.low * result.high > 0:
            direction = "higher" if result.low > 0 else "lower"
            return f"{direction}, but whether by more than the margin is open"
        return "not decided"
    if word == TOO_SMALL:
        return f"shown to be smaller than the margin{p}"
    if part.kind in (EQUIVALENCE, CONTROL):
        return f"shown to be {'smaller' if word == UPHELD else 'larger'} than the margin{p}"
    if part.kind == NON_INFERIORITY:
        return f"shown {'not to be' if word == UPHELD else 'to be'} {opposite} by more than the margin{p}"
    return f"shown to be {part.claimed if word == UPHELD else opposite}{p}"


def _with_setting(result: PartResult) -> str:
    return f"{result.part.name} ({result.part.setting})" if result.part.setting else result.part.name


def _mean_text(trial: Trial, key: str) -> str:
    assert trial.measured
    series = trial.measured.series.get(key)
    return mean_text(series, trial.registration.quantities[key], with_interval=False) if series else "not measured"


def mean_text(series: Series, quantity: Quantity, with_interval: bool = True) -> str:
    """`302.6 ± 4.6 (16 seeds)`: the mean over units and half the width of its 95 % interval, in the quantity's unit."""
    finite = [value * quantity.scale for value in series.values.values() if math.isfinite(value)]
    diverged = len(series.values) - len(finite)
    if not finite:
        return f"diverged in each of {len(series.values)}" if series.values else "not measured"
    summary = summarise(finite)
    half_width = (summary.high - summary.low) / 2
    if len(finite) == 1 or math.isnan(half_width):
        return f"{summary.mean:.5g}"
    if not (with_interval and quantity.per):
        return rounded(summary.mean, half_width)
    # "seed" -> "seeds", "block of 2 seeds" -> "blocks of 2 seeds".
    unit, of, each = quantity.per.partition(" of ")
    missing = "diverged" if quantity.per == "seed" else "without a value"
    units = f"{len(finite)} {unit}s{of}{each}" + (f", {diverged} more {missing}" if diverged else "")
    return f"{rounded(summary.mean, half_width)} ± {rounded(half_width, half_width)} ({units})"


def value_rows(trial: Trial) -> list[tuple[str, str, str, str]]:
    """(quantity, reported, measured, metric) of every measured quantity, in the order of the plan."""
    rows = []
    for key, quantity in trial.registration.quantities.items():
        if trial.measured and key in trial.measured.series:
            unit = f"{quantity.label}, {quantity.unit}" if quantity.unit else quantity.label
            rows.append((unit, quantity.reported, mean_text(trial.measured.series[key], quantity), quantity.metric))
    return rows


def badges(case: Case) -> list[str]:
    """Short facts beside a verdict: data, seeds, looks, learning rates, replication."""
    trial = case.original
    if not trial or not trial.finding or not trial.measured:
        return [case.data] if case.data else []
    looks = len(trial.registration.looks)
    settings = [setting for setting, _ in trial.finding.by_setting]
    replicated = {None: "not replicated yet", True: "replicated", False: "not replicated"}[case.replicated]
    seeds = f"{trial.measured.seeds} seeds"
    badges = [case.data, seeds, f"{looks} {'look' if looks == 1 else 'planned looks'}", *settings, replicated]
    if newer := case.changed_plan:
        badges.append(f"a changed plan is registered as trial {newer.registration.number} and not finished")
    return badges


def statement_and_procedure(case: Case) -> tuple[str, str]:
    """What was asserted, and the experiment: those of the deciding trial, which the claim may have changed since."""
    plan = case.original.registration if case.original else None
    return (plan.statement, plan.procedure) if plan and plan.procedure else (case.statement, case.procedure)


def trial_sentence(trial: Trial) -> str:
    """A trial in one line: number, date, digest, seeds, verdict, and the machine of a finished trial."""
    plan = trial.registration
    replication = f", replication of trial {plan.replicates}" if plan.replicates else ""
    seeds = (
        f"seeds {plan.first_seed} to {plan.first_seed + (trial.measured.seeds if trial.measured else plan.looks[-1]) - 1}"
    )
    registered = f"registered {utc(plan.registered)} ({plan.digest[:12]})"
    return f"trial {plan.number}, {registered}, {seeds}{replication}: {trial.verdict}{_machine_text(trial)}"


def _machine_text(trial: Trial) -> str:
    if not trial.measured:
        return ""
    machine = trial.measured.machine
    device = machine.get("accelerator") or machine.get("processor", "")
    parts = [utc(trial.measured.when), device, f"Python {machine['python']}" if "python" in machine else ""]
    parts.append(f"torch {machine['torch']}" if "torch" in machine else "")
    return "; " + ", ".join(part for part in parts if part)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
