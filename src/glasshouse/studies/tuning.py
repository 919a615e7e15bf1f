"""Tuning: before the arms are compared, each arm gets its own best value of one field, chosen on the validation text.

A learning rate that suits one arm better than another would bias the comparison. The candidate values are trained with
separate seeds, so that no run is used both to tune and to compare.
"""

import math
import statistics
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from glasshouse.launching.submission import Submission
from glasshouse.runs import resolve_spec
from glasshouse.specs import declared, spec_fields, spec_files
from glasshouse.specs.errors import RunError, SpecError
from glasshouse.specs.spec import SECTIONS
from glasshouse.studies import arms, run_queue, study_values
from glasshouse.studies.arms import Variant
from glasshouse.studies.run_queue import Place, QueuedRun
from glasshouse.studies.study_folder import FILE, FIRST_TUNING_SEED, Design, PlannedArm, StudyFolder, Tuning
from glasshouse.studies.study_planning import with_seed
from glasshouse.training import warm_start

# The default candidates are the arm's own value, multiplied and divided by powers of FACTOR.
FACTOR = 3.0
VALUES_PER_SIDE = 2
SEEDS = 2
# Besides numbers of the training section, these fields can be tuned: they change neither the cost nor the evaluation.
MODEL_FIELDS = ("model.dropout", "model.initialisation")


def parse(
    option: str | None, variants: Sequence[Variant], seeds: Sequence[int], first_seed: int = FIRST_TUNING_SEED
) -> Tuning | None:
    """The tuning that `--tune FIELD` or `--tune FIELD=VALUES` requests; None without the option.

    `seeds` are those of the comparison; tuning uses others, from `first_seed` on.
    """
    if option is None:
        return None
    [option] = resolve_spec.with_full_names([option])
    field, equals, text = option.partition("=")
    field = field.strip()
    tunable = [
        f"training.{name}" for name, (kind, _, _) in spec_fields.fields(SECTIONS["training"]).items() if kind is float
    ]
    tunable = [name for name in tunable if name != "training.epochs"] + list(MODEL_FIELDS)
    if field not in tunable:
        raise SpecError(f"is not a field that can be tuned; choose one of: {', '.join(tunable)}", "tune", field)
    if any(field in variant.changes for variant in variants):
        raise SpecError(f"sets {field}, but {field} is what varies between the arms; leave --tune out", "tune", field)
    if equals:
        requested = arms.parse_values(field, text)
        if len(requested) < 2:
            raise SpecError(f"has one value; write several: --tune {field}=1e-3,3e-3,1e-2", "tune", option)
        for value in requested:
            for variant in variants:
                spec_files.override(variant.spec, [f"{field}={value}"])
        values = {variant.name: list(requested) for variant in variants}
    else:
        values = {variant.name: _default_values(field, variant) for variant in variants}
    tuning_seeds = tuple(range(first_seed, first_seed + SEEDS))
    if shared := sorted(set(tuning_seeds) & set(seeds)):
        raise SpecError(f"--seeds contains {shared[0]}, which tuning uses; choose seeds below {tuning_seeds[0]}")
    return Tuning(field, values, tuning_seeds)


def _default_values(field: str, variant: Variant) -> list[str]:
    """Values around the arm's own value, without those that the field does not allow."""
    centre = declared.value_of(variant.spec, field)
    if centre <= 0:
        raise SpecError(f"has no default values around {centre:g}; write --tune {field}=0.01,0.03,0.1", "tune", field)
    values = [f"{centre * FACTOR**power:.3g}" for power in range(-VALUES_PER_SIDE, VALUES_PER_SIDE + 1)]
    values[VALUES_PER_SIDE] = repr(centre)
    allowed = []
    for value in values:
        with suppress(SpecError):
            spec_files.override(variant.spec, [f"{field}={value}"])
            allowed.append(value)
    if len(allowed) < 2:
        raise SpecError(f"allows too few of the values {', '.join(values)}; write others: --tune {field}=...", "tune", field)
    return allowed


