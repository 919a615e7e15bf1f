"""Claim: examples in the context teach a language model a task at inference, without any training on it."""

import random
from math import comb
from typing import ClassVar

from glasshouse.claims.claim import (
    GROUPS,
    STAND_IN,
    Bench,
    Claim,
    LineFigure,
    Measurements,
    Part,
    Quantity,
    Series,
    StudyPlan,
)
from glasshouse.claims.pretraining.arithmetic import QUICK_FINETUNE
from glasshouse.claims.rules import equal, higher, not_lower
from glasshouse.claims.split_scores import cached_by_seed, same_for_every
from glasshouse.data.sources import label_tasks
from glasshouse.data.sources.label_tasks import KINDS, TEMPLATE
from glasshouse.inspection import few_shot
from glasshouse.inspection.labelled_texts import LabelledTexts
from glasshouse.runs.run import Run

SHOTS = (0, 1, 2, 4, 8, 16)
# The number of examples at which the claim is judged.
JUDGED = 8
# For a smaller gain nobody would write examples. The largest possible gain is about 75 points.
MARGIN = 0.05
# Of each kind of words, this many are queries; the others are examples.
QUERIES = 2
TASKS_PER_SEED, QUICK_TASKS = 16, 1
TRUE, SHUFFLED, BEST = "true", "shuffled", "best"
ON_TASKS, ONE_LAYER, ON_TEXT = "on-tasks", "one-layer", "on-text"
MODELS = {
    ON_TASKS: "trained on many such tasks",
    ONE_LAYER: "trained on many such tasks, one layer",
    ON_TEXT: "trained on plain text",
}
# The models for which the claim is judged, each as a setting of its own.
SETTINGS = {ON_TASKS: "a model trained on many such tasks", ON_TEXT: "a model trained on plain text"}
RECIPE = (
    "characters",
    "data.tokenizer=words",
    "data.vocabulary=4096",
    "model.position=rotary",
    "training.steps=3000",
    "evaluation.every=500",
    "evaluation.batch=256",
)
DATA = {
    ON_TASKS: ("data.source=label-tasks", "model.layers=2"),
    ONE_LAYER: ("data.source=label-tasks", "model.layers=1"),
    ON_TEXT: ("data.source=state-of-the-union", "model.layers=2"),
}
CHANCE = 1 / len(KINDS)


def key(model: str, shots: int, labels: str = TRUE) -> str:
    """The key of an accuracy."""
    return f"{model}/{labels}/{shots}"


def judged_parts(model: str) -> tuple[Part, ...]:
    """The parts that decide for one model."""
    with_examples, setting = key(model, JUDGED), SETTINGS[model]
    return (
        higher(with_examples, key(model, 0), MARGIN, f"{JUDGED} examples are better than none", setting=setting),
        higher(
            with_examples,
            key(model, JUDGED, SHUFFLED),
            MARGIN,
            f"{JUDGED} examples are better than the same {JUDGED} with shuffled labels",
            setting=setting,
        ),
    )


