"""The experiment of the claim features on one data set: pretrain encoders, fine-tune them, classify by frozen features.

A pretraining is the unit: every seed pretrains an encoder of its own. Knows no claim.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from glasshouse.claims.claim import Bench, LineFigure, Part, Quantity, Series, StudyPlan
from glasshouse.claims.from_scratch import linear_classifier
from glasshouse.claims.pretraining import feature_hits
from glasshouse.claims.pretraining.arithmetic import (
    FINETUNE,
    FULL,
    PRETRAIN,
    PRETRAINED,
    QUICK_FINETUNE,
    QUICK_PRETRAIN,
    RANDOM,
    SCRATCH,
    STEPS,
    TOLERANCE,
    UNTRAINED,
    more_accurate,
)
from glasshouse.claims.pretraining.feature_hits import BALANCED, CLASSIFIERS, REGRESSION, SVM
from glasshouse.claims.rules import not_higher, not_lower
from glasshouse.claims.split_scores import cached_rows, item_series, same_for_every
from glasshouse.inspection import labelled_texts
from glasshouse.inspection.labelled_texts import LabelledTexts
from glasshouse.results.study import StudyResults
from glasshouse.runs.run import Run

TUNE = "training.learning_rate=6e-5,1.7e-4,5e-4,1.5e-3,4.5e-3"
# Numbers of labels in the picture, besides all of them.
COUNTS = (64, 256)
MAJORITY, SHUFFLED = "majority", "shuffled"
WORDS, PAIRS = "words", "pairs"
# Longest run of words that is counted.
LONGEST = {WORDS: 1, PAIRS: 2}
INPUTS = {
    PRETRAINED: "features of the pretrained encoder",
    RANDOM: "features of an untrained encoder",
    WORDS: "counts of words",
    PAIRS: "counts of words and word pairs",
}
# Those that are also shown with fewer labels.
WITH_FEWER_LABELS = (PRETRAINED, RANDOM, PAIRS)
NAMES = {
    FULL: "full fine-tuning",
    SCRATCH: "the same encoder from scratch",
    **{
        f"{given}/{kind}": f"{name} over {text}"
        for given, text in INPUTS.items()
        for kind, name in CLASSIFIERS.items()
        # The slower classifier is left out where nothing is compared with it.
        if (given, kind) != (RANDOM, SVM)
    },
    MAJORITY: "always the commonest class",
    SHUFFLED: f"{CLASSIFIERS[REGRESSION]} over {INPUTS[PRETRAINED]}, training labels shuffled",
}
# Those whose recall of each class is shown.
WITH_RECALLS = (FULL, f"{PRETRAINED}/{REGRESSION}", f"{PRETRAINED}/{SVM}", f"{PAIRS}/{REGRESSION}")


@dataclass(frozen=True)
class FeatureComparison:
    """A data set of labelled texts, and how encoders are pretrained and fine-tuned for it."""

    key: str
    label: str  # the setting under which the claim is judged
    source: str
    classes: tuple[str, ...]
    labels: int  # number of training texts
    text: tuple[str, ...]  # overrides of the pretraining
    fine_tuning: tuple[str, ...]  # overrides of the fine-tuning
    needs: tuple[str, ...]  # the sources of all its data
    decides: bool = True
    most_seeds: int = 0

    @property
    def plans(self) -> tuple[StudyPlan, StudyPlan]:
        """Pretraining with every seed, and full fine-tuning from it at the best of several learning rates."""
        starts = {PRETRAINED: (*self.text, STEPS), RANDOM: (*self.text, *UNTRAINED)}
        starts_of_ways = {FULL: PRETRAINED, SCRATCH: RANDOM}
        pretraining = StudyPlan(
            f"pretraining-{self.key}",
            tuple(map(self.arm, starts)),
            metric="test.accuracy",
            recipes={self.arm(name): (PRETRAIN, *words) for name, words in starts.items()},
            quick=QUICK_PRETRAIN,
            most_seeds=self.most_seeds,
        )
        fine_tuning = StudyPlan(
            f"fine-tuning-{self.key}",
            tuple(map(self.arm, starts_of_ways)),
            metric="test.accuracy",
            tune=TUNE,
            recipes={
                self.arm(way): (
                    FINETUNE,
                    f"data.source={self.source}",
                    f"training.start_from={{{start}}}",
                    *self.fine_tuning,
                )
                for way, start in starts_of_ways.items()
            },
            quick=QUICK_FINETUNE,
            most_seeds=self.most_seeds,
        )
        return pretraining, fine_tuning

    def arm(self, name: str) -> str:
        """The name of an arm in its study."""
        return f"{self.key}-{name}"

    def quantity(self, *words: str) -> str:
        """The key of a quantity."""
        return "/".join((self.key, *words))

    @property
    def quantities(self) -> dict[str, Quantity]:
        """Accuracies with all labels and with fewer, balanced accuracies, and recalls of the classes."""
        accuracies = {self.quantity(key): self._share(f"accuracy, {name}") for key, name in NAMES.items()}
        balanced = {
            self.quantity(key, BALANCED): self._share(f"balanced accuracy, {name}", "mean of the recalls")
            for key, name in NAMES.items()
        }
        recalls = {
            self.quantity(key, label): self._share(f"recall of {label}, {NAMES[key]}", f"test.recall.{label}")
            for key in WITH_RECALLS
            for label in self.classes
        }
        fewer = {
            self.quantity(given, REGRESSION, str(count)): self._share(
                f"accuracy, {NAMES[f'{given}/{REGRESSION}']}, {count} labels"
            )
            for given in WITH_FEWER_LABELS
            for count in COUNTS
        }
        return {**accuracies, **balanced, **recalls, **fewer}

    @property
    def parts(self) -> tuple[Part, ...]:
        """The comparisons on this data set."""
        regression, full = self.quantity(PRETRAINED, REGRESSION), self.quantity(FULL)
        pairs, majority = self.quantity(PAIRS, REGRESSION), self.quantity(MAJORITY)
        untrained = self.quantity(RANDOM, REGRESSION)
        as_accurate = (
            not_lower(
                self.quantity(PRETRAINED, kind),
                than=full,
                margin=TOLERANCE,
                name=f"a {name} over frozen features is as accurate as full fine-tuning",
                items=True,
                setting=self.label,
                decides=self.decides,
            )
            for kind, name in CLASSIFIERS.items()
        )
        control = not_higher(
            self.quantity(SHUFFLED),
            than=majority,
            margin=TOLERANCE,
            name="control: with shuffled labels, features do not beat the commonest class",
            items=True,
            setting=self.label,
            decides=False,
        )
        beats_words = "pretrained features beat counts of words and word pairs"
        return (
            *as_accurate,
            more_accurate(regression, untrained, "pretrained features beat untrained ones", self.label, self.decides),
            more_accurate(regression, pairs, beats_words, self.label, self.decides),
            more_accurate(regression, majority, "pretrained features beat the commonest class", self.label, decides=False),
            more_accurate(full, pairs, "full fine-tuning beats counts of words and word pairs", self.label, decides=False),
            more_accurate(full, self.quantity(SCRATCH), "full fine-tuning beats training from scratch", self.label, False),
            control,
        )

    @property
    def figure(self) -> LineFigure:
        """Accuracy over the number of labels."""
        everything = float(self.labels)
        lines = {
            INPUTS[given]: {
                **{float(count): self.quantity(given, REGRESSION, str(count)) for count in COUNTS},
                everything: self.quantity(given, REGRESSION),
            }
            for given in WITH_FEWER_LABELS
        }
        return LineFigure(
            f"{self.key}-labels",
            f"labelled training texts, {self.label}",
            "test accuracy, %",
            {**lines, NAMES[FULL]: {everything: self.quantity(FULL)}},
        )

    def measure(self, bench: Bench) -> tuple[dict[str, Series], list[StudyResults]]:
        """(key -> values of all quantities, the studies)."""
        splits = labelled_texts.read(self.source)
        training, test = splits["train"], splits["test"]
        pretraining = bench.study(f"pretraining-{self.key}")
        starts = {start: bench.starts(pretraining, self.arm(start)) for start in (PRETRAINED, RANDOM)}
        fine_tuning = bench.study(f"fine-tuning-{self.key}", **starts)
        series = {
            **{
                self.quantity(way): bench.item_values(fine_tuning, self.arm(way), "test", "accuracy")
                for way in (FULL, SCRATCH)
            },
            **self._feature_series(bench, pretraining, training, test),
        }
        units = list(series[self.quantity(PRETRAINED, REGRESSION)].values)
        series |= self._word_series(bench, units, training, test)
        rows = [list(zip(split.texts, split.labels, strict=True)) for split in (training, test)]
        series[self.quantity(MAJORITY)] = same_for_every(units, linear_classifier.commonest_class(*rows))
        return {**series, **self.recall_series(series, test)}, [pretraining, fine_tuning]

    def _feature_series(
        self, bench: Bench, pretraining: StudyResults, training: LabelledTexts, test: LabelledTexts
    ) -> dict[str, Series]:
        series = {}
        for encoder in (PRETRAINED, RANDOM):
            compute = partial(_hits_of, training=training, test=test, encoder=encoder)
            rows = cached_rows(bench, pretraining, self.arm(encoder), "feature-hits", compute)
            for name in next(iter(rows.values())):
                key = self.quantity(name) if name == SHUFFLED else self.quantity(encoder, name)
                series[key] = item_series({seed: row[name] for seed, row in rows.items()})
        return series

    def _word_series(
        self, bench: Bench, units: list[int], training: LabelledTexts, test: LabelledTexts
    ) -> dict[str, Series]:
        series: dict[str, Series] = {}
        for given, longest in LONGEST.items():
            vectors = feature_hits.from_words(longest, training, test)
            hits = bench.cached(f"{given}-{self.key}", vectors.all_labels)
            series |= {self.quantity(given, kind): same_for_every(units, row) for kind, row in hits.items()}
        # `vectors` are now those of word pairs.
        name = f"{PAIRS}-{self.key}-fewer-labels-by-{len(units)}"
        by_unit = bench.cached(name, lambda: {str(unit): vectors.fewer_labels(COUNTS, unit) for unit in units})
        for count in COUNTS:
            rows = {unit: by_unit[str(unit)][str(count)] for unit in units}
            series[self.quantity(PAIRS, REGRESSION, str(count))] = item_series(rows)
        return series

    def recall_series(self, series: Mapping[str, Series], test: LabelledTexts) -> dict[str, Series]:
        """Key -> the balanced accuracies, and the recalls of the classes, from the hits on the test texts."""
        found = {}
        for name in NAMES:
            hits = series[self.quantity(name)].items or {}
            recalls = {unit: feature_hits.recalls(row, test.labels) for unit, row in hits.items()}
            for label in (BALANCED, *(self.classes if name in WITH_RECALLS else ())):
                values = {unit: row[label] for unit, row in recalls.items() if label in row}
                found[self.quantity(name, label)] = Series(values)
        return found

    def _share(self, label: str, metric: str = "test.accuracy") -> Quantity:
        return Quantity(f"{self.label}: {label}", metric, "%", 100.0, higher_is_better=True, per="pretraining")


def _hits_of(run: Run, training: LabelledTexts, test: LabelledTexts, encoder: str) -> dict[str, list[float]]:
    """Name -> hits over the features of a run: of the classifiers, with fewer labels, and with shuffled labels."""
    vectors, seed = feature_hits.from_run(run, training, test), run.spec.training.seed
    hits = {kind: vectors.hits(kind) for kind in CLASSIFIERS if f"{encoder}/{kind}" in NAMES}
    hits |= {f"{REGRESSION}/{count}": row for count, row in vectors.fewer_labels(COUNTS, seed).items()}
    return {**hits, SHUFFLED: vectors.shuffled_labels(seed)} if encoder == PRETRAINED else hits
