"""Conducting a study from its question to its verdicts: begin it or go on with it, tune, run, judge, write the report."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from glasshouse.formatting import duration
from glasshouse.records import progress_bar, run_folder
from glasshouse.specs import spec_files
from glasshouse.specs.errors import Interrupted, RunError, SpecError
from glasshouse.studies import arms, run_queue, study_planning, study_results, tuning
from glasshouse.studies import study_folder as studies
from glasshouse.studies.arms import Variant
from glasshouse.studies.run_queue import QueuedRun
from glasshouse.studies.study_folder import Design, Question, StudyFolder
from glasshouse.training import devices

REPLICAS = ("auto", "off")
# Seeds in a batch of a study that goes on until it is decided, and the most of them, unless told otherwise.
BATCH = 4
MOST = 32


def conduct(
    question: Question,
    seeds: str | int | Sequence[int] | None,
    name: str | None,
    device: str,
    replicas: str,
    root: Path | None = None,
) -> StudyFolder:
    """Do a study, or what is left of it, to its verdicts. Its folder is made in `root`, by default the studies folder."""
    root = studies.root() if root is None else root
    _check(question, seeds, replicas)
    devices.pick(device)
    if name is not None:
        run_folder.checked_name(name, "study")
    words = arms.read(question.words)
    if question.kind == "sweep" and not words.varied:
        raise SpecError(
            "nothing-to-compare",
            "a sweep needs a field with several values, such as training.learning_rate=1e-4..1e-2:log:8",
        )
    variants = arms.variants(words)
    chosen = tuple(range(question.batch)) if question.batch else arms.seeds_of(8 if seeds is None else seeds)
    tuned = tuning.asked(question.tune, variants, chosen)
    study, free = _existing(root, name, words.stem, question, variants)
    if study is None:
        design = study_planning.settle(question, variants, chosen, device, replicas, tuned)
        while study is None:
            try:
                begun = studies.create(design, free, root)
            except FileExistsError:
                # Another process has begun a study of that name meanwhile, and it may be this one.
                study, free = _existing(root, name, words.stem, question, variants)
            else:
                _announce(begun, design)
                return go_on(begun, device)
    progress_bar.say(f"continuing {study.path}: it asks the same{_kept(study.design(), chosen, replicas)}")
    _add(study, chosen)
    return go_on(study, device)


def go_on(study: StudyFolder, device: str) -> StudyFolder:
    """Do what is left of a study, judge it and write its report."""
    devices.pick(device)
    with study.locked():
        try:
            design = tuning.tune(study, study.design(), device)
            if not design.finished:
                design = _by_looks(study, design, device) if design.question.batch else _run(study, design, device)
                study.write(replace(design, finished=True))
        except Interrupted as stop:
            raise Interrupted(stop.signal, stop.reached, f"glasshouse resume {study.path}") from None
    study_results.write(study)
    return study


def growing(until_decided: bool, batch: int | None, most: int | None) -> dict[str, int]:
    """The batches of a question that is asked until it is decided; nothing where all seeds are asked for at once."""
    if not until_decided:
        for option, given in (("--batch", batch), ("--max-seeds", most)):
            if given is not None:
                raise SpecError(
                    "bad-option", f"{option}={given} is for --until-decided, which is not given; add it, or use --seeds"
                )
        return {}
    batch, most = BATCH if batch is None else batch, MOST if most is None else most
    if not 2 <= batch <= most:
        raise SpecError(
            "bad-looks",
            f"--batch={batch} must be at least 2 and at most --max-seeds={most}; "
            f"write for example --batch {BATCH} --max-seeds {MOST}",
        )
    if most > arms.MOST_SEEDS:
        raise SpecError("bad-seeds", f"--max-seeds={most} is more than {arms.MOST_SEEDS}, the most there can be")
    return {"batch": batch, "most": most}


def _check(question: Question, seeds: object, replicas: str) -> None:
    if question.batch and seeds is not None:
        raise SpecError(
            "bad-seeds", "--seeds and --until-decided are both given; --batch and --max-seeds say how many seeds there are"
        )
    if not 0 < question.alpha < 0.5:
        raise SpecError("bad-alpha", f"--alpha={question.alpha:g} must lie between 0 and 0.5; 0.05 is usual")
    if question.margin is not None and not 0 < question.margin < float("inf"):
        raise SpecError(
            "bad-margin",
            f"--margin={question.margin:g} must be above 0, in units of the metric; leave it out for the usual one",
        )
    if replicas not in REPLICAS and not (replicas.isascii() and replicas.isdigit() and int(replicas) > 0):
        raise SpecError("bad-option", f"--replicas={replicas} is not auto, off, or a number of runs side by side")


def _existing(
    root: Path, name: str | None, stem: str, question: Question, variants: Sequence[Variant]
) -> tuple[StudyFolder | None, str]:
    """(the study that asks the same, if there is one, and the name for a new one)."""
    attempt = 1
    while True:
        chosen = name or (stem if attempt == 1 else f"{stem}-{attempt}")
        path = root / chosen
        if not path.exists():
            return None, chosen
        found = studies.at(path)
        other = _difference(found.design(), question, variants) if found else "it is not a study"
        if found and not other:
            return found, chosen
        if name:
            raise RunError("study-exists", f"{path} is there already, and {other}; choose another --name, or delete it")
        attempt += 1


def _difference(design: Design, question: Question, variants: Sequence[Variant]) -> str:
    """What a study asks that is not this question; nothing where they are one."""
    for name in ("kind", "metric", "match", "tune", "alpha", "margin", "batch", "most"):
        there, here = getattr(design.question, name), getattr(question, name)
        if there != here:
            return f"its {name} is {there}, not {here}"
    there, here = [arm.name for arm in design.arms], [variant.name for variant in variants]
    if there != here:
        return f"its arms are {', '.join(there)}, not {', '.join(here)}"
    for arm, variant in zip(design.arms, variants, strict=True):
        if changed := _changed(spec_files.renewed(arm.asked), spec_files.to_toml(variant.spec)):
            return f"the spec of its arm {arm.name!r} is another ({changed})"
    return ""


def _changed(there: str, here: str) -> str:
    """The first field in which two specs differ, as TOML writes it; nothing where they are one."""
    section = ""
    for old, new in zip_longest(there.splitlines(), here.splitlines(), fillvalue=""):
        if old != new:
            return f"{section}{old.replace(' = ', '=')}, not {section}{new.replace(' = ', '=')}"
        section = f"{old.strip('[]')}." if old.startswith("[") else section
    return ""


def _kept(design: Design, seeds: Sequence[int], replicas: str) -> str:
    """What stays as the study has it although it is asked for otherwise now."""
    kept = []
    if not design.question.batch and (others := [seed for seed in design.seeds if seed not in seeds]):
        kept.append(f"; its other seeds ({len(others)}) are kept")
    if replicas != design.replicas:
        kept.append(f"; its --replicas {design.replicas} is kept, not {replicas}")
    return "".join(kept)


def _add(study: StudyFolder, seeds: Sequence[int]) -> None:
    """Ask for more seeds of a study, if these are more."""
    with study.locked():
        design = study.design()
        if design.question.batch or not (new := [seed for seed in seeds if seed not in design.seeds]):
            return
        if design.tuning and set(new) & set(design.tuning.seeds):
            raise SpecError(
                "seed-used-in-tuning",
                f"--seeds has one of {design.tuning.seeds}, which tuning used; a seed must not count twice",
            )
        judged = (*design.judged, len(design.seeds)) if design.finished else design.judged
        study.write(replace(design, seeds=(*design.seeds, *new), judged=judged, finished=False))


def _run(study: StudyFolder, design: Design, device: str) -> Design:
    """Every arm with every seed, seed by seed, so that a study that is stopped has as many of each arm."""
    wanted = [
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
    run_queue.do(wanted, device, study.name, lambda one: study_results.told(one.run, design.metric))
    return design


def _by_looks(study: StudyFolder, design: Design, device: str) -> Design:
    """Seeds in batches, judged after each, until every arm has a verdict or the budget is spent."""
    for look in (look for look in design.rule.looks if look >= len(design.seeds)):
        design = replace(design, seeds=tuple(range(look)))
        study.write(design)
        _run(study, design, device)
        if study_results.decided(design, study_results.values(study, design)):
            progress_bar.say(f"decided after {look} seeds of at most {design.question.most}")
            return design
    progress_bar.say(f"not decided after {design.question.most} seeds, the most that were asked for")
    return design


def _announce(study: StudyFolder, design: Design) -> None:
    """What will be done, and how long one after another would take."""
    seconds = sum(arm.facts["plan"]["seconds"] for arm in design.arms) * len(design.seeds)
    count = f"{len(design.arms)} arms with {len(design.seeds)} seeds each"
    progress_bar.say(f"{Path(study.path)}: {count}, about {duration(seconds)} one after another; {design.notes[0]}")
