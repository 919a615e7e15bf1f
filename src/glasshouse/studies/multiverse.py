"""The multiverse of a study: its verdicts under other reasonable choices of rate, initialisation and split. Trains nothing.

A universe is one combination of the choices that need runs of their own: the learning rate as the recipe has it or tuned for
each arm, and the scale of the initial weights. The study itself is one universe. Every other one is a study with the same
seeds in the folder `multiverse` of the study. Each universe is judged on every held-out split.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from glasshouse.formatting import duration
from glasshouse.results.study import MultiverseCell
from glasshouse.specs import declared, spec_files
from glasshouse.specs.errors import SpecError
from glasshouse.studies.arms import Variant
from glasshouse.studies.study_folder import FILE, Design, Question, StudyFolder
from glasshouse.verdicts.verdict import Difference

FOLDER = "multiverse"
RATE_FIELD, INITIALISATION_FIELD = "training.learning_rate", "model.initialisation"
# The scales of the initial weights besides the study's own.
INITIALISATIONS = (0.5, 1.0)
# The names of the choices, as the page shows them.
RATE, INITIALISATION, SPLIT = "learning rate", "initialisation", "split"
REPORTED, TUNED = "reported", "tuned"
SPLITS = ("validation", "test")


@dataclass(frozen=True)
class Universe:
    """A combination of choices. `changes` are the overrides of every arm; the study itself needs none."""

    choices: dict[str, str]
    tune: str | None
    changes: tuple[str, ...]
    main: bool

    @property
    def folder(self) -> str:
        rate = "tuned" if self.choices.get(RATE) == TUNED else "reported"
        initialisation = self.choices.get(INITIALISATION)
        return f"{rate}-initialisation-{initialisation}" if initialisation else rate


def check(question: Question, variants: Sequence[Variant]) -> None:
    """Refuse a study whose tuning the multiverse cannot turn off and on."""
    field = (question.tune or "").partition("=")[0].strip()
    if field not in ("", RATE_FIELD):
        raise SpecError(f"--multiverse tunes {RATE_FIELD}, and --tune names {field}; leave one of them out")
    if len(_rates(question, variants)) == len(_scales(variants)) == 1:
        raise SpecError("the arms vary all that --multiverse varies, learning rate and initialisation; leave it out")


def universes(question: Question, variants: Sequence[Variant]) -> list[Universe]:
    """The study itself first, then the others."""
    rates, scales = _rates(question, variants), _scales(variants)
    found = []
    for (rate, tune), (scale, changes) in product(rates.items(), scales.items()):
        choices = {**({RATE: rate} if len(rates) > 1 else {}), **({INITIALISATION: scale} if len(scales) > 1 else {})}
        found.append(Universe(choices, tune, changes, main=tune == question.tune and not changes))
    return sorted(found, key=lambda universe: not universe.main)


def _rates(question: Question, variants: Sequence[Variant]) -> dict[str, str | None]:
    """Choice of the learning rate -> the option --tune of its studies."""
    if any(RATE_FIELD in variant.changes for variant in variants):
        return {REPORTED: question.tune}
    return {REPORTED: None, TUNED: question.tune or RATE_FIELD}


def _scales(variants: Sequence[Variant]) -> dict[str, tuple[str, ...]]:
    """Choice of the initialisation -> the overrides that it needs; the study's own needs none."""
    own = {declared.value_of(variant.spec, INITIALISATION_FIELD) for variant in variants}
    name = f"{own.pop():g}" if len(own) == 1 else "of each arm"
    scales: dict[str, tuple[str, ...]] = {name: ()}
    # Weights that come from another run are not initialised anew.
    varied = any(INITIALISATION_FIELD in variant.changes or variant.spec.training.start_from for variant in variants)
    for scale in () if varied else INITIALISATIONS:
        if f"{scale:g}" != name:
            scales[f"{scale:g}"] = (f"{INITIALISATION_FIELD}={scale:g}",)
    return scales


def question_of(universe: Universe, question: Question) -> Question:
    """The question of a universe's study. It has as many seeds as the study ended with, so it looks once."""
    return replace(question, tune=universe.tune, until_decided=False)


def variants_of(universe: Universe, variants: Sequence[Variant]) -> tuple[Variant, ...]:
    return tuple(replace(variant, spec=spec_files.override(variant.spec, universe.changes)) for variant in variants)


def cost(design: Design, others: Sequence[Universe], tuning_runs: int) -> str:
    """A sentence on the runs that the multiverse adds. `tuning_runs` are those of one tuned universe."""
    seeds = design.question.most_seeds or len(design.seeds)
    runs = len(others) * len(design.arms) * seeds
    tuned = sum(universe.tune is not None for universe in others) * tuning_runs
    one = sum(arm.facts["plan"].get("seconds", 0.0) for arm in design.arms) / len(design.arms)
    studies = "1 more study" if len(others) == 1 else f"{len(others)} more studies"
    most = "up to " if design.question.until_decided else ""
    time = duration(one * (runs + tuned))
    return f"multiverse: {studies} with {most}{runs:,} runs and {tuned:,} tuning runs, about {time} one after another"


def cells(
    study: StudyFolder,
    found: Sequence[Universe],
    splits: Sequence[str],
    judge: Callable[[StudyFolder, Design], dict[str, Difference]],
) -> tuple[MultiverseCell, ...]:
    metric = study.design().metric
    results = []
    for universe in found:
        folder = study if universe.main else StudyFolder(study.path / FOLDER / universe.folder)
        for split in splits if (folder.path / FILE).is_file() else ():
            design = folder.design().on_split(split)
            choices = {**universe.choices, **({SPLIT: split} if len(splits) > 1 else {})}
            main = universe.main and design.metric == metric
            results.append(MultiverseCell(choices, judge(folder, design), main))
    return tuple(sorted(results, key=lambda cell: not cell.main))
