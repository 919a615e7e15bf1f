"""The results of a study, read from its folder: values, curves, costs and verdicts of every arm, and the report files.

Everything comes from the folder, so the results of an unfinished study, or of one made elsewhere, can be read as well.
"""

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from glasshouse.records import containment, kept_json, metric_log
from glasshouse.results import plain_verdict, study_text
from glasshouse.results.study import Arm, MultiverseCell, ReplicationOutcome, StudyResults
from glasshouse.runs import resolve_spec
from glasshouse.specs.errors import RunError
from glasshouse.studies import multiverse, study_request, study_values
from glasshouse.studies.study_folder import FILE, Design, PlannedArm, StudyFolder
from glasshouse.verdicts.verdict import Difference, summarise

# The training loss has a point for every step; a curve with this many points shows its shape.
MAX_CURVE_POINTS = 200
# Fewer for the training losses beside the curves of the study: they are context.
TRAINING_POINTS = 60
Curve = list[tuple[int, float]]


def collect(study: StudyFolder) -> StudyResults:
    design = study.design()
    values, damage = study_values.readable_values(study, design)
    differences = study_values.verdicts(study, design, values)
    logs = {arm.name: _metric_logs(study, design, arm) for arm in design.arms}
    curve = _curve_metric(design, logs)
    arms = [_arm(study, design, arm, values[arm.name], logs[arm.name], curve, differences) for arm in design.arms]
    arms = _in_plain_words(arms, design)
    machines = _machines(study, design)
    replications = _replications(study, design, differences, damage)
    scored = study_values.item_values_by_seed(study, design, design.arms[0]) if design.question.items else {}
    results = StudyResults(
        name=study.name,
        recipe=" and ".join(dict.fromkeys(resolve_spec.name_of(arm.recipe) for arm in design.arms)),
        created=design.created,
        status=study.status(design),
        metric=design.metric,
        higher_is_better=design.rule.higher_is_better,
        curve=curve,
        match=design.question.match,
        rule=design.rule,
        arms=tuple(study_text.in_order_of_values(arms) if design.question.kind == "sweep" else arms),
        notes=(*_notes(design, arms, machines), *design.damage, *damage),
        leaks=design.leaks,
        machine=machines[0] if machines else {},
        command=design.command(study.name),
        items=max(map(len, scored.values()), default=0),
        item_name=study_values.task_of(design).items if design.question.items else "",
        registration=design.registered,
        replications=replications,
        multiverse=_multiverse(study, design),
        curve_most=study_values.metric_declaration(curve, design.arms[0].spec.task).most,
        pairs=study_values.pair_verdicts(study, design, values) if design.all_pairs else (),
        first=arms[0].name,
    )
    # Two values of a comparison are the question; those of a sweep are to find the best one.
    fewest = 2 if design.question.kind == "sweep" else study_text.FEWEST_VALUES
    return replace(results, edges=tuple(study_text.edge_warnings(results, fewest)))


def _in_plain_words(arms: Sequence[Arm], design: Design) -> list[Arm]:
    """The arms, each that has a verdict with the verdict in plain words."""
    finite = [abs(value) for arm in arms for value in arm.values.values() if math.isfinite(value)]
    metric = plain_verdict.plain_metric(design.metric, study_values.task_of(design).metrics, max(finite, default=0.0))
    first = arms[0]
    return [
        replace(
            arm,
            plain=plain_verdict.sentence(arm.name, first.name, arm.values, first.values, arm.difference, metric),
            caution=plain_verdict.caution(arm.difference.pairs, design.question.quick),
        )
        if arm.difference
        else arm
        for arm in arms
    ]


