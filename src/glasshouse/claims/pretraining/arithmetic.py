"""The experiment of the claims about verbal arithmetic: pretrain encoders, fine-tune from them, score every expression.

The task: is `seven minus nine` negative, zero or positive? A pretraining is the unit of all comparisons: every seed
pretrains an encoder of its own and fine-tunes from it. Knows no claim.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from glasshouse.claims import margins
from glasshouse.claims.claim import Bench, Quantity, Series, StudyPlan
from glasshouse.claims.from_scratch import linear_classifier
from glasshouse.claims.rules import higher
from glasshouse.data import prepared_data
from glasshouse.results.claim import Part
from glasshouse.results.study import StudyResults
from glasshouse.specs.spec import DataSpec

PRETRAIN, FINETUNE = "arithmetic-pretrain", "arithmetic-finetune"
# Two thirds of the recipe's steps, to save time. The loss falls only a little after that.
STEPS = "training.steps=2000"
# A learning rate of zero leaves the weights as they were drawn, however many steps are taken.
UNTRAINED = ("training.learning_rate=0", "training.steps=10")
CLASSES = ("negative", "zero", "positive")
QUICK_FINETUNE = ("training.steps=4", "evaluation.every=2", "training.precision=fp32", "training.threads=1")
QUICK_PRETRAIN = (*QUICK_FINETUNE, "model.width=16", "model.layers=1")
# The learning rate of the recipe, and the best of several for each way of fine-tuning.
RECIPE, TUNED = "recipe", "tuned"
SETTINGS = {RECIPE: "at the recipe's learning rate", TUNED: "at tuned learning rates"}
# A head on a frozen encoder needs a rate many times as large as full fine-tuning does.
TUNE = "training.learning_rate=6e-5,1.7e-4,5e-4,1.5e-3,4.5e-3,1.35e-2,4e-2,1.2e-1"
STAND_IN_SETTING = f"stand-in: generated split, {SETTINGS[RECIPE]}"
# The smallest gain in accuracy that matters, and the largest loss that does not: about two and three of 160 expressions.
MARGIN, TOLERANCE = margins.ACCURACY, 2 * margins.ACCURACY
# The stand-in is shown beside the verdict. Fewer pretrainings are enough for that.
STAND_IN_SEEDS = 8
MAJORITY, LINEAR = "majority", "linear"
PRETRAINED, RANDOM = "pretrained", "random"


@dataclass(frozen=True)
class Way:
    """A way to fine-tune: the pretraining to start from, and the value of `training.freeze`."""

    label: str
    start: str
    freeze: str = "none"
    reported: str = ""


FULL, FROZEN, GRADUAL, SCRATCH, RANDOM_FROZEN = "full", "frozen", "gradual", "scratch", "random-frozen"
WAYS = {
    FULL: Way("full fine-tuning", PRETRAINED),
    FROZEN: Way("a head on the frozen encoder", PRETRAINED, "backbone"),
    GRADUAL: Way("gradual unfreezing", PRETRAINED, "gradual"),
    SCRATCH: Way("from scratch", RANDOM),
    RANDOM_FROZEN: Way("a head on a random frozen encoder", RANDOM, "backbone"),
}


def text_starts(text: str) -> dict[str, tuple[str, ...]]:
    """The pretrainings of most claims: one on a text, and one that leaves the encoder random."""
    return {PRETRAINED: (f"data.source={text}", STEPS), RANDOM: (f"data.source={text}", *UNTRAINED)}


@dataclass(frozen=True)
class Experiment:
    """Pretrainings with every seed, and ways to fine-tune from them to the expressions of one source.

    `starts` maps the name of a pretraining to its overrides of the recipe. `key` is part of the names of all studies, arms
    and quantities, so that a claim may have several experiments.
    """

    key: str
    source: str
    starts: Mapping[str, tuple[str, ...]]
    ways: Mapping[str, Mapping[str, Way]]  # setting -> name -> way
    needs: tuple[str, ...]  # the sources of all its data
    prefix: str = ""  # of the labels
    seed_offset: int = 0
    most_seeds: int = 0

    @property
    def plans(self) -> tuple[StudyPlan, ...]:
        """The studies: one of pretraining, and one of fine-tuning under each setting."""
        return (self._pretraining_plan(), *(self._fine_tuning_plan(setting) for setting in self.ways))

    @property
    def quantities(self) -> dict[str, Quantity]:
        """The accuracy of each way, of each opponent, and at tuned learning rates also the recall of each class."""
        accuracies = {
            self.quantity(setting, name): _accuracy(
                f"{self.prefix}test accuracy, {way.label}, {SETTINGS[setting]}", way.reported
            )
            for setting, ways in self.ways.items()
            for name, way in ways.items()
        }
        recalls = {
            self.quantity(TUNED, name, label): _accuracy(
                f"{self.prefix}test recall of {label}, {way.label}, {SETTINGS[TUNED]}", metric=f"test.recall.{label}"
            )
            for name, way in self.ways.get(TUNED, {}).items()
            for label in CLASSES
        }
        return {
            **accuracies,
            self.opponent(MAJORITY): _accuracy(
                f"{self.prefix}test accuracy, always the commonest class", "69.4" if not self.prefix else ""
            ),
            self.opponent(LINEAR): _accuracy(f"{self.prefix}test accuracy, linear model over words and word pairs"),
            **recalls,
        }

    def quantity(self, setting: str, way: str, label: str = "") -> str:
        """The key of an accuracy, or with a label of the recall of a class."""
        return "/".join((self.key, setting, way, *([label] if label else [])))

    def opponent(self, name: str) -> str:
        """The key of the accuracy of an opponent."""
        return f"{self.key}/{name}"

    def pretrain(self, bench: Bench, **filled: str) -> StudyResults:
        """Pretrain with every seed. `filled` gives the words in braces of the overrides."""
        return bench.study(f"pretraining-{self.key}", **filled)

    def arm(self, start: str) -> str:
        """The name of a pretraining in its study."""
        return f"{self.key}-{start}"

    def fine_tune(self, bench: Bench, pretraining: StudyResults) -> tuple[dict[str, Series], list[StudyResults]]:
        """(key -> values of all `quantities`, the studies)."""
        starts = {start: bench.starts(pretraining, self.arm(start)) for start in self.starts}
        studies = {setting: bench.study(f"fine-tuning-{self.key}-{setting}", **starts) for setting in self.ways}
        series = {}
        for setting, study in studies.items():
            for way in self.ways[setting]:
                series[self.quantity(setting, way)] = bench.item_values(study, self.arm(way), "test", "accuracy")
                for label in CLASSES if setting == TUNED else ():
                    key = self.quantity(setting, way, label)
                    series[key] = bench.values(study, self.arm(way), f"test.recall.{label}")
        units = list(next(iter(series.values())).values)
        return {**series, **self._opponents(bench, units)}, list(studies.values())

    def _pretraining_plan(self) -> StudyPlan:
        return StudyPlan(
            f"pretraining-{self.key}",
            tuple(map(self.arm, self.starts)),
            metric="test.accuracy",
            recipes={self.arm(start): (PRETRAIN, *overrides) for start, overrides in self.starts.items()},
            quick=QUICK_PRETRAIN,
            seed_offset=self.seed_offset,
            most_seeds=self.most_seeds,
        )

    def _fine_tuning_plan(self, setting: str) -> StudyPlan:
        ways = self.ways[setting]
        return StudyPlan(
            f"fine-tuning-{self.key}-{setting}",
            tuple(map(self.arm, ways)),
            metric="test.accuracy",
            tune=TUNE if setting == TUNED else None,
            recipes={self.arm(name): fine_tuning_words(self.source, way) for name, way in ways.items()},
            quick=QUICK_FINETUNE,
            seed_offset=self.seed_offset,
            most_seeds=self.most_seeds,
        )

    def _opponents(self, bench: Bench, units: Sequence[int]) -> dict[str, Series]:
        """The opponents' accuracies. They do not depend on a seed, so every unit has the same values."""

        def compute() -> dict[str, list[float]]:
            training, test = labelled(self.source, "train"), labelled(self.source, "test")
            return {
                MAJORITY: linear_classifier.commonest_class(training, test),
                LINEAR: linear_classifier.word_pairs(training, test),
            }

        hits = bench.cached(f"opponents-{self.source}", compute)
        return {self.opponent(name): constant(row, units) for name, row in hits.items()}