class InContextExamples(Claim):
    """Asks language models for labels that only the examples in their context can tell."""

    group = GROUPS[5]
    statement = "Examples in the context teach a language model a task at inference, without any training on it."
    source = "course work on pretraining: few-shot prompts"
    reported = "asserted of large language models, no figures"
    why = (
        "To predict how a text continues, a model must notice patterns in what came before. A list of examples is such a "
        "pattern, and the label of a new text is its continuation."
    )
    procedure = (
        "A task gives each of four kinds of words (numbers, people, places, qualities) one of eight labels at random, so "
        "the label of a word can only be known from labelled words of its kind. Small decoders are trained on documents "
        "of 32 labelled words, each document with a task of its own, or on State of the Union addresses, "
        f"which hold the same words. Every seed then gets {TASKS_PER_SEED} tasks that no training document had, with 0 to "
        f"{SHOTS[-1]} examples in the context and {QUERIES * len(KINDS)} other words to label; the likeliest of the task's "
        f"four labels is the answer. With {JUDGED} examples the accuracy must be higher than without and higher than with "
        "shuffled labels, by five points or it does not matter; each of the two trainings is a setting. Every model has "
        "the best of three learning rates on validation text."
    )
    would_change = (
        "A model trained on far more plain text: large language models are said to gain from examples without having been "
        "trained on such lists, and none can be had here."
    )
    data = STAND_IN
    studies = (
        StudyPlan(
            "models",
            tuple(DATA),
            metric="test.loss",
            tune="training.learning_rate=3e-3,1e-2,3e-2",
            recipes={name: (*RECIPE, *words) for name, words in DATA.items()},
            quick=(
                *QUICK_FINETUNE,
                "model.width=16",
                "evaluation.tokens=500",
                "evaluation.stride=64",
                "data.vocabulary=600",
            ),
        ),
    )
    quantities: ClassVar = {
        **{
            key(model, shots, labels): Quantity(
                f"accuracy with {shots} examples{', labels shuffled' if labels == SHUFFLED else ''}, model {name}",
                "share of the queries labelled correctly",
                "%",
                100.0,
                higher_is_better=True,
            )
            for model, name in MODELS.items()
            for labels in (TRUE, SHUFFLED)
            for shots in SHOTS
        },
        **{
            key(BEST, shots): Quantity(
                f"accuracy with {shots} examples, best possible", "computed", "%", 100.0, higher_is_better=True
            )
            for shots in SHOTS
        },
    }
    parts = (
        *(part for model in SETTINGS for part in judged_parts(model)),
        not_lower(
            key(ON_TASKS, SHOTS[-1]),
            than=key(BEST, SHOTS[-1]),
            margin=MARGIN,
            name=f"with {SHOTS[-1]} examples, a model trained on many tasks is as accurate as possible",
            decides=False,
        ),
        higher(
            key(ON_TASKS, JUDGED),
            than=key(ONE_LAYER, JUDGED),
            margin=MARGIN,
            name=f"two layers use {JUDGED} examples better than one",
            decides=False,
        ),
        *(
            equal(
                key(model, 0),
                to=CHANCE,
                margin=MARGIN,
                name=f"control: without examples, nothing can be known; model {MODELS[model]}",
                decides=False,
            )
            for model in SETTINGS
        ),
    )
    figures = (
        LineFigure(
            "examples",
            "examples in the context",
            "labels answered correctly, %",
            {
                "best possible": {float(shots): key(BEST, shots) for shots in SHOTS},
                **{name: {float(shots): key(model, shots) for shots in SHOTS} for model, name in MODELS.items()},
                f"{MODELS[ON_TASKS]}, labels shuffled": {float(shots): key(ON_TASKS, shots, SHUFFLED) for shots in SHOTS},
            },
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("models")
        count = QUICK_TASKS if bench.quick else TASKS_PER_SEED
        series: dict[str, Series] = {}
        for model in MODELS:
            accuracies = cached_by_seed(bench, study, model, "few-shot", lambda run: accuracies_of(run, count))
            series |= {f"{model}/{name}": Series(values) for name, values in accuracies.items()}
        units = list(series[key(ON_TASKS, 0)].values)
        series |= {key(BEST, shots): same_for_every(units, best_accuracy(shots)) for shots in SHOTS}
        examples, queries = draw_task(random.Random(0))
        prompt = "".join(
            TEMPLATE.format(text=word, label=label)
            for word, label in list(zip(examples.texts, examples.labels, strict=True))[:4]
        )
        facts = (*bench.facts(study), ("a prompt with four examples", f"{prompt}{queries.texts[0]}"))
        return Measurements(
            series,
            facts,
            notes=("no query is among the examples of its prompt, so copying the label of the same word cannot help",),
        )


def draw_task(generator: random.Random) -> tuple[LabelledTexts, LabelledTexts]:
    """(examples in random order, queries) of a task that no training document has, with QUERIES queries of each kind."""
    labels = label_tasks.label_words(generator.choice(label_tasks.assignments("test")))
    queries = [word for words in KINDS.values() for word in generator.sample(words, QUERIES)]
    examples = [word for word in labels if word not in queries]
    generator.shuffle(examples)

    def labelled(words: list[str]) -> LabelledTexts:
        return LabelledTexts(tuple(words), tuple(labels[word] for word in words))

    return labelled(examples), labelled(queries)


def accuracies_of(run: Run, tasks: int) -> dict[str, float]:
    """`LABELS/SHOTS` -> mean accuracy of a run over random tasks, with true and with shuffled labels of the examples."""
    generator = random.Random(run.spec.training.seed)
    totals = {f"{labels}/{shots}": 0.0 for labels in (TRUE, SHUFFLED) for shots in SHOTS}
    for number in range(tasks):
        examples, queries = draw_task(generator)
        shuffled = LabelledTexts(examples.texts, tuple(generator.sample(examples.labels, len(examples))))
        for labels, rows in ((TRUE, examples), (SHUFFLED, shuffled)):
            splits = {"train": rows, "test": queries}
            result = few_shot.measure(run, splits, SHOTS, len(queries), draws=1, template=TEMPLATE, seed=number)
            for of_shots in result.by_shots:
                totals[f"{labels}/{of_shots.shots}"] += of_shots.mean / tasks
    return totals


def best_accuracy(shots: int) -> float:
    """The highest accuracy that anyone can expect who knows the kinds of the words and the task's four labels.

    The label of a kind that occurs in the examples is known. With s of the k kinds among them, the label of another kind is
    one of the k - s labels that are left.
    """
    kinds, words = len(KINDS), len(next(iter(KINDS.values()))) - QUERIES
    everything = comb(kinds * words, shots)
    total = 0.0
    for seen in range(kinds + 1):
        # Examples that have all of these kinds and no other, by inclusion and exclusion.
        ways = sum(
            (-1) ** left_out * comb(seen, left_out) * comb(words * (seen - left_out), shots) for left_out in range(seen + 1)
        )
        total += comb(kinds, seen) * ways / everything * min(1.0, (seen + 1) / kinds)
    return total
