"""Claim: paraphrases by a masked model, as extra training data, help a classifier if labels are few."""

from typing import ClassVar

from glasshouse.claims.claim import (
    GROUPS,
    PUBLIC_TEXT,
    Bench,
    Claim,
    LineFigure,
    Measurements,
    Part,
    Quantity,
    Series,
    StudyPlan,
)
from glasshouse.claims.from_scratch import linear_classifier
from glasshouse.claims.pretraining import augmented_labels
from glasshouse.claims.pretraining.arithmetic import (
    MARGIN,
    PRETRAIN,
    PRETRAINED,
    QUICK_PRETRAIN,
    RANDOM,
    STEPS,
    UNTRAINED,
    more_accurate,
)
from glasshouse.claims.pretraining.augmented_labels import (
    COPIES,
    FEW,
    PARAPHRASES,
    PLAIN_COPIES,
    REPLACEMENTS,
    SHARE,
    TextSplits,
)
from glasshouse.claims.pretraining.feature_hits import BALANCED, recalls
from glasshouse.claims.rules import equal
from glasshouse.claims.split_scores import cached_rows, item_series, same_for_every
from glasshouse.inspection import labelled_texts
from glasshouse.runs.run import Run

SOURCE, TEXT = "tweet-emotion", "tweets"
# Labels of each class. The claim is judged at the smallest number.
COUNTS = (16, 64, 128)
JUDGED = COUNTS[0]
WORDS, FEATURES = "words", "features"
CLASSIFIERS = {WORDS: "over counts of words", FEATURES: "over frozen features of the masked model"}
SETTINGS = {kind: f"a logistic regression {name}" for kind, name in CLASSIFIERS.items()}
SETS = {
    FEW: "few labels",
    PARAPHRASES: "few labels and paraphrases",
    REPLACEMENTS: "few labels and copies with random words",
    PLAIN_COPIES: "few labels and plain copies",
}
ALL, MAJORITY = "all", "majority"
# Tokens are whole words: other pieces in place of masked ones would make words that do not exist.
PRETRAINING = (f"data.source={TEXT}", "data.tokenizer=words", "data.vocabulary=4096")


def key(kind: str, name: str, count: int) -> str:
    """The key of an accuracy."""
    return f"{kind}/{name}/{count}"


def judged_parts(kind: str) -> tuple[Part, ...]:
    """The comparisons of one classifier: those at the smallest number of labels decide."""
    setting = SETTINGS[kind]
    parts = []
    for count in COUNTS:
        paraphrases, decides = key(kind, PARAPHRASES, count), count == JUDGED
        suffix = f"{count} labels per class"
        parts += [
            more_accurate(paraphrases, key(kind, FEW, count), f"paraphrases help, {suffix}", setting, decides),
            more_accurate(
                paraphrases,
                key(kind, REPLACEMENTS, count),
                f"paraphrases help more than random words, {suffix}",
                setting,
                decides,
            ),
        ]
    control = equal(
        key(kind, PLAIN_COPIES, JUDGED),
        to=key(kind, FEW, JUDGED),
        margin=2 * MARGIN,
        name=f"control: plain copies change nothing, {JUDGED} labels per class",
        items=True,
        setting=setting,
        decides=False,
    )
    more_labels = more_accurate(
        f"{kind}/{ALL}", key(kind, FEW, JUDGED), "control: all labels are better than few", setting, decides=False
    )
    return (*parts, control, more_labels)


