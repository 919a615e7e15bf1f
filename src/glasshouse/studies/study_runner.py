"""The runner of a study, from its question to its verdicts: create or continue it, tune, train, judge, write the report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from glasshouse import formatting
from glasshouse.records import progress_bar, run_folder
from glasshouse.specs.errors import Interrupted, RunError, SpecError
from glasshouse.studies import (
    arms,
    multiverse,
    power_plan,
    run_queue,
    study_folder,
    study_items,
    study_planning,
    study_registration,
    study_replication,
    study_results,
    study_values,
    tuning,
)
from glasshouse.studies.run_queue import QueuedRun
from glasshouse.studies.study_folder import Design, Question, StudyFolder
from glasshouse.studies.study_request import StudyRequest, open_or_create, tuning_seed_of_multiverse
from glasshouse.training import devices
from glasshouse.verdicts.verdict import LARGEST_MARGIN

REPLICAS = ("auto", "off")
DEFAULT_SEEDS = 8
# Defaults of --until-decided: seeds per batch, and the maximum number of seeds.
DEFAULT_BATCH = 4
DEFAULT_MAX_SEEDS = 32


def run_study(
    question: Question,
    seeds: str | int | Sequence[int] | None,
    name: str | None,
    device: str,
    replicas: str,
    root: Path | None = None,
    register: bool = False,
    with_multiverse: bool = False,
    all_pairs: bool = False,
    shortens_interval: bool = False,
) -> StudyFolder:
    """Run a study to its verdicts, or continue the study that has the same question.

    Its folder is in `root`, by default the studies folder. With `register`, a new study records a digest of its plan. With
    `with_multiverse`, its verdicts are also computed under other reasonable choices. With `all_pairs`, every pair of arms is
    judged too. With `shortens_interval`, a new study is evaluated often enough for a curve, unless its words set
    `evaluation.every`.
    """
    root = study_folder.root() if root is None else root
    _check_options(question, seeds, replicas)
    devices.pick(device)
    if name is not None:
        study_folder.checked_name(name)
    grid = arms.parse(question.words)
    if question.kind == "sweep" and not grid.varied:
        raise SpecError("a sweep needs a field with several values, such as training.learning_rate=1e-4..1e-2:log:8")
    variants = arms.expand(grid)
    default_seeds = DEFAULT_SEEDS if seeds is None else seeds
    chosen_seeds = tuple(range(question.batch)) if question.batch else arms.parse_seeds(default_seeds)
    request = StudyRequest(
        question=question,
        variants=variants,
        seeds=chosen_seeds,
        tuning=tuning.parse(question.tune, variants, chosen_seeds),
        name=name,
        default_name=grid.default_study_name,
        root=root,
        register=register,
        with_multiverse=with_multiverse,
        all_pairs=all_pairs,
        shortens_interval=shortens_interval,
    )
    return continue_study(open_or_create(request, device, replicas), device)


def replicate_study(
    name_of_original: str,
    seeds: str | int | Sequence[int] | None,
    name: str | None,
    device: str,
    replicas: str,
    register: bool = False,
    with_multiverse: bool = False,
    all_pairs: bool = False,
) -> StudyFolder:
    """Ask the question of a study again, with fresh seeds, or continue that replication.

    `name` is by default that of the original with `-replication`. A replication of a registered study is registered.
    """
    original = study_replication.find_original(name_of_original)
    design = original.design()
    _check_options(design.question, seeds, replicas)
    devices.pick(device)
    name = study_replication.default_name(original) if name is None else study_folder.checked_name(name)
    variants = study_replication.variants_of(original)
    root, existing = original.path.parent, study_folder.find_or_none(original.path.with_name(name))
    if existing and existing.design().replicates == original.name:
        chosen_seeds, tuning_plan = existing.design().seeds, existing.design().tuning
        if seeds is not None and arms.parse_seeds(seeds) not in (chosen_seeds, tuple(range(len(chosen_seeds)))):
            raise SpecError(
                f"is not what {existing.path} has ({len(chosen_seeds)} seeds from {chosen_seeds[0]}); leave --seeds out "
                "to continue it, or choose another --name for another replication",
                "seeds",
                seeds,
            )
    else:
        chosen_seeds = study_replication.fresh_seeds(original, seeds)
        first_tuning_seed = study_replication.first_tuning_seed(original)
        tuning_plan = tuning.parse(design.question.tune, variants, chosen_seeds, first_tuning_seed)
    request = StudyRequest(
        question=design.question,
        variants=variants,
        seeds=chosen_seeds,
        tuning=tuning_plan,
        name=name,
        default_name=name,
        root=root,
        register=register or (existing is None and design.registration is not None),
        with_multiverse=with_multiverse,
        all_pairs=all_pairs,
        replicates=original.name,
        shortens_interval=design.shortens_interval,
    )
    return continue_study(open_or_create(request, device, replicas), device)


def continue_study(study: StudyFolder, device: str) -> StudyFolder:
    """Train the runs that are left, judge the study and write its report."""
    devices.pick(device)
    run_folder.root()  # a file in its place is refused before the runs are trained, and not when the page is linked
    with study.locked():
        try:
            design = study.design()
            study_registration.check(study, design)
            _check_metric(study, design)
            design = _with_power_plan(study, tuning.tune(study, design, device))
            if not design.finished:
                if design.question.batch:
                    design = _train_until_decided(study, design, device)
                else:
                    _train_all_seeds(study, design, device)
                design = replace(design, finished=True)
                study.write(design)
            if design.question.items:
                study_items.score_runs(study, design, device)
            if design.multiverse:
                study_results.write(study)
                _run_multiverse(study, design, device)
        except Interrupted as stop:
            raise Interrupted(stop.signal, stop.reached, f"glasshouse resume {study.path}") from None
    study_results.write(study)
    return study


def _check_metric(study: StudyFolder, design: Design) -> None:
    """Refuse a recorded metric that no run will have, before a run is trained."""
    task = study_values.task_of(design)
    if design.metric.partition(".")[2] not in task.metrics:
        raise RunError(
            f"{study.path / study_folder.FILE}: its metric {design.metric[:100]!r} is none of its runs; correct it, for "
            f"example to validation.{task.criterion}"
        )


def sequential_options(until_decided: bool, batch: int | None, max_seeds: int | None) -> dict[str, int]:
    """The fields `batch` and `most` of a Question that adds seeds until it is decided; empty for other questions."""
    if not until_decided:
        for option, value in (("--batch", batch), ("--max-seeds", max_seeds)):
            if value is not None:
                raise SpecError("works only with --until-decided; add --until-decided, or use --seeds", option, value)
        return {}
    batch = DEFAULT_BATCH if batch is None else batch
    max_seeds = DEFAULT_MAX_SEEDS if max_seeds is None else max_seeds
    if not 2 <= batch <= max_seeds:
        raise SpecError(
            f"must be at least 2 and at most --max-seeds={max_seeds}; write for example --batch {DEFAULT_BATCH} "
            f"--max-seeds {DEFAULT_MAX_SEEDS}",
            "batch",
            batch,
        )
    if max_seeds > arms.MAX_SEEDS:
        raise SpecError(f"is more than the maximum of {arms.MAX_SEEDS}; choose fewer seeds", "max_seeds", max_seeds)
    return {"batch": batch, "most": max_seeds}


def check_replication(question: Question) -> None:
    """Refuse words and options of a question beside --replicate."""
    if changed := " ".join([*question.words, *question.options()]):
        raise SpecError(
            f"a replication asks the question of its study as it was, so {changed!r} cannot be set; leave it out"
        )


def _check_options(question: Question, seeds: object, replicas: str) -> None:
    if question.batch and seeds is not None:
        raise SpecError("--seeds cannot be used with --until-decided; set the number of seeds by --batch and --max-seeds")
    if not 0 < question.alpha < 0.5:
        raise SpecError("must be between 0 and 0.5; 0.05 is usual", "alpha", question.alpha)
    if question.margin is not None and not 0 < question.margin <= LARGEST_MARGIN:
        raise SpecError(
            (f"must be above 0 and at most {LARGEST_MARGIN:g}, in units of the metric; leave --margin out for the default"),
            "margin",
            question.margin,
        )
    if replicas not in REPLICAS and not formatting.read_count(replicas):
        raise SpecError("is not auto, off, or a number of runs that train together", "replicas", replicas)


def _train_all_seeds(study: StudyFolder, design: Design, device: str) -> None:
    """Train every arm with every seed, seed by seed: at any time all arms have about equally many finished runs."""
    queue = [
        QueuedRun(
            run=study.run(arm, seed),
            name=f"{arm.name}, seed {seed}",
            spec=study_planning.with_seed(arm.spec, seed),
            recipe=arm.recipe,
            facts=arm.facts,
            replicas=arm.replicas,
            arm=arm.name,
        )
        for seed in design.seeds
        for arm in design.arms
    ]
    describe = lambda queued: study_values.describe_value(queued.run, design.metric)  # noqa: E731
    run_queue.run_all(queue, device, study.path, study.name, describe)


def _train_until_decided(study: StudyFolder, design: Design, device: str) -> Design:
    """Add seeds in batches and judge after each, until every arm has a verdict or the maximum is reached."""
    for look in (look for look in design.rule.looks if look >= len(design.seeds)):
        design = replace(design, seeds=design.planned_seeds[:look])
        study.write(design)
        _train_all_seeds(study, design, device)
        if design.question.items:
            study_items.score_runs(study, design, device)
        if study_values.is_decided(study, design):
            progress_bar.say(f"decided after {look} seeds; the maximum is {design.question.most}")
            return design
    progress_bar.say(f"not decided after {design.question.most} seeds, the maximum")
    return design


def _with_power_plan(study: StudyFolder, design: Design) -> Design:
    """The design with a note on the power of the study, announced and written before the first run of the comparison."""
    runs = (study.run(arm, seed) for arm in design.arms for seed in design.seeds)
    if any(note.startswith(power_plan.NOTE) for note in design.notes) or any(run.path.exists() for run in runs):
        return design
    deviation = power_plan.deviation_of_earlier_study(design, study.path.parent)
    note = power_plan.sentence(design, deviation or power_plan.deviation_of_tuning(study, design))
    progress_bar.say(note)
    design = replace(design, notes=(*design.notes, note))
    study.write(design)
    return design


def _run_multiverse(study: StudyFolder, design: Design, device: str) -> None:
    """Run the studies of the other universes, and score the items of every split if items are a sample."""
    variants = study_replication.variants_of(study)
    splits = study_values.held_out_splits(study, design)
    for universe in multiverse.universes(design.question, variants):
        folder = study
        if not universe.main:
            question = multiverse.question_of(universe, design.question)
            changed = multiverse.variants_of(universe, variants)
            request = StudyRequest(
                question=question,
                variants=changed,
                seeds=design.seeds,
                tuning=tuning.parse(question.tune, changed, design.seeds, tuning_seed_of_multiverse(design)),
                name=universe.folder,
                default_name=universe.folder,
                root=study.path / multiverse.FOLDER,
                shortens_interval=design.shortens_interval,
            )
            folder = continue_study(open_or_create(request, device, design.replicas), device)
        for split in splits if design.question.items else ():
            other = replace(folder.design(), metric=f"{split}.{design.metric.partition('.')[2]}")
            study_items.score_runs(folder, other, device)
