"""Measures of a debate: does a model repeat itself, contradict itself, drift off the topic? Each has a control value.

The control shows what is high: points about another topic share nothing but the model with those about this one, and points
of one side should not deny each other. Intervals take the points of a debate as drawn independently, about this topic alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from glasshouse.llms.contradictions import ContradictionTest
from glasshouse.llms.debate_rounds import AGAINST, FOR, SIDES, DebateOptions, DebatePoint
from glasshouse.metrics.text_overlap import FUNCTION_WORDS, content_stems, loop_share, ngram_overlap, stem, words
from glasshouse.verdicts import mean_intervals
from glasshouse.verdicts.mean_intervals import NO_MEAN, MeanWithInterval

REPETITION, ACROSS_SIDES, ACROSS_TEMPERATURES, LOOPS = "repetition", "across sides", "across temperatures", "loops"
CONTRADICTION, OFF_TOPIC, TOPIC_WORDS = "contradiction", "off the topic", "topic words"
OTHER_TOPIC = "its points about another topic"
# Measure -> what it is, and what its control is.
DEFINITIONS = {
    REPETITION: ("Shared word trigrams (Jaccard index) of two points for the same side. 1: the same text.", OTHER_TOPIC),
    ACROSS_SIDES: (
        "Shared word trigrams of a point for and a point against. High: both sides get the same text.",
        "points of the other models on the same side",
    ),
    ACROSS_TEMPERATURES: ("Shared word trigrams of the points at the same place at two temperatures.", OTHER_TOPIC),
    LOOPS: ("The share of word trigrams that occurred earlier in the same point. High: it goes round in circles.", ""),
    CONTRADICTION: (
        "The share of points for that at least one of its own points against denies.",
        "points for that another of its own points for denies",
    ),
    OFF_TOPIC: ("The share of points that have none of the topic's words: they name other things only.", OTHER_TOPIC),
    TOPIC_WORDS: ("The share of the topic's words that a point has, mean over points.", OTHER_TOPIC),
}
# Measures that are shares of points.
SHARES = (CONTRADICTION, OFF_TOPIC, TOPIC_WORDS, LOOPS)
# An overlap with an earlier point from which on it is remarked.
REMARKABLE = 0.2
# Words that are shown of what a model names instead of the topic.
MOST_NAMED = 6

Pairs = list[tuple[DebatePoint, DebatePoint]]


@dataclass(frozen=True)
class Measurement:
    """The value of a measure and its control; NaN if there is nothing to measure."""

    value: MeanWithInterval
    control: MeanWithInterval = NO_MEAN


@dataclass(frozen=True)
class ModelMeasures:
    """All measures of one model.

    measures: over all temperatures; pairs are of one temperature. by_temperature: the same measures at each. mentions: side
    -> topic word -> the share of points that have it. named: the most frequent other content words. empty: points without
    a word. warnings: what a reader of a point should see, by the key of its turn.
    """

    model: str
    points: int
    empty: int
    measures: dict[str, Measurement]
    by_temperature: dict[float, dict[str, Measurement]]
    mentions: dict[str, dict[str, float]]
    named: tuple[str, ...]
    warnings: dict[str, tuple[str, ...]]


def measure(options: DebateOptions, points: Sequence[DebatePoint], contradictions: ContradictionTest) -> list[ModelMeasures]:
    """The measures of every model, in the order of the options."""
    return [_ModelPoints(options, points, model, contradictions).all() for model in options.models]


class _ModelPoints:
    """The points of one model that have words, those about the control topic, and those of the other models."""

    def __init__(
        self, options: DebateOptions, points: Sequence[DebatePoint], model: str, contradictions: ContradictionTest
    ) -> None:
        self.options, self.model = options, model
        spoken = [point for point in points if words(point.text)]
        own = [point for point in spoken if point.turn.model == model]
        self.points = [point for point in own if point.turn.topic == options.topic]
        self.control = [point for point in own if point.turn.topic != options.topic]
        self.others = [point for point in spoken if point.turn.model != model and point.turn.topic == options.topic]
        self.count = sum(point.turn.model == model and point.turn.topic == options.topic for point in points)
        self.topic_stems = frozenset(content_stems(options.topic))
        # (point for, another point) -> where the two deny each other.
        pairs = [
            (a, b)
            for a, b in product(self.points, repeat=2)
            if a.turn.side == FOR and a is not b and a.turn.same_debate(b.turn)
        ]
        found = contradictions.denials([(a.text, b.text) for a, b in pairs])
        self.denials = {(a.turn, b.turn): denial for (a, b), denial in zip(pairs, found, strict=True) if denial}

    def all(self) -> ModelMeasures:
        topic_words = [word for word in dict.fromkeys(words(self.options.topic)) if word not in FUNCTION_WORDS]
        mentions = {
            side: {word: float(np.mean([stem(word) in content_stems(point.text) for point in said])) for word in topic_words}
            for side in SIDES
            if (said := [point for point in self.points if point.turn.side == side])
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
            self.count,
            self.count - len(self.points),
            self._measures(self.points),
            by_temperature,
            mentions,
            tuple(word for word, _ in named.most_common(MOST_NAMED)),
            {point.turn.key: tuple(self._warnings(point)) for point in self.points},
        )

    def _measures(self, points: Sequence[DebatePoint]) -> dict[str, Measurement]:
        same_side, opposite, other_temperature = Pairs(), Pairs(), Pairs()
        for a, b in combinations(points, 2):
            if a.turn.same_debate(b.turn):
                (same_side if a.turn.side == b.turn.side else opposite).append((a, b))
            elif a.turn.place == b.turn.place:
                other_temperature.append((a, b))
        other_topic = list(product(points, self.control))
        other_models = [
            (a, b) for a, b in product(points, self.others) if a.turn.same_debate(b.turn) and a.turn.side == b.turn.side
        ]
        control_overlap = _overlap(other_topic)
        # A place of the debate is the unit: its points at all temperatures are drawn together.
        across_temperatures = mean_intervals.mean_of_pairs(
            [(a.turn.place, b.turn.place) for a, b in other_temperature],
            [ngram_overlap(a.text, b.text) for a, b in other_temperature],
        )
        return {
            REPETITION: Measurement(_overlap(same_side), control_overlap),
            ACROSS_SIDES: Measurement(_overlap(opposite), _overlap(other_models)),
            ACROSS_TEMPERATURES: Measurement(across_temperatures, control_overlap),
            LOOPS: Measurement(mean_intervals.mean([loop_share(point.text) for point in points])),
            CONTRADICTION: Measurement(self._share_denied(points, AGAINST), self._share_denied(points, FOR)),
            OFF_TOPIC: Measurement(self._off_topic(points), self._off_topic(self.control)),
            TOPIC_WORDS: Measurement(self._share_covered(points), self._share_covered(self.control)),
        }

    def _off_topic(self, points: Sequence[DebatePoint]) -> MeanWithInterval:
        return mean_intervals.share([float(not self._covered(point)) for point in points])

    def _share_covered(self, points: Sequence[DebatePoint]) -> MeanWithInterval:
        return mean_intervals.mean([len(self._covered(point)) / len(self.topic_stems) for point in points])

    def _share_denied(self, points: Sequence[DebatePoint], side: str) -> MeanWithInterval:
        """The share of points for that a point of this side denies. A point with no such partner is left out."""
        denied = []
        for point in points:
            partners = [b for b in points if b is not point and b.turn.side == side and point.turn.same_debate(b.turn)]
            if point.turn.side == FOR and partners:
                denied.append(float(any((point.turn, b.turn) in self.denials for b in partners)))
        return mean_intervals.share(denied)

    def _covered(self, point: DebatePoint) -> frozenset[str]:
        """The stems of the topic that a point has."""
        return self.topic_stems.intersection(content_stems(point.text))

    def _warnings(self, point: DebatePoint) -> Iterator[str]:
        earlier = [
            (ngram_overlap(point.text, other.text), other.turn)
            for other in self.points[: self.points.index(point)]
            if point.turn.same_debate(other.turn) and other.turn.side == point.turn.side
        ]
        overlap, repeats = max(earlier, key=lambda pair: pair[0], default=(0.0, None))
        if overlap >= REMARKABLE:
            yield f"repeats {repeats} (overlap {overlap:.2f})"
        # Denials are stored for points for; a point against is denied by the points for that it denies.
        pairs = [((point, other) if point.turn.side == FOR else (other, point), other.turn) for other in self.points]
        denied = [(self.denials[a.turn, b.turn], turn) for (a, b), turn in pairs if (a.turn, b.turn) in self.denials]
        if denied:
            denial, turn = next((each for each in denied if each[1].side != point.turn.side), denied[-1])
            yield f"contradicts {turn}: “{denial.first}” against “{denial.second}”"
        if not self._covered(point):
            yield "names no word of the topic"


def _overlap(pairs: Sequence[tuple[DebatePoint, DebatePoint]]) -> MeanWithInterval:
    """The mean overlap of pairs of points. Points are the units of the bootstrap."""
    overlaps = [ngram_overlap(a.text, b.text) for a, b in pairs]
    return mean_intervals.mean_of_pairs([(a.turn, b.turn) for a, b in pairs], overlaps)
