"""From a study's folder to what it found: every arm with its values, curves and costs, judged; and the files that show it.

Reads the folder alone, so that a study in progress, or one made elsewhere, can be looked at as well.
"""

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from glasshouse.metrics.verdicts import Difference, judge, summarise
from glasshouse.pages import study_page as page
from glasshouse.pages import study_tables
from glasshouse.pages.study_content import Arm, StudyResults
from glasshouse.records import atomic_files, metric_log
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.runs import resolve_spec
from glasshouse.specs.errors import RunError
from glasshouse.studies import run_queue
from glasshouse.studies.study_folder import Design, PlannedArm, StudyFolder

# A training loss has a point for every step; so many show its course.
MOST_POINTS = 200
Curve = list[tuple[int, float]]


def value(run: RunFolder, metric: str) -> float | None:
    """A run's metric at its end: NaN where it diverged, None where it has not ended."""
    state = run_queue.status(run)
    if state not in run_queue.ENDED:
        return None
    if state == Status.FAILED:
        return math.nan
    split, _, name = metric.partition(".")
    outcome = run.facts().get("outcome", {})
    if name not in outcome.get(split, {}):
        known = [f"{each}.{one}" for each, values in outcome.items() if isinstance(values, dict) for one in values]
        raise RunError(
            "unknown-metric",
            f"{run.path} has no {metric} (it has: {', '.join(known)}); compare by one of these, under another --name",
        )
    found = float(outcome[split][name])
    return found if math.isfinite(found) else math.nan


def told(run: RunFolder, metric: str) -> str:
    """The same in words."""
    found = value(run, metric)
    if found is None:
        return "not done"
    return "diverged" if math.isnan(found) else f"{metric} {found:.4f}"


def values(study: StudyFolder, design: Design) -> dict[str, dict[int, float]]:
    """Arm -> seed -> metric, of the runs that have ended."""
    found: dict[str, dict[int, float]] = {}
    for arm in design.arms:
        known = ((seed, value(study.run(arm, seed), design.metric)) for seed in design.seeds)
        found[arm.name] = {seed: number for seed, number in known if number is not None}
    return found


def verdicts(design: Design, measured: Mapping[str, Mapping[int, float]]) -> dict[str, Difference]:
    """Arm -> its difference from the first, for the arms that can be judged yet; all count in the correction."""
    found = judge({arm.name: measured[arm.name] for arm in design.arms}, design.rule)
    return {name: difference for name, difference in found.items() if difference.pairs > 1}


def decided(design: Design, measured: Mapping[str, Mapping[int, float]]) -> bool:
    """Whether every arm has a verdict, or can have none because it, or the first, diverged in every seed."""
    found = verdicts(design, measured)
    first, *others = (arm.name for arm in design.arms)
    if _diverged(measured[first]):
        return True
    return all(_diverged(measured[name]) or (name in found and found[name].word != "undecided") for name in others)


def compare(study: StudyFolder) -> StudyResults:
    """What a study has found so far."""
    design = study.design()
    measured = values(study, design)
    judged = verdicts(design, measured)
    rows = {arm.name: _rows(study, design, arm) for arm in design.arms}
    curve = _curve_name(design, rows)
    arms = [_arm(study, design, arm, measured[arm.name], rows[arm.name], curve, judged) for arm in design.arms]
    machines = _machines(study, design)
    return StudyResults(
        name=study.name,
        recipe=" and ".join(dict.fromkeys(resolve_spec.name_of(arm.recipe) for arm in design.arms)),
        created=design.created,
        status=study.status(design),
        metric=design.metric,
        higher_is_better=design.rule.higher_is_better,
        curve=curve,
        match=design.question.match,
        rule=design.rule,
        arms=tuple(_sorted(arms, design)),
        notes=tuple(_notes(design, arms, machines)),
        leaks=tuple(leak.sentence for leak in design.leaks),
        machine=machines[0] if machines else {},
        command=design.command(study.name),
    )


