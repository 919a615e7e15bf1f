"""The runner of a study, from its question to its verdicts: create or continue it, tune, train, judge, write the report."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from glasshouse.formatting import duration
from glasshouse.records import progress_bar, run_folder
from glasshouse.specs import spec_files
from glasshouse.specs.errors import Interrupted, RunError, SpecError
from glasshouse.studies import arms, run_queue, study_folder, study_planning, study_results, tuning
from glasshouse.studies.arms import Variant
from glasshouse.studies.run_queue import QueuedRun
from glasshouse.studies.study_folder import Design, Question, StudyFolder
from glasshouse.training import devices

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
) -> StudyFolder:
    """Run a study to its verdicts, or continue the study that has the same question.

    Its folder is in `root`, by default the studies folder.
    """
    root = study_folder.root() if root is None else root
    _check_options(question, seeds, replicas)
    devices.pick(device)
    if name is not None:
        run_folder.checked_name(name, "study")
    grid = arms.parse(question.words)
    if question.kind == "sweep" and not grid.varied:
        raise SpecError(
            "nothing-to-compare",
            "a sweep needs a field with several values, such as training.learning_rate=1e-4..1e-2:log:8",
        )
    variants = arms.expand(grid)
    default_seeds = DEFAULT_SEEDS if seeds is None else seeds
    chosen_seeds = tuple(range(question.batch)) if question.batch else arms.parse_seeds(default_seeds)
    tuning_plan = tuning.parse(question.tune, variants, chosen_seeds)
    study, unused_name = _find_same_study(root, name, grid.default_study_name, question, variants)
    if study is None:
        design = study_planning.make_design(question, variants, chosen_seeds, device, replicas, tuning_plan)
        while study is None:
            try:
                created = study_folder.create(design, unused_name, root)
            except FileExistsError:
                # Meanwhile another process created a study of that name, perhaps with the same question.
                study, unused_name = _find_same_study(root, name, grid.default_study_name, question, variants)
            else:
                _announce(created, design)
                return continue_study(created, device)
    unchanged = _unchanged_settings(study.design(), chosen_seeds, replicas)
    progress_bar.say(f"continuing {study.path}, which asks the same question{unchanged}")
    _add_seeds(study, chosen_seeds)
    return continue_study(study, device)


def continue_study(study: StudyFolder, device: str) -> StudyFolder:
    """Train the runs that are left, judge the study and write its report."""
    devices.pick(device)
    with study.locked():
        try:
            design = tuning.tune(study, study.design(), device)
            if not design.finished:
                if design.question.batch:
                    design = _train_until_decided(study, design, device)
                else:
                    _train_all_seeds(study, design, device)
                study.write(replace(design, finished=True))
        except Interrupted as stop:
            raise Interrupted(stop.signal, stop.reached, f"glasshouse resume {study.path}") from None
    study_results.write(study)
    return study


def sequential_options(until_decided: bool, batch: int | None, max_seeds: int | None) -> dict[str, int]:
    """The fields `batch` and `most` of a Question that adds seeds until it is decided; empty for other questions."""
    if not until_decided:
        for option, value in (("--batch", batch), ("--max-seeds", max_seeds)):
            if value is not None:
                raise SpecError(
                    "bad-option", f"{option}={value} works only with --until-decided; add --until-decided, or use --seeds"
                )
        return {}
    batch = DEFAULT_BATCH if batch is None else batch
    max_seeds = DEFAULT_MAX_SEEDS if max_seeds is None else max_seeds
    if not 2 <= batch <= max_seeds:
        raise SpecError(
            "bad-looks",
            f"--batch={batch} must be at least 2 and at most --max-seeds={max_seeds}; "
            f"write for example --batch {DEFAULT_BATCH} --max-seeds {DEFAULT_MAX_SEEDS}",
        )
    if max_seeds > arms.MAX_SEEDS:
        raise SpecError(
            "bad-seeds", f"--max-seeds={max_seeds} is more than the maximum of {arms.MAX_SEEDS}; choose fewer seeds"
        )
    return {"batch": batch, "most": max_seeds}


def _check_options(question: Question, seeds: object, replicas: str) -> None:
    if question.batch and seeds is not None:
        raise SpecError(
            "bad-seeds", "--seeds cannot be used with --until-decided; set the number of seeds by --batch and --max-seeds"
        )
    if not 0 < question.alpha < 0.5:
        raise SpecError("bad-alpha", f"--alpha={question.alpha:g} must be between 0 and 0.5; 0.05 is usual")
    if question.margin is not None and not 0 < question.margin < float("inf"):
        raise SpecError(
            "bad-margin",
            f"--margin={question.margin:g} must be above 0, in units of the metric; leave --margin out for the default",
        )
    if replicas not in REPLICAS and not (replicas.isascii() and replicas.isdigit() and int(replicas) > 0):
        raise SpecError("bad-option", f"--replicas={replicas} is not auto, off, or a number of runs that train together")


def _find_same_study(
    root: Path, name: str | None, default_name: str, question: Question, variants: Sequence[Variant]
) -> tuple[StudyFolder | None, str]:
    """(the study with the same question, or None; the name for a new study)."""
    attempt = 1
    while True:
        candidate = name or (default_name if attempt == 1 else f"{default_name}-{attempt}")
        path = root / candidate
        if not path.exists():
            return None, candidate
        study = study_folder.find_or_none(path)
        difference = _question_difference(study.design(), question, variants) if study else "it is not a study"
        if study and not difference:
            return study, candidate
        if name:
            raise RunError("study-exists", f"{path} already exists, and {difference}; choose another --name, or delete it")
        attempt += 1


def _question_difference(design: Design, question: Question, variants: Sequence[Variant]) -> str:
    """How the question of an existing study differs from this one; empty if they are the same."""
    for name in ("kind", "metric", "match", "tune", "alpha", "margin", "batch", "most"):
        old, new = getattr(design.question, name), getattr(question, name)
        if old != new:
            return f"its {'max-seeds' if name == 'most' else name} is {old}, not {new}"
    old_names, new_names = [arm.name for arm in design.arms], [variant.name for variant in variants]
    if old_names != new_names:
        return f"its arms are {', '.join(old_names)}, not {', '.join(new_names)}"
    for arm, variant in zip(design.arms, variants, strict=True):
        if changed := _changed_field(spec_files.in_current_format(arm.asked), spec_files.to_toml(variant.spec)):
            return f"the spec of its arm {arm.name!r} is different ({changed})"
    return ""


def _changed_field(old_toml: str, new_toml: str) -> str:
    """The first field in which two specs differ, with both values; empty if the specs are equal."""
    section = ""
    for old, new in zip_longest(old_toml.splitlines(), new_toml.splitlines(), fillvalue=""):
        if old != new:
            return f"{section}{old.replace(' = ', '=')}, not {section}{new.replace(' = ', '=')}"
        section = f"{old.strip('[]')}." if old.startswith("[") else section
    return ""


def _unchanged_settings(design: Design, seeds: Sequence[int], replicas: str) -> str:
    """The settings that the study keeps although the command now has other ones."""
    parts = []
    if not design.question.batch and (others := [seed for seed in design.seeds if seed not in seeds]):
        parts.append(f"; its other seeds ({len(others)}) are kept")
    if replicas != design.replicas:
        parts.append(f"; its --replicas {design.replicas} is kept, not {replicas}")
    return "".join(parts)


def _add_seeds(study: StudyFolder, seeds: Sequence[int]) -> None:
    """Add the seeds that the study does not have yet."""
    with study.locked():
        design = study.design()
        if design.question.batch or not (new := [seed for seed in seeds if seed not in design.seeds]):
            return
        if design.tuning and set(new) & set(design.tuning.seeds):
            raise SpecError(
                "seed-used-in-tuning",
                f"--seeds contains one of {design.tuning.seeds}, which tuning used; choose seeds that tuning did not use",
            )
        judged = (*design.judged, len(design.seeds)) if design.finished else design.judged
        study.write(replace(design, seeds=(*design.seeds, *new), judged=judged, finished=False))


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
    run_queue.run_all(queue, device, study.name, lambda queued: study_results.describe_value(queued.run, design.metric))


def _train_until_decided(study: StudyFolder, design: Design, device: str) -> Design:
    """Add seeds in batches and judge after each, until every arm has a verdict or the maximum is reached."""
    for look in (look for look in design.rule.looks if look >= len(design.seeds)):
        design = replace(design, seeds=tuple(range(look)))
        study.write(design)
        _train_all_seeds(study, design, device)
        if study_results.is_decided(design, study_results.final_values(study, design)):
            progress_bar.say(f"decided after {look} seeds; the maximum is {design.question.most}")
            return design
    progress_bar.say(f"not decided after {design.question.most} seeds, the maximum")
    return design


def _announce(study: StudyFolder, design: Design) -> None:
    """Print the size of the study, the training time of all its runs in sequence, and how the arms are matched."""
    seconds = sum(arm.facts["plan"]["seconds"] for arm in design.arms) * len(design.seeds)
    count = f"{len(design.arms)} arms with {len(design.seeds)} seeds each"
    progress_bar.say(f"{Path(study.path)}: {count}, about {duration(seconds)} one after another; {design.notes[0]}")
