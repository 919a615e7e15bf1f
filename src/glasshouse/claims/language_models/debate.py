"""Claim: language models that argue for and against a topic repeat and contradict themselves."""

from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.language_models.stories_model import open_stories
from glasshouse.claims.rules import higher
from glasshouse.llms import debate_measures
from glasshouse.llms.contradictions import NegationTest
from glasshouse.llms.debate import Debate, DebateOptions, default_control_topic
from glasshouse.llms.debate_journal import DebateJournal
from glasshouse.llms.debate_measures import ACROSS_SIDES, CONTRADICTION, LOOPS, OFF_TOPIC, REPETITION
from glasshouse.llms.run_model import RunModel
from glasshouse.records import progress_bar
from glasshouse.runs.run import Run

TOPICS = ("canards on a stealth fighter", "self-driving cars")
POINTS, TEMPERATURE, TOKENS = 3, 0.7, 48
MARGIN = 0.05
# Arm -> width, layers.
SIZES = {"small": (32, 2), "large": (64, 4)}
STORIES = "stories"
MODELS = (*SIZES, STORIES)
IN_WORDS = {"small": "GPT of width 32", "large": "GPT of width 64", STORIES: "stories260K"}
# Measures with the control that is compared, and those that are shown alone.
COMPARED = (REPETITION, CONTRADICTION)
SHOWN = (ACROSS_SIDES, LOOPS, OFF_TOPIC)


def key(measure: str, model: str, control: bool = False) -> str:
    """The key of a measure of a model, or of its control."""
    return f"{_key(measure, control)}/{model}"


def _key(measure: str, control: bool = False) -> str:
    return measure.replace(" ", "-") + ("-control" if control else "")


class DebateClaim(Claim):
    """Lets language models argue both sides of two topics, and compares repetition and contradiction with controls."""

    group = GROUPS[7]
    statement = "Language models that argue three points for and three against a topic repeat and contradict themselves."
    source = "course work on large language models: debates about two topics"
    reported = "all repetitive; all contradicted themselves; one argued against stealth fighters instead"
    why = (
        "A model that has little to say of a topic says it again. It has no opinion, so that nothing keeps its two sides "
        "from denying each other."
    )
    procedure = (
        "Each seed trains two GPTs of different sizes on the State of the Union addresses. Each argues "
        f"{POINTS} points for and {POINTS} against {TOPICS[0]} and {TOPICS[1]} at temperature {TEMPERATURE:g}, and the same "
        "about another topic as a control; it is told its earlier points of the same side, which it must not repeat. For "
        "every model, two points of one side must share more word trigrams (Jaccard index) than points about different "
        "topics do, and more points for must be denied by its points against than by its other points for, found by shared "
        "words and a negation. Beside it: overlap of the two sides, loops within a point, the share of points without a "
        "word of the topic, and stories260K where its file is present."
    )
    would_change = (
        "Models that follow instructions: these continue a text, and most of their points are off the topic. An entailment "
        "model instead of the rough test of contradiction, which misses those in other words."
    )
    data = PUBLIC_TEXT
    looks = (16,)
    studies = (
        StudyPlan(
            "models",
            tuple(SIZES),
            recipes={
                arm: (
                    "demo-lm",
                    "data.vocabulary=2048",
                    "data.context=256",
                    f"model.width={width}",
                    f"model.layers={layers}",
                    f"model.feed_forward={5 * width // 2}",
                    "training.steps=600",
                    "training.batch=4",
                )
                for arm, (width, layers) in SIZES.items()
            },
            quick=(*split_scores.QUICK, "training.steps=2", "evaluation.every=2"),
        ),
    )
    quantities: ClassVar = {
        **{
            key(measure, model, control): Quantity(
                f"{measure}, {'control, ' if control else ''}{IN_WORDS[model]}", measure, "%", 100.0
            )
            for measure in COMPARED
            for control in (False, True)
            for model in MODELS
        },
        **{
            key(measure, model): Quantity(f"{measure}, {IN_WORDS[model]}", measure, "%", 100.0)
            for measure in SHOWN
            for model in MODELS
        },
    }
    parts = tuple(
        higher(
            key(measure, model),
            than=key(measure, model, control=True),
            margin=MARGIN,
            name=f"{IN_WORDS[model]}: {words}",
            decides=model in SIZES,
        )
        for model in MODELS
        for measure, words in ((REPETITION, "it repeats itself"), (CONTRADICTION, "it contradicts itself"))
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("models")
        folder = bench.folder / "debates"
        by_model = {
            arm: split_scores.cached_rows(bench, study, arm, "debates", partial(_debate, model=arm, folder=folder))
            for arm in SIZES
        }
        if (stories := open_stories(bench.folder / STORIES, bench.device)) is not None:
            seeds = range(bench.first_seed, bench.first_seed + bench.seeds)
            with progress_bar.bar("debating") as show:
                by_model[STORIES] = {}
                for done, seed in enumerate(seeds):
                    by_model[STORIES][seed] = _debate(stories, STORIES, folder, seed)
                    show((done + 1) / len(seeds))
        series, facts = {}, bench.facts(study)
        for model, rows in by_model.items():
            first = next(iter(rows.values()))
            for measure in first["values"]:
                series[f"{measure}/{model}"] = Series({seed: row["values"][measure] for seed, row in rows.items()})
            facts.append((f"{IN_WORDS[model]}, first seed, for {TOPICS[-1]}", repr(first["example"])))
        return Measurements(series, tuple(facts))


def _debate(run: Run, model: str, folder: Path, seed: int | None = None) -> dict[str, Any]:
    """The mean of each measure over the topics, and the first point for the last topic. A killed debate continues."""
    seed = run.spec.training.seed if seed is None else seed
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[float]] = {}
    example = ""
    for number, topic in enumerate(TOPICS):
        control = default_control_topic(topic)
        options = DebateOptions(topic, (model,), POINTS, 1, (TEMPERATURE,), seed, TOKENS, control)
        with closing(DebateJournal(folder / f"{model}-{seed}-{number}.jsonl", asdict(options))) as journal:
            points = Debate(options, [RunModel(run, model)], journal).run()
        [measured] = debate_measures.measure(options, points, NegationTest(topic))
        for measure in COMPARED:
            found.setdefault(_key(measure), []).append(measured.measures[measure].value.value)
            found.setdefault(_key(measure, control=True), []).append(measured.measures[measure].control.value)
        for measure in SHOWN:
            found.setdefault(_key(measure), []).append(measured.measures[measure].value.value)
        example = points[0].text
    return {"values": {name: float(np.mean(values)) for name, values in found.items()}, "example": example}
