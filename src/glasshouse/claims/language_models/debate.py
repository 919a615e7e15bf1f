"""Claim: small language models that argue for and against a topic repeat themselves and contradict themselves."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from itertools import combinations, product
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.language_models.stories_model import open_stories
from glasshouse.claims.rules import higher
from glasshouse.llms.contradictions import NegationTest
from glasshouse.llms.debate_rounds import AGAINST, FOR, DebateJournal, DebateOptions, DebatePoint, hold
from glasshouse.llms.local_models import RunModel
from glasshouse.metrics.text_overlap import content_stems, loop_share, ngrams, words
from glasshouse.records import progress_bar
from glasshouse.runs.run import Run

TOPICS = ("canards on a stealth fighter", "self-driving cars")
POINTS, TEMPERATURE, TOKENS = 3, 0.7, 40
# Debates about each topic. Their points did not see each other.
DEBATES = 4
# About one shared phrase of five words in points of forty.
MARGIN = 0.05
# Arm -> width, layers.
SIZES = {"small": (32, 2), "large": (64, 4)}
STORIES = "stories"
MODELS = (*SIZES, STORIES)
IN_WORDS = {"small": "GPT of width 32", "large": "GPT of width 64", STORIES: "stories260K"}
REPEATED, REPEATED_CONTROL, REPEATED_UNSEEN = "repeated", "repeated-control", "repeated-unseen"
DENIED, DENIED_CONTROL = "denied", "denied-control"
LOOPS, OFF_TOPIC, EMPTY = "loops", "off-topic", "empty"
# Measure -> what it is.
MEASURES = {
    REPEATED: "shared trigrams of two points of one side",
    REPEATED_CONTROL: "shared trigrams with points of the same side about the other topic",
    REPEATED_UNSEEN: "shared trigrams of points of one side in different debates",
    DENIED: "pairs of a point for and a point against that contradict each other",
    DENIED_CONTROL: "pairs of points for from different debates that contradict each other",
    LOOPS: "trigrams of a point that occurred earlier in it",
    OFF_TOPIC: "points without a word of the topic",
    EMPTY: "points without a word",
}

# The points of one debate.
Points = list[DebatePoint]


def key(measure: str, model: str) -> str:
    """The key of a measure of a model."""
    return f"{measure}/{model}"


class DebateClaim(Claim):
    """Lets language models argue both sides of two topics, and compares repetition and contradiction with controls."""

    group = GROUPS[7]
    statement = (
        "Small language models that argue three points for and three points against a topic repeat themselves, and their "
        "two sides contradict each other."
    )
    source = "course work on large language models: debates about two topics"
    reported = "all repetitive; all contradicted themselves; one argued against stealth fighters instead"
    why = (
        "A model with little to say about a topic repeats itself. It holds no opinion, so its points for and against may "
        "contradict each other."
    )
    procedure = (
        "Each seed trains two GPTs of different sizes on the State of the Union addresses. Each holds "
        f"{DEBATES} debates about {TOPICS[0]} and {DEBATES} about {TOPICS[1]} at temperature {TEMPERATURE:g}, with {POINTS} "
        "points for and as many against in each; the prompt lists its earlier points for that side and says not to repeat "
        "them. For every model, two points of one side of a debate must share more word trigrams (Jaccard index, without "
        "the topics' own trigrams) than points of the same side about different topics, and the share of pairs of a point "
        "for and a point against that contradict each other must be higher than among points for from different debates "
        "about that topic. Two points contradict each other if two of their clauses share half of their content words and "
        "exactly one of these is negated. Beside it: shared trigrams of different debates, repeated trigrams within a "
        "point, points without a word of the topic, and stories260K, if its file is present, whose seeds are those of "
        "sampling."
    )
    would_change = (
        "Models that follow instructions: these continue a text, and a debater who obeys contradicts its other side. An "
        "entailment model instead of the test by shared words, which misses contradictions in other words and sees some "
        "where there are none."
    )
    data = PUBLIC_TEXT
    looks = (16, 32)
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
        key(measure, model): Quantity(f"{what}, {IN_WORDS[model]}", what, "%", 100.0)
        for measure, what in MEASURES.items()
        for model in MODELS
    }
    parts = tuple(
        higher(
            key(measure, model),
            than=key(control, model),
            margin=MARGIN,
            name=f"{IN_WORDS[model]}: {what}",
            decides=model in SIZES,
        )
        for model in MODELS
        for measure, control, what in (
            (REPEATED, REPEATED_CONTROL, "it repeats itself"),
            (DENIED, DENIED_CONTROL, "its two sides contradict each other"),
        )
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("models")
        by_model = {
            arm: split_scores.cached_rows(
                bench, study, arm, "debates", partial(_measure, count=1 if bench.quick else DEBATES)
            )
            for arm in SIZES
        }
        if (stories := open_stories(bench.folder / STORIES, bench.device)) is not None:
            seeds = range(bench.first_seed, bench.first_seed + bench.seeds)
            by_model[STORIES] = {}
            with progress_bar.bar("debating") as show:
                for done, seed in enumerate(seeds, 1):
                    by_model[STORIES][seed] = _measure(stories, 1 if bench.quick else DEBATES, seed)
                    show(done / len(seeds))
        series, facts = {}, bench.facts(study)
        for model, rows in by_model.items():
            for measure in MEASURES:
                series[key(measure, model)] = Series({seed: row[measure] for seed, row in rows.items()})
            facts.append((f"{IN_WORDS[model]}, first seed, for {TOPICS[-1]}", repr(next(iter(rows.values()))["example"])))
        return Measurements(series, tuple(facts))


def _measure(run: Run, count: int, seed: int | None = None) -> dict[str, Any]:
    """The measures of the debates of one run. Debates are kept in its folder; a killed one continues."""
    seed = run.spec.training.seed if seed is None else seed
    folder = Path(run.folder.path) / "debates"
    folder.mkdir(exist_ok=True)
    model = RunModel(run, "model")
    debates: list[list[Points]] = []
    for number, topic in enumerate(TOPICS):
        debates.append([])
        for repeat in range(max(count, 2)):  # points of different debates are compared
            options = DebateOptions(topic, ("model",), POINTS, 1, (TEMPERATURE,), seed * DEBATES + repeat, TOKENS)
            with closing(DebateJournal(folder / f"{seed}-{number}-{repeat}.jsonl", asdict(options))) as journal:
                debates[number].append(hold(options, [model], journal))
    return {**measures_of(debates), "example": debates[-1][0][0].text}


def measures_of(debates: Sequence[Sequence[Points]]) -> dict[str, float]:
    """The measures of debates: topic -> repeat -> points."""
    found: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    for held, topic in zip(debates, TOPICS, strict=True):
        contradictions = NegationTest(topic)
        others = [point for other in debates if other is not held for points in other for point in points]
        for points in held:
            elsewhere = [point for other in held if other is not points for point in other]
            found[REPEATED] += [_shared(a, b) for a, b in combinations(points, 2) if a.turn.side == b.turn.side]
            found[REPEATED_CONTROL] += [_shared(a, b) for a, b in _same_side(points, others)]
            found[REPEATED_UNSEEN] += [_shared(a, b) for a, b in _same_side(points, elsewhere)]
            arguments = _texts(points, FOR)
            across = contradictions.denials(list(product(arguments, _texts(points, AGAINST))))
            within = contradictions.denials(list(product(arguments, _texts(elsewhere, FOR))))
            found[DENIED] += [float(denial is not None) for denial in across]
            found[DENIED_CONTROL] += [float(denial is not None) for denial in within]
            for point in points:
                found[EMPTY].append(float(not words(point.text)))
                if words(point.text):
                    found[LOOPS].append(loop_share(point.text))
                    found[OFF_TOPIC].append(float(not set(content_stems(topic)) & set(content_stems(point.text))))
    return {measure: fmean(values) if values else 0.0 for measure, values in found.items()}


def _texts(points: Sequence[DebatePoint], side: str) -> list[str]:
    return [point.text for point in points if point.turn.side == side]


def _same_side(points: Sequence[DebatePoint], others: Sequence[DebatePoint]) -> Iterator[tuple[DebatePoint, DebatePoint]]:
    return ((a, b) for a, b in product(points, others) if a.turn.side == b.turn.side)


def _shared(first: DebatePoint, second: DebatePoint) -> float:
    """The Jaccard index of the word trigrams of two points, without those of the topics."""
    of_topics = frozenset[tuple[str, ...]]().union(*map(ngrams, TOPICS))
    one, other = ngrams(first.text) - of_topics, ngrams(second.text) - of_topics
    return len(one & other) / len(one | other) if one | other else 0.0