def fine_tuning_words(source: str, way: Way) -> tuple[str, ...]:
    """The recipe and overrides of a way of fine-tuning; the run to start from is a word in braces."""
    return (FINETUNE, f"data.source={source}", f"training.start_from={{{way.start}}}", f"training.freeze={way.freeze}")


def course_experiment(reported: Mapping[str, str], **ways: Sequence[str]) -> Experiment:
    """The expressions of the course with its own test file. `ways` maps settings to names of WAYS, `reported` names to
    reported accuracies."""
    return Experiment(
        key="course",
        source="course-arithmetic",
        starts=text_starts("course-arithmetic-text"),
        ways={
            setting: {name: replace(WAYS[name], reported=reported.get(name, "")) for name in names}
            for setting, names in ways.items()
        },
        needs=("course-arithmetic", "course-arithmetic-text"),
    )


def generated_experiment(*names: str) -> Experiment:
    """The stand-in: the same expressions with a split of our own, at the recipe's learning rate. `names` are of WAYS."""
    return Experiment(
        key="generated",
        source="verbal-arithmetic",
        starts=text_starts("arithmetic-text"),
        ways={RECIPE: {name: WAYS[name] for name in names}},
        needs=("verbal-arithmetic", "arithmetic-text"),
        prefix="stand-in: ",
        most_seeds=STAND_IN_SEEDS,
    )


def judged(course: Experiment, generated: Experiment) -> list[tuple[Experiment, str, str, bool]]:
    """(experiment, setting, the setting in words, whether it decides): where the parts of a claim are judged."""
    return [
        *((course, setting, SETTINGS[setting], True) for setting in course.ways),
        (generated, RECIPE, STAND_IN_SETTING, False),
    ]


def more_accurate(quantity: str, than: str, name: str, where: str, decides: bool = True) -> Part:
    """The part: an accuracy is higher than another one, over pretrainings and expressions."""
    return higher(quantity, than=than, margin=MARGIN, name=name, items=True, setting=where, decides=decides)


def available(bench: Bench, *experiments: Experiment) -> list[Experiment]:
    """The experiments whose data are on this machine. A quick run makes only the first of them."""
    present = [experiment for experiment in experiments if bench.has(*experiment.needs)]
    return present[:1] if bench.quick else present


def labelled(source: str, split: str) -> list[tuple[str, str]]:
    """(expression, class) of every document of a split, in its order."""
    documents = prepared_data.find_source(DataSpec(source=source), ("label",)).documents(split)
    return [(document.text, document.fields["label"]) for document in documents]


def constant(row: Sequence[float], units: Sequence[int]) -> Series:
    """A series in which every unit has the same value of each item."""
    mean = sum(row) / len(row)
    return Series(dict.fromkeys(units, mean), dict.fromkeys(units, tuple(row)))


def _accuracy(label: str, reported: str = "", metric: str = "test.accuracy") -> Quantity:
    return Quantity(label, metric, "%", 100.0, higher_is_better=True, reported=reported, per="pretraining")