class ParaphrasesAsData(Claim):
    """Trains classifiers on few labelled tweets, with and without paraphrases of them."""

    group = GROUPS[5]
    statement = (
        "If labels are few, paraphrases by a masked model, used as extra training data, make a classifier more accurate."
    )
    source = "course work on pretraining: data augmentation with a masked language model"
    reported = "asserted, no figures"
    why = (
        "A masked model fills gaps with words that fit. A text with some words exchanged mostly keeps its meaning, so its "
        "label, and shows the classifier words that the few labelled texts do not have."
    )
    procedure = (
        "Every seed pretrains its own masked language model on tweets without labels, and draws 16, 64 and 128 labelled "
        f"tweets of each of four emotions. Each gets {COPIES} paraphrases, in which {100 * SHARE:g} % of the words are "
        "masked and sampled from the model. A logistic regression, over counts of words and over the mean features of the "
        "masked model, is fitted on the few tweets, on these and their paraphrases, on these and copies with as many words "
        "replaced by random ones of the training tweets, and on these and plain copies; validation tweets choose its "
        f"regularisation in every case. With {JUDGED} labels per class, paraphrases must be better than the few labels "
        "alone and better than random words on the test tweets, by one point or it does not matter, per seed and tweet."
    )
    would_change = (
        "A masked model that was trained on far more text, a classifier that is fine-tuned instead of fitted on fixed "
        "inputs, or a task in which single words decide less about the label. In trials 1 and 2 the masked model fills "
        "pieces of words, which can make words that do not exist; the plan since then fills whole words."
    )
    data = PUBLIC_TEXT
    needs = (SOURCE, TEXT)
    studies = (
        StudyPlan(
            "pretraining",
            (PRETRAINED, RANDOM),
            metric="test.accuracy",
            recipes={PRETRAINED: (PRETRAIN, *PRETRAINING, STEPS), RANDOM: (PRETRAIN, *PRETRAINING, *UNTRAINED)},
            quick=(*QUICK_PRETRAIN, "data.vocabulary=300"),
        ),
    )
    quantities: ClassVar = {
        **{
            key(kind, name, count): Quantity(
                f"test accuracy {text}, {SETS[name]}, {count} labels per class",
                "test.accuracy",
                "%",
                100.0,
                higher_is_better=True,
            )
            for kind, text in CLASSIFIERS.items()
            for name in SETS
            for count in COUNTS
        },
        **{
            f"{kind}/{name}/{JUDGED}/{BALANCED}": Quantity(
                f"balanced accuracy {text}, {SETS[name]}, {JUDGED} labels per class",
                "mean of the recalls",
                "%",
                100.0,
                higher_is_better=True,
            )
            for kind, text in CLASSIFIERS.items()
            for name in SETS
        },
        **{
            f"{kind}/{ALL}": Quantity(
                f"test accuracy {text}, all labels", "test.accuracy", "%", 100.0, higher_is_better=True
            )
            for kind, text in CLASSIFIERS.items()
        },
        MAJORITY: Quantity("test accuracy, always the commonest class", "test.accuracy", "%", 100.0, higher_is_better=True),
        **{
            f"masked/{start}": Quantity(
                f"masked words predicted, {name} model", "test.accuracy", "%", 100.0, higher_is_better=True
            )
            for start, name in {PRETRAINED: "masked", RANDOM: "untrained"}.items()
        },
    }
    parts = tuple(part for kind in CLASSIFIERS for part in judged_parts(kind))
    figures = tuple(
        LineFigure(
            kind,
            f"labels per class; a logistic regression {text}",
            "test accuracy, %",
            {label: {float(count): key(kind, name, count) for count in COUNTS} for name, label in SETS.items()},
        )
        for kind, text in CLASSIFIERS.items()
    )

    def measure(self, bench: Bench) -> Measurements:
        read = labelled_texts.read(SOURCE)
        splits = TextSplits(read["train"], read["validation"], read["test"])
        study = bench.study("pretraining")
        rows = cached_rows(bench, study, PRETRAINED, "augmentation", lambda run: measure_run(run, splits))
        series = {name: item_series({seed: row[name] for seed, row in rows.items()}) for name in next(iter(rows.values()))}
        for kind in CLASSIFIERS:
            for name in SETS:
                hits = series[key(kind, name, JUDGED)].items or {}
                balanced = {seed: recalls(row, splits.test.labels)[BALANCED] for seed, row in hits.items()}
                series[f"{key(kind, name, JUDGED)}/{BALANCED}"] = Series(balanced)
        units = list(rows)
        pairs = [list(zip(split.texts, split.labels, strict=True)) for split in (splits.training, splits.test)]
        series[MAJORITY] = same_for_every(units, linear_classifier.commonest_class(*pairs))
        series |= {f"masked/{start}": bench.values(study, start, "test.accuracy") for start in (PRETRAINED, RANDOM)}
        return Measurements(
            series,
            tuple(bench.facts(study)),
            notes=(
                "the masked model reads the training tweets without their labels; it never reads validation or test tweets",
                "words that the masked model does not know are always masked, besides the planned share",
                "a logistic regression is fitted to its optimum, so a larger set of texts means no more training steps that "
                "could help by themselves",
            ),
        )


def measure_run(run: Run, splits: TextSplits) -> dict[str, list[float]]:
    """Key -> hits of the classifiers with a run's paraphrases, and with all labels."""
    vectors_from = {WORDS: augmented_labels.word_vectors, FEATURES: augmented_labels.feature_vectors(run)}
    all_labels = {
        f"{kind}/{ALL}": augmented_labels.hits(vectors(splits.training.texts), splits.training, splits)
        for kind, vectors in vectors_from.items()
    }
    return {**augmented_labels.all_hits(run, splits, COUNTS, vectors_from), **all_labels}