def tune(study: StudyFolder, design: Design, place: Place) -> Submission | None:
    """Train the tuning runs that are left, put each arm's best value into its spec, and write the design."""
    tuning = design.tuning
    if tuning is None or tuning.chosen:
        return None
    try:
        queue = [
            _queued_run(study, design, arm, value, seed)
            for seed in tuning.seeds
            for arm in design.arms
            for value in tuning.values[arm.name]
        ]
    except SpecError as error:
        raise RunError(f"{study.path / FILE}: a value of its tuning cannot be tried: {error}") from None
    metric = design.on_split("validation").metric
    title = f"tuning {study.name}"
    describe = lambda queued: study_values.describe_value(queued.run, metric)  # noqa: E731
    if submitted := run_queue.run_all(queue, place, study.path, title, describe):
        return submitted
    tuned_arms, means_by_arm, chosen = [], {}, {}
    for arm in design.arms:
        means = {value: _mean(study, arm, value, tuning, metric) for value in tuning.values[arm.name]}
        higher = study_values.metric_declaration(metric, arm.spec.task).higher_is_better
        best, note = _choose_best(arm, tuning, means, metric, higher)
        means_by_arm[arm.name], chosen[arm.name] = means, best
        spec = spec_files.override(arm.spec, [f"{tuning.field}={best}"])
        tuned_arms.append(replace(arm, spec=spec, notes=(*arm.notes, note)))
    seeds = f"{len(tuning.seeds)} seeds that are not used in the comparison"
    about = f"each arm has its own best {tuning.field}, chosen by {metric} with {seeds}"
    finished_tuning = replace(tuning, found=means_by_arm, chosen=chosen)
    design = replace(design, arms=tuple(tuned_arms), tuning=finished_tuning, notes=(*design.notes, about))
    study.write(design)
    return None


def _queued_run(study: StudyFolder, design: Design, arm: PlannedArm, value: str, seed: int) -> QueuedRun:
    """A tuning run. If each seed starts from a run of its own, tuning starts from those of the study's first seeds.

    Only these exist.
    """
    assert design.tuning is not None
    field, seeds = design.tuning.field, design.tuning.seeds
    spec = with_seed(arm.spec, seed)
    start_seed = design.seeds[seeds.index(seed) % len(design.seeds)]
    start = spec.training.start_from.replace(warm_start.SEED, str(start_seed))
    spec = replace(spec, training=replace(spec.training, start_from=start))
    spec = spec_files.override(spec, [f"{field}={value}"])
    name = f"{arm.name}, {field}={value}, seed {seed}"
    return QueuedRun(study.tuning_run(arm, value, seed), name, spec, arm.recipe, arm.facts, arm.replicas, arm.name)


def _mean(study: StudyFolder, arm: PlannedArm, value: str, tuning: Tuning, metric: str) -> float | None:
    """The mean over the seeds. None if any seed diverged: such a value is not eligible."""
    numbers = [study_values.final_value(study.tuning_run(arm, value, seed), metric) for seed in tuning.seeds]
    finite = [number for number in numbers if number is not None and math.isfinite(number)]
    return statistics.fmean(finite) if len(finite) == len(numbers) else None


def _choose_best(
    arm: PlannedArm, tuning: Tuning, means: dict[str, float | None], metric: str, higher: bool
) -> tuple[str, str]:
    """The value with the best mean, and a note on the choice."""
    eligible = {value: mean for value, mean in means.items() if mean is not None}
    candidates = f"candidates: {', '.join(means)}"
    if not eligible:
        unchanged = repr(declared.value_of(arm.spec, tuning.field))
        return (
            unchanged,
            f"not tuned: {tuning.field} stays {unchanged}, because the arm diverged with every value ({candidates})",
        )
    best = (max if higher else min)(eligible, key=lambda value: eligible[value])
    note = f"tuned: {tuning.field}={best} ({candidates}; {metric} {eligible[best]:.4g})"
    if len(eligible) > 1 and float(best) in (min(map(float, means)), max(map(float, means))):
        note += "; the best value is at the edge of the candidates, so a value beyond it may be better"
    return best, note
