"""Replications: the question of a study asked again with seeds that no study of the question has used. Trains nothing.

A replication is a study of its own. It names its original, whose specs it takes over as they were, whatever became of the
recipes since. The seeds of tuning are fresh too.
"""

from collections.abc import Sequence

from glasshouse.specs import spec_files
from glasshouse.specs.errors import SpecError
from glasshouse.studies import arms, study_folder
from glasshouse.studies.arms import Variant
from glasshouse.studies.study_folder import FILE, FIRST_TUNING_SEED, StudyFolder


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
    chosen = arms.parse_seeds(len(design.seeds) if requested is None else requested)
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
