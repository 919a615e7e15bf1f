"""Measures of a debate: does a model repeat itself, contradict itself, drift off the topic? Each has a control value.

The control shows what is high: points about another topic share nothing but the model with those about this one, and points
of one side should not deny each other. Intervals take the points of a debate as drawn independently, about this topic alone.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np

from glasshouse.llms.contradictions import ContradictionTest, Denial
from glasshouse.llms.debate import AGAINST, FOR, SIDES, DebateOptions, DebatePoint
from glasshouse.metrics.text_overlap import FUNCTION_WORDS, content_stems, loop_share, ngram_overlap, rouge_l, stem, words
from glasshouse.verdicts import mean_intervals
from glasshouse.verdicts.mean_intervals import NO_MEAN, MeanWithInterval

REPETITION, REPETITION_ROUGE, ACROSS_SIDES = "repetition", "repetition (ROUGE-L)", "across sides"
ACROSS_TEMPERATURES, LOOPS = "across temperatures", "loops"
CONTRADICTION, OFF_TOPIC, TOPIC_WORDS, SIMILARITY = "contradiction", "off the topic", "topic words", "topic similarity"
# Measure -> what it is, and what its control is.
DEFINITIONS = {
    REPETITION: (
        "Overlap of two points that the model made for the same side: the Jaccard index of their word trigrams, mean over "
        "pairs. 1: the same text.",
        "its points about another topic",
    ),
    REPETITION_ROUGE: (
        "The same pairs by ROUGE-L: the longest common subsequence of words, divided by the mean length.",
        "its points about another topic",
    ),
    ACROSS_SIDES: (
        "Overlap of a point for with a point against, in word trigrams. High: both sides get the same text.",
        "points of the other models on the same side",
    ),
    ACROSS_TEMPERATURES: (
        "Overlap of the points at the same place of the debate at two temperatures, in word trigrams.",
        "its points about another topic",
    ),
    LOOPS: (
        "The share of a point's word trigrams that occurred earlier in the same point. High: it goes round in circles.",
        "",
    ),
    CONTRADICTION: (
        "The share of points for that at least one of its own points against denies.",
        "points for that another of its own points for denies",
    ),
    OFF_TOPIC: (
        "The share of points that have none of the topic's words: they name other things only.",
        "its points about another topic",
    ),
    TOPIC_WORDS: ("The share of the topic's words that a point has, mean over points.", "its points about another topic"),
    SIMILARITY: (
        "Cosine similarity of the embeddings of a point and the topic, mean over points.",
        "its points about another topic",
    ),
}
# Words that are shown of what a model names instead of the topic.
MOST_NAMED = 6

Overlap = Callable[[str, str], float]
# Texts -> one vector each: (texts, D).
TextEncoder = Callable[[Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class Measurement:
    """The value of a measure and its control; NaN if there is nothing to measure."""

    value: MeanWithInterval
    control: MeanWithInterval = NO_MEAN


@dataclass(frozen=True)
class PointNotes:
    """What is remarkable about one point: the most similar earlier point of its side, what denies it, topic words."""

    repeats: DebatePoint | None = None
    overlap: float = 0.0
    denied_by: DebatePoint | None = None
    denial: Denial | None = None
    off_topic: bool = False


@dataclass(frozen=True)
class ModelMeasures:
    """All measures of one model.

    measures: over all temperatures; pairs are of one temperature. by_temperature: the same measures at each. mentions: side
    -> topic word -> the share of points that have it. named: the most frequent other content words. empty: points without
    a word.
    """

    model: str
    points: int
    empty: int
    measures: dict[str, Measurement]
    by_temperature: dict[float, dict[str, Measurement]]
    mentions: dict[str, dict[str, float]]
    named: tuple[str, ...]
    notes: dict[str, PointNotes] = field(repr=False, default_factory=dict)  # by the key of the turn


def measure(
    options: DebateOptions,
    points: Sequence[DebatePoint],
    contradictions: ContradictionTest,
    encoder: TextEncoder | None = None,
) -> list[ModelMeasures]:
    """The measures of every model, in the order of the options."""
    return [_ModelPoints(options, points, model, contradictions, encoder).all() for model in options.models]


class _ModelPoints:
    """The points of one model that have words, those about the control topic, and those of the other models."""

    def __init__(
        self,
        options: DebateOptions,
        points: Sequence[DebatePoint],
        model: str,
        contradictions: ContradictionTest,
        encoder: TextEncoder | None,
    ) -> None:
        self.options, self.model, self.encoder = options, model, encoder
        on_topic = [point for point in points if point.turn.topic == options.topic]
        own = [point for point in on_topic if point.turn.model == model]
        self.empty = sum(not words(point.text) for point in own)
        self.points = [point for point in own if words(point.text)]
        self.others = [point for point in on_topic if point.turn.model != model and words(point.text)]
        self.control = [
            point
            for point in points
            if point.turn.model == model and point.turn.topic != options.topic and words(point.text)
        ]
        self.topic_stems = dict.fromkeys(content_stems(options.topic))
        self.denials = self._denials(contradictions)

    def all(self) -> ModelMeasures:
        topic_words = [word for word in dict.fromkeys(words(self.options.topic)) if word not in FUNCTION_WORDS]
        sides = {side: [point for point in self.points if point.turn.side == side] for side in SIDES}
        mentions = {
            side: {word: float(np.mean([stem(word) in content_stems(point.text) for point in said])) for word in topic_words}
            for side, said in sides.items()
            if said
        }
        by_temperature = {
            temperature: self._measures([point for point in self.points if point.turn.temperature == temperature])
            for temperature in self.options.temperatures
        }
        named = Counter(
            word
            for point in self.points
            for word in dict.fromkeys(words(point.text))
            if word not in FUNCTION_WORDS and len(word) > 2 and stem(word) not in self.topic_stems and "'" not in word
        )
        return ModelMeasures(
            self.model,
            len(self.points) + self.empty,
            self.empty,
            self._measures(self.points),
            by_temperature,
            mentions,
            tuple(word for word, _ in named.most_common(MOST_NAMED)),
            {point.turn.key: self._notes(point) for point in self.points},
        )

    def _measures(self, points: Sequence[DebatePoint]) -> dict[str, Measurement]:
        same_side = [(a, b) for a, b in combinations(points, 2) if _same_debate(a, b) and a.turn.side == b.turn.side]
        opposite = [(a, b) for a, b in combinations(points, 2) if _same_debate(a, b) and a.turn.side != b.turn.side]
        other_topic = list(product(points, self.control))
        other_models = [(a, b) for a, b in product(points, self.others) if _same_debate(a, b) and a.turn.side == b.turn.side]
        other_temperature = [
            (a, b) for a, b in combinations(points, 2) if a.turn.temperature != b.turn.temperature and _place(a) == _place(b)
        ]
        control_overlap = _overlap(other_topic, ngram_overlap)
        found = {
            REPETITION: Measurement(_overlap(same_side, ngram_overlap), control_overlap),
            REPETITION_ROUGE: Measurement(_overlap(same_side, rouge_l), _overlap(other_topic, rouge_l)),
            ACROSS_SIDES: Measurement(_overlap(opposite, ngram_overlap), _overlap(other_models, ngram_overlap)),
            ACROSS_TEMPERATURES: Measurement(
                # A place of the debate is the unit: its points at all temperatures are drawn together.
                mean_intervals.mean_of_pairs(
                    [(_place(a), _place(b)) for a, b in other_temperature],
                    [ngram_overlap(a.text, b.text) for a, b in other_temperature],
                ),
                control_overlap,
            ),
            LOOPS: Measurement(mean_intervals.mean([loop_share(point.text) for point in points])),
            CONTRADICTION: Measurement(self._share_denied(points, AGAINST), self._share_denied(points, FOR)),
            OFF_TOPIC: Measurement(self._share_off_topic(points), self._share_off_topic(self.control)),
            TOPIC_WORDS: Measurement(self._coverage(points), self._coverage(self.control)),
        }
        if self.encoder is not None:
            found[SIMILARITY] = Measurement(self._similarity(points), self._similarity(self.control))
        return found

    def _denials(self, contradictions: ContradictionTest) -> dict[tuple[str, str], Denial]:
        """(key of a point for, key of another point) -> where the two deny each other."""
        pairs = [
            (a, b) for a, b in product(self.points, repeat=2) if a.turn.side == FOR and a is not b and _same_debate(a, b)
        ]
        found = contradictions.denials([(a.text, b.text) for a, b in pairs])
        return {(a.turn.key, b.turn.key): denial for (a, b), denial in zip(pairs, found, strict=True) if denial}

    def _share_denied(self, points: Sequence[DebatePoint], side: str) -> MeanWithInterval:
        """The share of points for that a point of this side denies. A point with no such partner is left out."""
        denied = []
        for point in points:
            partners = [b for b in points if b is not point and b.turn.side == side and _same_debate(point, b)]
            if point.turn.side == FOR and partners:
                denied.append(float(any((point.turn.key, b.turn.key) in self.denials for b in partners)))
        return mean_intervals.share(denied)

    def _off_topic(self, point: DebatePoint) -> bool:
        return not set(self.topic_stems) & set(content_stems(point.text))

    def _share_off_topic(self, points: Sequence[DebatePoint]) -> MeanWithInterval:
        return mean_intervals.share([float(self._off_topic(point)) for point in points])

    def _coverage(self, points: Sequence[DebatePoint]) -> MeanWithInterval:
        shares = [len(set(self.topic_stems) & set(content_stems(point.text))) / len(self.topic_stems) for point in points]
        return mean_intervals.mean(shares)

    def _similarity(self, points: Sequence[DebatePoint]) -> MeanWithInterval:
        assert self.encoder is not None
        if not points:
            return NO_MEAN
        vectors = self.encoder([self.options.topic, *(point.text for point in points)])
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return mean_intervals.mean((unit[1:] @ unit[0]).tolist())

    def _notes(self, point: DebatePoint) -> PointNotes:
        earlier = [
            (ngram_overlap(point.text, other.text), other)
            for other in self.points[: self.points.index(point)]
            if _same_debate(point, other) and other.turn.side == point.turn.side
        ]
        overlap, repeats = max(earlier, key=lambda pair: pair[0], default=(0.0, None))
        denial, denied_by = None, None
        for other in self.points:
            # Denials are stored for points for; a point against is denied by the points for that it denies.
            pair = (point, other) if point.turn.side == FOR else (other, point)
            if found := self.denials.get((pair[0].turn.key, pair[1].turn.key)):
                denial, denied_by = found, other
                if other.turn.side != point.turn.side:
                    break
        return PointNotes(repeats if overlap else None, overlap, denied_by, denial, self._off_topic(point))


def _same_debate(first: DebatePoint, second: DebatePoint) -> bool:
    return first.turn.temperature == second.turn.temperature


def _place(point: DebatePoint) -> tuple[str, int, int]:
    return point.turn.side, point.turn.round, point.turn.number


def _overlap(pairs: Sequence[tuple[DebatePoint, DebatePoint]], overlap: Overlap) -> MeanWithInterval:
    """The mean overlap of pairs of points. Points are the units of the bootstrap."""
    return mean_intervals.mean_of_pairs(
        [(a.turn.key, b.turn.key) for a, b in pairs], [overlap(a.text, b.text) for a, b in pairs]
    )
