"""Tuning: each arm gets its own best value of a field before the arms are compared, chosen on the validation text.

A learning rate that suits one arm and not another would decide a comparison that was not about learning rates. The values
are tried with seeds of their own, so that no run counts twice.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from glasshouse.specs import declared, spec_fields, spec_files
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import SECTIONS
from glasshouse.studies import arms, run_queue, study_metric, study_results
from glasshouse.studies.arms import Variant
from glasshouse.studies.run_queue import QueuedRun
from glasshouse.studies.study_folder import Design, PlannedArm, StudyFolder, Tuning
from glasshouse.studies.study_planning import with_seed

# By how much the values of a ladder differ, and how many rungs it has on each side of the arm's own value.
FACTOR = 3.0
RUNGS = 2
# Far from the seeds that people ask for.
FIRST_SEED = 1_000_000
SEEDS = 2
# Numbers of a spec that change what a run costs, or what is measured, cannot be tuned between arms that are to be fair.
MODEL_FIELDS = ("model.dropout", "model.initialisation")


def asked(word: str | None, variants: Sequence[Variant], seeds: Sequence[int]) -> Tuning | None:
    """What `--tune FIELD` or `--tune FIELD=VALUES` asks for."""
    if word is None:
        return None
    field, equals, text = word.partition("=")
    field = field.strip()
    tunable = [
        f"training.{name}" for name, (kind, _, _) in spec_fields.fields(SECTIONS["training"]).items() if kind is float
    ]
    tunable = [name for name in tunable if name != "training.epochs"] + list(MODEL_FIELDS)
    if field not in tunable:
        raise SpecError(
            "cannot-tune", f"--tune={field} is not possible; the fields that can be tuned are: {', '.join(tunable)}"
        )
    if any(field in variant.changes for variant in variants):
        raise SpecError(
            "cannot-tune",
            f"--tune={field} would undo what is compared: {field} varies between the arms; leave one of them out",
        )
    if equals:
        given = arms.values_of(field, text)
        if len(given) < 2:
            raise SpecError(
                "cannot-tune", f"--tune={word} leaves nothing to choose; give several values: --tune {field}=1e-3,3e-3,1e-2"
            )
        for value in given:
            for variant in variants:
                spec_files.override(variant.spec, [f"{field}={value}"])
        values = {variant.name: list(given) for variant in variants}
    else:
        values = {variant.name: _ladder(field, variant) for variant in variants}
    own = tuple(range(FIRST_SEED, FIRST_SEED + SEEDS))
    _refuse_shared(own, seeds)
    return Tuning(field, values, own)


def _refuse_shared(own: Sequence[int], seeds: Sequence[int]) -> None:
    if shared := sorted(set(own) & set(seeds)):
        raise SpecError(
            "seed-used-in-tuning",
            f"--seeds has {shared[0]}, which tuning uses; a seed must not count twice: choose seeds below {own[0]}",
        )


def _ladder(field: str, variant: Variant) -> list[str]:
    own = declared.value_of(variant.spec, field)
    if own <= 0:
        raise SpecError(
            "cannot-tune", f"--tune={field} has no ladder around {own:g}; give the values: --tune {field}=0.01,0.03,0.1"
        )
    values = [f"{own * FACTOR**rung:.3g}" for rung in range(-RUNGS, RUNGS + 1)]
    values[RUNGS] = repr(own)
    possible = [value for value in values if _possible(field, value, variant)]
    if len(possible) < 2:
        raise SpecError(
            "cannot-tune",
            f"--tune={field} has no ladder around {own:g}: of {', '.join(values)} the field allows {len(possible)}; "
            f"give the values: --tune {field}=...",
        )
    return possible


def _possible(field: str, value: str, variant: Variant) -> bool:
    try:
        spec_files.override(variant.spec, [f"{field}={value}"])
    except SpecError:
        return False
    return True


def metric_of(design: Design) -> str:
    """What tuning chooses by: the study's metric, on the validation text."""
    return f"validation.{design.metric.partition('.')[2]}"


def tune(study: StudyFolder, design: Design, device: str) -> Design:
    """The design with each arm's best value in its spec, its runs done where they were not; written to the study."""
    tuning = design.tuning
    if tuning is None or tuning.chosen:
        return design
    wanted = [
        _wanted(study, design, arm, value, seed)
        for seed in tuning.seeds
        for arm in design.arms
        for value in tuning.values[arm.name]
    ]
    metric = metric_of(design)
    run_queue.do(wanted, device, f"tuning {study.name}", lambda one: study_results.told(one.run, metric))
    tuned, found, chosen = [], {}, {}
    for arm in design.arms:
        means = {value: _mean(study, arm, value, tuning, metric) for value in tuning.values[arm.name]}
        best, note = _best(arm, tuning, means, metric, study_metric.declared(metric, arm.spec.task).higher_is_better)
        found[arm.name], chosen[arm.name] = means, best
        spec = spec_files.override(arm.spec, [f"{tuning.field}={best}"])
        tuned.append(replace(arm, spec=spec, notes=(*arm.notes, note)))
    about = (
        f"each arm has its own best {tuning.field}, chosen by {metric} with {len(tuning.seeds)} seeds "
        f"({tuning.seeds[0]:,} and up) that are not among those compared"
    )
    result = replace(tuning, found=found, chosen=chosen)
    design = replace(design, arms=tuple(tuned), tuning=result, notes=(*design.notes, about))
    study.write(design)
    return design


def _wanted(study: StudyFolder, design: Design, arm: PlannedArm, value: str, seed: int) -> QueuedRun:
    assert design.tuning is not None
    spec = spec_files.override(with_seed(arm.spec, seed), [f"{design.tuning.field}={value}"])
    name = f"{arm.name}, {design.tuning.field}={value}, seed {seed}"
    return QueuedRun(study.tuning_run(arm, value, seed), name, spec, arm.recipe, arm.facts, arm.replicas, arm.name)


def _mean(study: StudyFolder, arm: PlannedArm, value: str, tuning: Tuning, metric: str) -> float | None:
    """The mean over the seeds; None where one of them diverged: such a value is not to be had."""
    found = [study_results.value(study.tuning_run(arm, value, seed), metric) for seed in tuning.seeds]
    values = [number for number in found if number is not None and math.isfinite(number)]
    return statistics.fmean(values) if len(values) == len(found) else None


def _best(arm: PlannedArm, tuning: Tuning, means: dict[str, float | None], metric: str, higher: bool) -> tuple[str, str]:
    """The value that did best, and what to say of it."""
    whole = {value: mean for value, mean in means.items() if mean is not None}
    tried = f"of {', '.join(means)}"
    if not whole:
        own = repr(declared.value_of(arm.spec, tuning.field))
        return own, f"tuning found nothing: {tuning.field} diverged with every value ({tried}), so it stays {own}"
    best = (max if higher else min)(whole, key=lambda value: whole[value])
    note = f"tuned: {tuning.field}={best} ({tried}; {metric} {whole[best]:.4g})"
    if len(whole) > 1 and float(best) in (min(map(float, means)), max(map(float, means))):
        note += "; the best lies at the edge of what was tried, so a better one may lie beyond"
    return best, note