def _replications(
    study: StudyFolder, design: Design, differences: dict[str, Difference], damage: list[str]
) -> tuple[ReplicationOutcome, ...]:
    """The words of this study's verdicts beside those of its original, or beside those of its replications.

    What is wrong with one that cannot be read is added to `damage`; this study can be read without it.
    """
    if design.replicates:
        pairs = [(StudyFolder(containment.folder_within(study.path.parent, [design.replicates], study.path / FILE)), study)]
    else:
        pairs = [(study, other) for other in study_request.replications_of(study)]
    outcomes = []
    for pair in pairs:
        words: dict[str, tuple[str, str]] = {}
        finished = False
        try:
            if (pair[0].path / FILE).is_file():
                designs = [each.design() for each in pair]
                first, second = (
                    differences if each == study else study_values.current_verdicts(each, of)
                    for each, of in zip(pair, designs, strict=True)
                )
                words = {arm.name: (_word(first, arm.name), _word(second, arm.name)) for arm in designs[0].arms[1:]}
                finished = all(of.finished for of in designs)
        except RunError as error:
            damage.append(f"left out as damaged: {error}")
        outcomes.append(ReplicationOutcome(pair[0].name, pair[1].name, words, finished))
    return tuple(outcomes)


def _word(differences: dict[str, Difference], arm: str) -> str:
    return differences[arm].word if arm in differences else ""


def _multiverse(study: StudyFolder, design: Design) -> tuple[MultiverseCell, ...]:
    if not design.multiverse:
        return ()
    universes = multiverse.universes(design.question, study_request.variants_of(study))
    return multiverse.cells(study, universes, study_values.splits_with_metric(study, design), study_values.current_verdicts)


def verdict_sentences(results: StudyResults) -> dict[str, str]:
    """Arm -> its verdict in plain words and then with its statistics, or the reason why it has none."""
    first, others = results.first_arm, results.other_arms
    no_baseline = f"{_why_not_judged(first)}; the other arms have nothing to be compared with"
    sentences = {} if first.summary else {first.name: no_baseline}
    for arm in others:
        if arm.difference:
            sentences[arm.name] = " ".join(study_text.verdict_lines(arm))
        elif first.summary:
            sentences[arm.name] = _why_not_judged(arm)
    return sentences


def _why_not_judged(arm: Arm) -> str:
    if not arm.values:
        return f"{arm.name}: no seed is done yet"
    if len(arm.diverged) == len(arm.values):
        return f"{arm.name} diverged in every seed ({len(arm.diverged)} of {len(arm.seeds)}): its loss was not finite"
    diverged = f", {len(arm.diverged)} diverged" if arm.diverged else ""
    return f"{arm.name}: too few pairs of seeds to judge by ({len(arm.values)} of {len(arm.seeds)} done{diverged})"