def sentences(comparison: StudyResults) -> dict[str, str]:
    """Arm -> its verdict in one sentence, or why there is none."""
    first, *others = comparison.arms
    found = {} if first.summary else {first.name: f"{_fate(first)}; the others have nothing to be compared with"}
    for arm in others:
        if arm.difference:
            found[arm.name] = arm.difference.sentence
        elif first.summary:
            found[arm.name] = _fate(arm)
    return found


def _fate(arm: Arm) -> str:
    """Why an arm cannot be judged."""
    if not arm.values:
        return f"{arm.name}: no seed is done yet"
    if len(arm.diverged) == len(arm.values):
        return f"{arm.name} diverged in every seed ({len(arm.diverged)} of {len(arm.seeds)}): its loss was not finite"
    lost = f", {len(arm.diverged)} diverged" if arm.diverged else ""
    return f"{arm.name}: too few pairs of seeds to judge by ({len(arm.values)} of {len(arm.seeds)} done{lost})"


def write(study: StudyFolder) -> StudyResults:
    """Write the page, the tables and the figures of a study anew, and give what they show."""
    comparison = compare(study)
    atomic_files.write_text(study.report_file, page.render(comparison))
    atomic_files.write_text(study.path / "table.md", study_tables.markdown(comparison))
    atomic_files.write_text(study.path / "table.tex", study_tables.latex(comparison))
    atomic_files.write_text(study.path / "comparison.json", to_json(comparison))
    return comparison


