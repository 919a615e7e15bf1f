"""Verdicts on all pairs of a study's arms, beside the planned comparisons with the first arm. Trains nothing.

A study that asks "learned, rotary or none?" compares rotary and none with learned. All pairs also answer "rotary or none?".
They are more comparisons, so each of them needs more evidence: Holm's correction runs over all pairs. The verdicts against
the first arm stay what they are.
"""

from collections.abc import Mapping
from dataclasses import replace

from glasshouse.results.study import ArmPair
from glasshouse.specs.errors import SpecError
from glasshouse.studies import study_items
from glasshouse.studies.study_folder import Design, StudyFolder
from glasshouse.verdicts.verdict import judge_pairs

# 20 arms have 190 pairs. With more, the correction leaves little to find, and nobody reads the table.
MAX_ARMS = 20


def check(arms: int) -> None:
    """Refuse numbers of arms whose pairs cannot be judged in a useful way."""
    if arms < 2:
        raise SpecError(f"all pairs of {arms} arm are none; compare at least 2 arms, or leave --all-pairs out")
    if arms > MAX_ARMS:
        raise SpecError(
            f"{arms} arms have {arms * (arms - 1) // 2:,} pairs, and --all-pairs judges at most {MAX_ARMS} arms; compare "
            "the best of them in a study of their own, or leave --all-pairs out"
        )


def add(study: StudyFolder) -> None:
    """Record in `study.json` that the results of this study include all pairs."""
    with study.locked():
        design = study.design()
        check(len(design.arms))
        if not design.all_pairs:
            study.write(replace(design, all_pairs=True))


def pair_verdicts(study: StudyFolder, design: Design, values: Mapping[str, Mapping[int, float]]) -> tuple[ArmPair, ...]:
    """The difference of each arm from each earlier arm, if they have two pairs of seeds. The correction counts all pairs."""
    items = study_items.scores(study, design) if design.question.items else None
    differences = judge_pairs(values, design.rule, items)
    found = ((arm, against, difference) for (arm, against), difference in differences.items())
    return tuple(ArmPair(arm, against, difference) for arm, against, difference in found if difference.pairs > 1)