def to_json(results: StudyResults) -> str:
    """The results as JSON; numbers that are not finite become null."""
    return json.dumps(kept_json.without_nan(asdict(results)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _metric_logs(study: StudyFolder, design: Design, arm: PlannedArm) -> dict[int, list[dict[str, Any]]]:
    """Seed -> the rows of its metric log."""
    files = {seed: study.run(arm, seed).metrics_file for seed in design.seeds}
    logs = {}
    for seed, file in files.items():
        # What is wrong with a log that cannot be read is among the damage of its run.
        with suppress(RunError):
            if file.exists():
                logs[seed] = metric_log.read(file)
    return logs


def _curve_metric(design: Design, logs: Mapping[str, Mapping[int, Sequence[dict[str, Any]]]]) -> str:
    """The metric that the curves show. The first of these that is logged during training: the study's metric, the same
    metric on the validation split, the validation loss, the training loss."""
    logged = {name for by_seed in logs.values() for log in by_seed.values() for row in log for name in row}
    preferred = (design.metric, f"validation.{design.metric.partition('.')[2]}", "validation.loss")
    return next((name for name in preferred if name in logged), "loss")


def _curve(log: Sequence[dict[str, Any]], name: str, most_points: int = MAX_CURVE_POINTS) -> Curve:
    """(step, value) points; a long curve is shortened to means over groups of consecutive points."""
    points = [(int(row["step"]), float(row[name])) for row in log if row.get(name) is not None]
    group_size = -(-len(points) // most_points)
    if group_size <= 1:
        return points
    groups = [points[start : start + group_size] for start in range(0, len(points), group_size)]
    return [(group[-1][0], statistics.fmean(number for _, number in group)) for group in groups]


def _arm(
    study: StudyFolder,
    design: Design,
    arm: PlannedArm,
    values: Mapping[int, float],
    logs: Mapping[int, Sequence[dict[str, Any]]],
    curve: str,
    differences: Mapping[str, Difference],
) -> Arm:
    plan = arm.facts["plan"]
    finished = [study.run(arm, seed).facts() for seed, number in values.items() if math.isfinite(number)]
    finite = [number for number in values.values() if math.isfinite(number)]
    stopped = [int(facts["stopped"]) for facts in finished if "stopped" in facts]
    steps = round(_mean([facts.get("stopped", plan["steps"]) for facts in finished])) if stopped else plan["steps"]
    # Runs that trained together share the recorded seconds.
    recorded = [(facts.get("outcome", {}).get("seconds"), len(facts.get("together", ()))) for facts in finished]
    seconds = [of_all / max(runs, 1) for of_all, runs in recorded if of_all is not None]
    return Arm(
        name=arm.name,
        changes=arm.changes,
        seeds=design.seeds,
        values=dict(values),
        curves={seed: _curve(log, curve) for seed, log in logs.items()},
        training_losses={seed: _curve(log, "loss", TRAINING_POINTS) for seed, log in logs.items()}
        if curve != "loss"
        else {},
        summary=summarise(finite, design.rule.alpha) if finite else None,
        difference=differences.get(arm.name),
        parameters=sum(plan.get("parameters", {}).values()),
        steps=steps,
        tokens=plan["tokens"] * steps // plan["steps"],
        # Arms are matched by the FLOPs of training alone; the plan's figure includes evaluation.
        flops=arm.step_flops * steps or plan["flops"] * steps // plan["steps"],
        seconds=_mean(seconds),
        # The planned figure: the growth of the process does not show the memory of one run among several.
        memory=sum(plan.get("memory", {}).values()),
        diverged=tuple(seed for seed, number in values.items() if math.isnan(number)),
        notes=(*arm.notes, *_early_stopping_note(stopped, plan["steps"], len(finished))),
    )


def _early_stopping_note(stopped: Sequence[int], planned: int, runs: int) -> Iterator[str]:
    if stopped:
        steps = f"{min(stopped):,} to {max(stopped):,}" if len(set(stopped)) > 1 else f"{stopped[0]:,}"
        seeds = f"{len(stopped)} of {runs} seeds"
        yield f"stopped early after {steps} of {planned:,} steps in {seeds}; the costs are those of the steps taken"


def _mean(numbers: Sequence[float]) -> float:
    return statistics.fmean(numbers) if numbers else 0.0


def _machines(study: StudyFolder, design: Design) -> list[dict[str, str]]:
    machines: list[dict[str, str]] = []
    for arm in design.arms:
        for seed in design.seeds:
            try:
                machine = study.run(arm, seed).facts().get("machine")
            except RunError:  # it has not begun, or is damaged
                continue
            if machine and machine not in machines:
                machines.append(machine)
    return machines


def _notes(design: Design, arms: Sequence[Arm], machines: Sequence[dict[str, str]]) -> list[str]:
    notes = [*design.notes, *filter(None, (design.device, design.multiverse_cost, design.power))]
    if design.judged:
        counts = " and ".join(map(str, design.judged))
        notes.append(
            f"seeds were added after {counts} had been judged, and the p-values do not correct for that: false verdicts are "
            "more likely than alpha says; --until-decided plans its interim tests in advance"
        )
    if design.question.kind == "sweep" and any(arm.summary for arm in arms):
        measured = [arm for arm in arms if arm.summary]
        sign = -1 if design.rule.higher_is_better else 1
        best = min(measured, key=lambda arm: sign * arm.summary.mean if arm.summary else math.inf)
        best_of = f"{best.name} has the best mean of {len(measured)} arms"
        notes.append(f"{best_of}; the best of several is partly luck, so compare it again with fresh seeds")
    if len({(machine.get("processor"), machine.get("accelerator")) for machine in machines}) > 1:
        notes.append("the runs were trained on different machines, so their times cannot be compared")
    return notes
