"""The runner of a study, from its question to its verdicts: create or continue it, tune, train, judge, report."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from glasshouse import formatting
from glasshouse.launching.submission import Submission
from glasshouse.records import progress_bar, run_folder
from glasshouse.specs.errors import Interrupted, RunError, SpecError
from glasshouse.specs.options import words as words_of
from glasshouse.studies import (
    arms,
    multiverse,
    power_plan,
    run_queue,
    study_folder,
    study_planning,
    study_request,
    study_values,
    tuning,
)
from glasshouse.studies.run_queue import Place, QueuedRun
from glasshouse.studies.study_folder import Design, StudyFolder
from glasshouse.studies.study_options import Question, StudyOptions
from glasshouse.studies.study_planning import StudyRequest
from glasshouse.training import devices

REPLICAS = ("auto", "off")
DEFAULT_SEEDS = 8
# Writes the report of a study.
Report = Callable[[StudyFolder], object]


def run_study(
    kind: str,
    words: Sequence[str],
    options: StudyOptions,
    place: Place,
    report: Report,
    root: Path | None = None,
    quick: bool = False,
    shortens_interval: bool = False,
) -> StudyFolder | Submission:
    """Run a study to its verdicts, or continue the study that has the same question. Returns it, or the jobs that run it.

    `report` writes the report of a judged study. Its folder is in `root`, by default the studies folder. With
    `shortens_interval`, a new study is evaluated often enough for a curve, unless its words set `evaluation.every`.
    """
    question = options.question(kind, tuple(words), quick)
    if options.replicas not in REPLICAS and not formatting.read_count(options.replicas):
        raise SpecError("is not auto, off, or a number of runs that train together", "replicas", options.replicas)
    devices.pick(place.device)
    if options.name is not None:
        study_folder.checked_name(options.name)
    if options.replicate is not None:
        request = _replication(question, options, options.replicate)
    else:
        request = _request(question, options, study_folder.root() if root is None else root, shortens_interval)
    study = study_request.open_or_create(request, place)
    return study if isinstance(study, Submission) else continue_study(study, place, report)


def _request(question: Question, options: StudyOptions, root: Path, shortens_interval: bool) -> StudyRequest:
    grid = arms.parse(question.words)
    if question.kind == "sweep" and not grid.varied:
        raise SpecError("a sweep needs a field with several values, such as training.learning_rate=1e-4..1e-2:log:8")
    variants = arms.expand(grid)
    wanted = DEFAULT_SEEDS if options.seeds is None else options.seeds
    seeds = tuple(range(question.batch)) if question.until_decided else arms.parse_seeds(wanted)
    return StudyRequest(
        question=question,
        options=options,
        variants=variants,
        seeds=seeds,
        tuning=tuning.parse(question.tune, variants, seeds),
        default_name=grid.default_study_name,
        root=root,
        shortens_interval=shortens_interval,
    )


def _replication(asked: Question, options: StudyOptions, name_of_original: str) -> StudyRequest:
    """The question of a study once more, with fresh seeds. A replication of a registered study is registered."""
    if changed := " ".join([*asked.words, *words_of(asked)]):
        raise SpecError(f"a replication asks the question of its study, so {changed!r} cannot be set; leave it out")
    original = study_request.find_original(name_of_original)
    design = original.design()
    name = f"{original.name}-replication" if options.name is None else options.name
    variants = study_request.variants_of(original)
    root, existing = original.path.parent, study_folder.find_or_none(original.path.with_name(name))
    if existing and existing.design().replicates == original.name:
        seeds, tuning_plan = existing.design().seeds, existing.design().tuning
        wanted = options.seeds
        if wanted is not None and arms.parse_seeds(wanted) not in (seeds, tuple(range(len(seeds)))):
            raise SpecError(f"is not what {existing.path} has; leave it out, or choose another --name", "seeds", wanted)
    else:
        seeds = study_request.fresh_seeds(original, options.seeds)
        tuning_plan = tuning.parse(design.question.tune, variants, seeds, study_request.first_tuning_seed(original))
    register = options.register or (existing is None and design.registered is not None)
    return StudyRequest(
        question=design.question,
        options=replace(options, name=name, register=register),
        variants=variants,
        seeds=seeds,
        tuning=tuning_plan,
        root=root,
        replicates=original.name,
        shortens_interval=design.shortens_interval,
    )


def continue_study(study: StudyFolder, place: Place, report: Report) -> StudyFolder | Submission:
    """Train the runs that are left, judge the study and write its report. Returns the study, or the jobs that run it."""
    devices.pick(place.device)
    run_folder.root()  # a file in its place is refused before the runs are trained, and not when the page is linked
    with study.locked():
        try:
            if submitted := _train(study, place, report):
                return submitted
        except Interrupted as stop:
            raise Interrupted(stop.signal, stop.reached, f"glasshouse resume {study.path}") from None
    report(study)
    return study


def _train(study: StudyFolder, place: Place, report: Report) -> Submission | None:
    """Take every step that needs runs or their weights."""
    design = study.design()
    study_request.check_registration(study, design)
    _check_metric(study, design)
    if submitted := tuning.tune(study, design, place):
        return submitted
    _add_power_plan(study)
    design = study.design()
    if not design.finished:
        train = _train_until_decided if design.question.until_decided else _train_all_seeds
        if submitted := train(study, design, place):
            return submitted
        design = replace(study.design(), finished=True)
        study.write(design)
    if design.question.items:
        study_values.score_runs(study, design, place.device)
    if design.multiverse:
        report(study)
        return _run_multiverse(study, design, place, report)
    return None


def _check_metric(study: StudyFolder, design: Design) -> None:
    """Refuse a recorded metric that no run will have, before a run is trained."""
    task = study_values.task_of(design)
    if design.metric_name not in task.metrics:
        file = study.path / study_folder.FILE
        raise RunError(f"{file}: its metric {design.metric[:100]!r} is none of its runs; correct it")


def _train_all_seeds(study: StudyFolder, design: Design, place: Place) -> Submission | None:
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
    return run_queue.run_all(queue, place, study.path, study.name, describe)


def _train_until_decided(study: StudyFolder, design: Design, place: Place) -> Submission | None:
    """Add seeds in batches and judge after each, until every arm has a verdict or the maximum is reached."""
    for look in (look for look in design.rule.looks if look >= len(design.seeds)):
        design = replace(design, seeds=design.planned_seeds[:look])
        study.write(design)
        if submitted := _train_all_seeds(study, design, place):
            return submitted
        if design.question.items:
            study_values.score_runs(study, design, place.device)
        if study_values.is_decided(study, design):
            progress_bar.say(f"decided after {look} seeds; the maximum is {design.question.max_seeds}")
            return None
    progress_bar.say(f"not decided after {design.question.max_seeds} seeds, the maximum")
    return None


def _add_power_plan(study: StudyFolder) -> None:
    """Announce the power of the study, and write it into the design before the first run of the comparison."""
    design = study.design()
    runs = (study.run(arm, seed) for arm in design.arms for seed in design.seeds)
    if design.power or any(run.path.exists() for run in runs):
        return
    note = power_plan.sentence(design, power_plan.deviation_of_earlier_study(design, study.path.parent))
    progress_bar.say(note)
    study.write(replace(design, power=note))


def _run_multiverse(study: StudyFolder, design: Design, place: Place, report: Report) -> Submission | None:
    """Run the studies of the other universes, and score the items of every split if items are a sample."""
    variants = study_request.variants_of(study)
    splits = study_values.splits_with_metric(study, design)
    for universe in multiverse.universes(design.question, variants):
        folder: StudyFolder | Submission = study
        if not universe.main:
            question = multiverse.question_of(universe, design.question)
            changed = multiverse.variants_of(universe, variants)
            request = StudyRequest(
                question=question,
                options=StudyOptions(name=universe.folder, replicas=design.replicas),
                variants=changed,
                seeds=design.seeds,
                tuning=tuning.parse(question.tune, changed, design.seeds, study_request.tuning_seed_of_multiverse(design)),
                root=study.path / multiverse.FOLDER,
                shortens_interval=design.shortens_interval,
            )
            folder = study_request.open_or_create(request, place)
            if isinstance(folder, StudyFolder):
                folder = continue_study(folder, place, report)
        if isinstance(folder, Submission):
            return folder
        for split in splits if design.question.items else ():
            study_values.score_runs(folder, folder.design().on_split(split), place.device)
    return None
