"""A request for a study: the study that has the same question is found and extended, or else a new one is created.

Checks that nothing which was decided before the runs is changed afterwards. A replication asks the question of a study
again: a study of its own, with the specs of its original and seeds that no study of the question has used. Trains nothing.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from glasshouse.formatting import duration
from glasshouse.launching.submission import Submission
from glasshouse.records import progress_bar, run_folder
from glasshouse.results.study import StudyRegistration
from glasshouse.specs import spec_files
from glasshouse.specs.errors import RunError, SpecError
from glasshouse.specs.spec_fields import fields
from glasshouse.studies import multiverse, study_folder, study_planning, tuning
from glasshouse.studies.arms import Variant, parse_seeds
from glasshouse.studies.run_queue import Place
from glasshouse.studies.study_folder import FILE, FIRST_TUNING_SEED, Design, StudyFolder
from glasshouse.studies.study_options import Question
from glasshouse.studies.study_planning import StudyRequest

# 20 arms have 190 pairs. With more, the correction leaves little to find, and nobody reads the table.
MOST_PAIRED_ARMS = 20


def find(request: StudyRequest) -> tuple[StudyFolder | None, str]:
    """(the study with the same question, or None; the name for a new study)."""
    given = request.options.name
    for name in run_folder.numbered_names(request.default_name) if given is None else (given,):
        path = request.root / name
        if not path.exists():
            return None, name
        study = study_folder.find_or_none(path)
        difference = _difference(request, study.design()) if study else "it is not a study"
        if study and not difference:
            return study, name
    raise RunError(f"{path} already exists, and {difference}; choose another --name, or delete it")


def _difference(request: StudyRequest, design: Design) -> str:
    """How an existing study differs; empty if it asks the same question."""
    if design.replicates != request.replicates:
        if not request.replicates:
            return f"it is a replication of {design.replicates}"
        return f"it is no replication of {request.replicates}"
    for name in ("kind", *fields(Question)):
        old, new = getattr(design.question, name), getattr(request.question, name)
        if old != new:
            return f"its {name.replace('_', '-')} is {old}, not {new}"
    # Arms are compared by their specs: 1e-3 and 0.001 make different names of the same arm.
    changed = {
        arm.name: spec_files.difference(spec_files.from_toml(arm.asked, f"arm {arm.name}"), variant.spec)
        for arm, variant in zip(design.arms, request.variants, strict=False)
    }
    arms, name = len(design.arms), next((name for name in changed if changed[name]), "")
    if arms == len(request.variants) and not name:
        return ""
    old_names, new_names = [arm.name for arm in design.arms], [variant.name for variant in request.variants]
    if old_names != new_names:
        return f"its arms are {', '.join(old_names)}, not {', '.join(new_names)}"
    return f"the spec of its arm {name!r} is different ({changed[name]})"


def check_pairs(arms: int) -> None:
    """Refuse numbers of arms whose pairs cannot be judged in a useful way."""
    if not 2 <= arms <= MOST_PAIRED_ARMS:
        pairs = arms * (arms - 1) // 2
        raise SpecError(f"{arms} arms have {pairs} pairs; name at most {MOST_PAIRED_ARMS} arms, or leave --all-pairs out")


def add_pairs(study: StudyFolder) -> None:
    """Record in `study.json` that the results of this study include all pairs."""
    with study.locked():
        design = study.design()
        check_pairs(len(design.arms))
        study.write(replace(design, all_pairs=True))


def open_or_create(request: StudyRequest, place: Place) -> StudyFolder | Submission:
    """The study with the same question, extended by what is new in the request; else a new study. Trains nothing.

    Where the study is planned by a job, that job is returned.
    """
    options = request.options
    if options.multiverse:
        multiverse.check(request.question, request.variants)
    if options.all_pairs:
        check_pairs(len(request.variants))
    study, unused_name = find(request)
    if study is None:
        if submitted := place.plan(unused_name):
            return submitted
        design = study_planning.make_design(request, place.device)
        design = _with_multiverse(design, request.variants) if options.multiverse else design
        design = registered(design) if options.register else design
        while study is None:
            try:
                created = study_folder.create(design, unused_name, request.root)
            except FileExistsError:
                # Meanwhile another process created a study of that name, perhaps with the same question.
                study, unused_name = find(request)
            else:
                _announce(created, design)
                return created
    kept, unchanged = study.design(), ""
    if not kept.question.until_decided and (others := [seed for seed in kept.seeds if seed not in request.seeds]):
        unchanged += f"; its other seeds ({len(others)}) are kept"
    if options.replicas != kept.replicas:
        unchanged += f"; its --replicas {kept.replicas} is kept, not {options.replicas}"
    progress_bar.say(f"continuing {study.path}, which asks the same question{unchanged}")
    if options.register:
        _register(study)
    add_seeds(study, request.seeds)
    if options.multiverse:
        _add_multiverse(study, variants_of(study))
    if options.all_pairs:
        add_pairs(study)
    return study


def add_seeds(study: StudyFolder, seeds: Sequence[int]) -> None:
    with study.locked():
        design = study.design()
        if design.question.until_decided or not (new := [seed for seed in seeds if seed not in design.seeds]):
            return
        if design.registered:
            listing = ", ".join(map(str, new[:8])) + (", ..." if len(new) > 8 else "")
            raise SpecError(
                f"{study.path} is registered without the seeds {listing}; test it anew with --replicate, or register looks "
                "with --until-decided under another --name"
            )
        if design.tuning and set(new) & set(design.tuning.seeds):
            raise SpecError(f"--seeds contains one of {design.tuning.seeds}, which tuning used; choose others")
        judged = (*design.judged, len(design.seeds)) if design.finished else design.judged
        study.write(replace(design, seeds=(*design.seeds, *new), judged=judged, finished=False))


def _announce(study: StudyFolder, design: Design) -> None:
    """Print the size of the study, the training time of all its runs in sequence, and how the arms are matched."""
    seconds = sum(arm.facts["plan"]["seconds"] for arm in design.arms) * len(design.seeds)
    count = f"{len(design.arms)} arms with {len(design.seeds)} seeds each"
    progress_bar.say(f"{study.path}: {count}, about {duration(seconds)} one after another; {design.notes[0]}")
    if design.multiverse_cost:
        progress_bar.say(design.multiverse_cost)
    if design.registered:
        progress_bar.say(f"registered before the first run, digest {design.registered.digest}")


def _register(study: StudyFolder) -> None:
    """Register a study that has no runs yet; one that is registered stays as it is."""
    with study.locked():
        design = study.design()
        if design.registered:
            return
        if any((study.path / arm.folder).exists() for arm in design.arms):
            raise SpecError(f"{study.path} has runs already; register another --name, or leave --register out")
        study.write(registered(design))


def _with_multiverse(design: Design, variants: Sequence[Variant]) -> Design:
    """The design with a multiverse, and with a note on what it costs."""
    others = [universe for universe in multiverse.universes(design.question, variants) if not universe.main]
    tuned = next((universe.tune for universe in others if universe.tune), None)
    plan = tuning.parse(tuned, variants, design.seeds, tuning_seed_of_multiverse(design))
    tuning_runs = len(plan.seeds) * sum(map(len, plan.values.values())) if plan else 0
    return replace(design, multiverse=True, multiverse_cost=multiverse.cost(design, others, tuning_runs))


def _add_multiverse(study: StudyFolder, variants: Sequence[Variant]) -> None:
    with study.locked():
        design = study.design()
        if not design.multiverse:
            design = _with_multiverse(design, variants)
            progress_bar.say(design.multiverse_cost)
            study.write(design)


def tuning_seed_of_multiverse(design: Design) -> int:
    """The first seed of tuning in other universes: the study's own, or else one that differs between replications."""
    return design.tuning.seeds[0] if design.tuning else FIRST_TUNING_SEED + design.seeds[0]