def to_json(comparison: StudyResults) -> str:
    """A comparison as JSON; what is not a finite number is null."""
    return json.dumps(_plain(asdict(comparison)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(whole: Any) -> Any:
    if isinstance(whole, dict):
        return {str(name): _plain(each) for name, each in whole.items()}
    if isinstance(whole, list | tuple):
        return [_plain(each) for each in whole]
    if isinstance(whole, float) and not math.isfinite(whole):
        return None
    return whole


def _diverged(measured: Mapping[int, float]) -> bool:
    """Whether no seed came through, of one or more."""
    return bool(measured) and all(math.isnan(number) for number in measured.values())


def _rows(study: StudyFolder, design: Design, arm: PlannedArm) -> dict[int, list[dict[str, Any]]]:
    """What each seed of an arm has logged."""
    logs = {seed: study.run(arm, seed).metrics_file for seed in design.seeds}
    return {seed: metric_log.read(log) for seed, log in logs.items() if log.exists()}


def _curve_name(design: Design, rows: Mapping[str, Mapping[int, Sequence[dict[str, Any]]]]) -> str:
    """What is drawn against the steps: the metric where it is measured on the way, else another of validation, else the
    training loss."""
    logged = {name for seeds in rows.values() for log in seeds.values() for row in log for name in row}
    wanted = (design.metric, f"validation.{design.metric.partition('.')[2]}", "validation.loss")
    return next((name for name in wanted if name in logged), "loss")


def _curve(log: Sequence[dict[str, Any]], name: str) -> Curve:
    """(step, value), a long one thinned by means over stretches of equal length."""
    points = [(int(row["step"]), float(row[name])) for row in log if row.get(name) is not None]
    stretch = -(-len(points) // MOST_POINTS)
    if stretch <= 1:
        return points
    parts = [points[start : start + stretch] for start in range(0, len(points), stretch)]
    return [(part[-1][0], statistics.fmean(number for _, number in part)) for part in parts]


def _arm(
    study: StudyFolder,
    design: Design,
    arm: PlannedArm,
    measured: Mapping[int, float],
    logs: Mapping[int, Sequence[dict[str, Any]]],
    curve: str,
    judged: Mapping[str, Difference],
) -> Arm:
    plan = arm.facts["plan"]
    outcomes = [study.run(arm, seed).facts() for seed, number in measured.items() if math.isfinite(number)]
    finite = [number for number in measured.values() if math.isfinite(number)]
    stopped = [int(facts["stopped"]) for facts in outcomes if "stopped" in facts]
    steps = round(_mean([facts.get("stopped", plan["steps"]) for facts in outcomes])) if stopped else plan["steps"]
    return Arm(
        name=arm.name,
        changes=arm.changes,
        seeds=design.seeds,
        values=dict(measured),
        curves={seed: _curve(log, curve) for seed, log in logs.items()},
        summary=summarise(finite, design.rule.alpha) if finite else None,
        difference=judged.get(arm.name),
        parameters=sum(plan["parameters"].values()),
        steps=steps,
        tokens=plan["tokens"] * steps // plan["steps"],
        # Of training alone, which is what arms are matched by; the plan's figure has evaluation in it.
        flops=arm.step_flops * steps or plan["flops"] * steps // plan["steps"],
        seconds=_mean([taken / _abreast(facts) for facts in outcomes if (taken := _seconds(facts)) is not None]),
        # As planned: what a process has grown by says nothing of a run that was not its first, or not its only one.
        memory=sum(plan["memory"].values()),
        diverged=tuple(seed for seed, number in measured.items() if math.isnan(number)),
        notes=(*arm.notes, *_early(stopped, plan["steps"], len(outcomes))),
    )


def _early(stopped: Sequence[int], planned: int, runs: int) -> Iterator[str]:
    """What to say of runs that ended before their time."""
    if stopped:
        span = f"{min(stopped):,} to {max(stopped):,}" if len(set(stopped)) > 1 else f"{stopped[0]:,}"
        seeds = f"{len(stopped)} of {runs} seeds"
        yield f"stopped early after {span} of {planned:,} steps in {seeds}; the costs are those of the steps taken"


def _seconds(facts: Mapping[str, Any]) -> float | None:
    """How long a run took, where that is known."""
    return facts.get("outcome", {}).get("seconds")


def _abreast(facts: Mapping[str, Any]) -> int:
    """How many runs shared the time of this one."""
    return max(len(facts.get("together", ())), 1)


def _mean(numbers: Sequence[float]) -> float:
    return statistics.fmean(numbers) if numbers else 0.0


def _sorted(arms: list[Arm], design: Design) -> list[Arm]:
    """As asked; of a sweep the first, with which the others are compared, and then the best first."""
    if design.question.kind != "sweep":
        return arms
    sign = -1 if design.rule.higher_is_better else 1
    return [arms[0], *sorted(arms[1:], key=lambda arm: sign * arm.summary.mean if arm.summary else math.inf)]


def _machines(study: StudyFolder, design: Design) -> list[dict[str, str]]:
    """The machines that the runs were done on."""
    found: list[dict[str, str]] = []
    for arm in design.arms:
        for seed in design.seeds:
            run = study.run(arm, seed)
            machine = run.facts().get("machine") if run.path.is_dir() else None
            if machine and machine not in found:
                found.append(machine)
    return found


def _notes(design: Design, arms: Sequence[Arm], machines: Sequence[dict[str, str]]) -> list[str]:
    notes = list(design.notes)
    if design.judged:
        counts = " and ".join(map(str, design.judged))
        notes.append(
            f"seeds were added after {counts} had been judged, and the p-values do not allow for that: false verdicts are "
            "likelier than alpha says; --until-decided plans its looks beforehand"
        )
    if design.question.kind == "sweep" and any(arm.summary for arm in arms):
        best = _sorted([arm for arm in arms if arm.summary], design)
        sign = -1 if design.rule.higher_is_better else 1
        winner = min(best, key=lambda arm: sign * arm.summary.mean if arm.summary else math.inf)
        notes.append(
            f"the best mean is that of {winner.name}; chosen among {len(best)}, it flatters: compare it with fresh seeds"
        )
    if len({(machine.get("processor"), machine.get("accelerator")) for machine in machines}) > 1:
        notes.append("the runs were done on different machines, so their times do not compare")
    return notes