def registered(design: Design) -> Design:
    """The design with its registration, as of now."""
    return replace(design, registered=StudyRegistration(float(int(time.time())), digest(design)))


def digest(design: Design) -> str:
    """The SHA-256 of the plan that a registration covers: what the study asks and what decides its verdicts.

    What depends on the machine, such as the precision, is not part of it. It can be computed again from `study.json`.
    """
    question, tuning = design.question, design.tuning
    plan: dict[str, Any] = {
        "kind": question.kind,
        "words": question.words,
        "arms": [(arm.name, arm.asked, arm.facts.get("data", "")) for arm in design.arms],
        "match": question.match,
        "metric": design.metric_name,
        "split": design.split,
        "items": question.items,
        "higher is better": design.rule.higher_is_better,
        "alpha": design.rule.alpha,
        "margin": design.rule.margin,
        "margin in standard deviations between seeds": design.rule.spread if design.rule.margin is None else None,
        "seeds": design.planned_seeds,
        "looks": design.rule.looks,
        "replicates": design.replicates,
    }
    if design.shortens_interval:
        plan["steps between evaluations"] = [arm.spec.evaluation.every for arm in design.arms]
    if tuning:
        plan["tuning"] = {"field": tuning.field, "candidates": tuning.values, "seeds": tuning.seeds}
    return hashlib.sha256(json.dumps(plan, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def check_registration(study: StudyFolder, design: Design) -> None:
    """Refuse a registered study whose plan is no longer the registered one."""
    if design.registered and digest(design) != design.registered.digest:
        plan = f"the registered plan {design.registered.digest[:12]}"
        raise RunError(f"{study.path} no longer has {plan}; restore its study.json, or ask under another --name")


def find_original(name: str) -> StudyFolder:
    """The study to replicate. Refuses a replication, whose original can be replicated again."""
    original = study_folder.find(name)
    if replicated := original.design().replicates:
        raise SpecError(f"{original.path} is a replication itself; write --replicate {replicated}, and a new --name")
    return original


def variants_of(original: StudyFolder) -> tuple[Variant, ...]:
    """The arms of the original study, with the specs that were requested then."""
    where = str(original.path / FILE)
    return tuple(
        Variant(arm.name, arm.folder, arm.recipe, arm.changes, spec_files.from_toml(arm.asked, where))
        for arm in original.design().arms
    )


def replications_of(original: StudyFolder) -> list[StudyFolder]:
    """The replications of a study, oldest first. They stand in the same folder."""
    studies = study_folder.readable_studies(original.path.parent)
    found = [(design.created, study) for study, design in studies if design.replicates == original.name != study.name]
    return [study for _, study in sorted(found, key=lambda pair: pair[0])]


def used_seeds(original: StudyFolder) -> tuple[set[int], set[int]]:
    """The seeds that the original and its replications train or may train: of comparisons, and of tuning."""
    designs = [study.design() for study in (original, *replications_of(original))]
    compared = {seed for design in designs for seed in design.planned_seeds}
    tuned = {seed for design in designs if design.tuning for seed in design.tuning.seeds}
    return compared, tuned


def fresh_seeds(original: StudyFolder, requested: str | int | Sequence[int] | None) -> tuple[int, ...]:
    """The seeds of a new replication: a number of fresh ones, by default as many as the original has, or these seeds.

    A sequential study starts with its first look.
    """
    design = original.design()
    compared, tuned = used_seeds(original)
    if design.question.until_decided:
        return _next_seeds(compared, design.question.batch)
    chosen = parse_seeds(len(design.seeds) if requested is None else requested)
    if chosen == tuple(range(len(chosen))):
        # A number of seeds, or a list that says no more than a number.
        return _next_seeds(compared, len(chosen))
    if shared := sorted((compared | tuned) & set(chosen)):
        raise SpecError(f"--seeds contains {shared[0]}, which {original.name} has used; choose some above {max(compared)}")
    return chosen


def _next_seeds(used: set[int], count: int) -> tuple[int, ...]:
    """The seeds after the largest one that was used, apart from those in the range of tuning."""
    first = max((seed for seed in used if seed < FIRST_TUNING_SEED), default=-1) + 1
    return tuple(range(first, first + count))


def first_tuning_seed(original: StudyFolder) -> int:
    """The first seed that tuning has not used in any study of the question."""
    return max(used_seeds(original)[1], default=FIRST_TUNING_SEED - 1) + 1
