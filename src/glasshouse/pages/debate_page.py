"""The page of a debate: the measures as small pictures, and the points for and against side by side."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from glasshouse import formatting
from glasshouse.llms.debate_measures import DEFINITIONS, SHARES, Measurement
from glasshouse.llms.debate_report import (
    BY_TEMPERATURE,
    DebateResult,
    judge_table,
    notes,
    with_interval,
    written,
    written_interval,
)
from glasshouse.llms.debate_rounds import AGAINST, FOR, DebateOptions, DebatePoint
from glasshouse.metrics.text_overlap import repeated_words, word_places
from glasshouse.pages import svg_chart, template
from glasshouse.pages.chart import Axis, Chart, Dots, Interval, Line, Mark, MarkGroup
from glasshouse.results.table import Table

TONES = ("accent", "ochre", "blue", "plum", "quiet")
# Ends of the axis of a small picture; the first that holds all values is chosen.
AXIS_ENDS = (0.05, 0.1, 0.2, 0.5, 1.0)
# A phrase is highlighted if another point of the same model has this many words in a row too.
PHRASE = 4


def render(result: DebateResult) -> str:
    found = {
        name: {one.model: one.measures[name] for one in result.measures if name in one.measures} for name in DEFINITIONS
    }
    judge = None if result.judge is None else judge_table(result.judge)
    return template.fill(
        "debate.html",
        ("page.css", "debate.css"),
        topic=result.options.topic,
        subtitle=subtitle(result.options),
        measures={name: models for name, models in found.items() if any(one.value.count for one in models.values())},
        definitions=DEFINITIONS,
        shares=SHARES,
        tables=[table for table in (judge, _temperature_table(result), _topic_table(result)) if table],
        notes=notes(result),
        transcript=transcript(result),
        tones={model: TONES[index % len(TONES)] for index, model in enumerate(result.options.models)},
        picture=picture,
        draw=svg_chart.draw,
        written=written,
        axis_end=axis_end,
        phrase=PHRASE,
    )


def subtitle(options: DebateOptions) -> str:
    rounds = f"{options.rounds} rounds" if options.rounds > 1 else "one round"
    points = f"{options.points} points" if options.points > 1 else "one point"
    temperatures = formatting.join_with_and(f"{temperature:g}" for temperature in options.temperatures)
    return (
        f"{formatting.join_with_and(options.models)} argue{'' if len(options.models) > 1 else 's'} {points} for and "
        f"{points} against in {rounds}, at temperature {temperatures}."
    )


def axis_end(name: str, models: Mapping[str, Measurement]) -> float:
    """The end of the axis that all models of a measure share."""
    if name in SHARES:
        return 1.0
    ends = [end for one in models.values() for end in (one.value.value, one.value.high, one.control.value)]
    highest = max(filter(math.isfinite, ends), default=0.0)
    return next((end for end in AXIS_ENDS if end >= highest), 1.0)


def picture(name: str, model: str, found: Measurement, end: float, tone: str = TONES[0]) -> Chart:
    """A dot with its interval on an axis from 0, and a grey diamond for the control."""
    ticks: list[Mark] = [Line((place, place), (0.3, 0.7), width=1) for place in (0.0, end / 2, end)]
    axis = MarkGroup([Line((0, end), (0.5, 0.5), width=1), *ticks], tone="quiet")
    value, control, share = found.value, found.control, name in SHARES
    marks: list[Mark] = [Interval(0.5, value.low, value.high, across=True, cap=0)] if math.isfinite(value.low) else []
    marks.append(Dots([value.value], [0.5], size=9))
    label = f"{name} of {model}: {written(value, share)}"
    if spread := written_interval(value, share):
        label += f" ({spread})"
    if math.isfinite(control.value):
        label += f", control {written(control, share)}"
    series = [axis, MarkGroup([Dots([control.value], [0.5], size=11, shape="diamond")], tone="soft")]
    series.append(MarkGroup(marks, tone=tone, about=label))
    return Chart(label, Axis(0, end), {"linear": Axis(0, 1)}, series, grid="x", width=260, height=22)


def _temperature_table(result: DebateResult) -> Table | None:
    if len(result.options.temperatures) < 2:
        return None
    rows = tuple(
        (
            f"{model.model}, {temperature:g}",
            *(with_interval(found[name].value, name in SHARES) for name in BY_TEMPERATURE),
        )
        for model in result.measures
        for temperature, found in model.by_temperature.items()
    )
    lead = "The same measures at each temperature, with 95 % intervals where there are enough points."
    return Table("Temperatures", ("model, temperature", *BY_TEMPERATURE), rows, lead)


def _topic_table(result: DebateResult) -> Table | None:
    found = [(model, side, shares) for model in result.measures for side, shares in model.mentions.items()]
    if not found:
        return None
    topic_words = list(found[0][2])
    rows = tuple(
        (
            f"{model.model}, {side}",
            *(f"{shares[word] * 100:.0f} %" for word in topic_words),
            ", ".join(model.named) if side == FOR else "",
        )
        for model, side, shares in found
    )
    lead = (
        "The share of points that have each word of the topic, and the other words that most points of a model have. A "
        "word of the topic that one side lacks shows what it argues about instead."
    )
    return Table("What the points name", ("model, side", *topic_words, "other words"), rows, lead)


def transcript(result: DebateResult) -> list[tuple[str, dict[str, dict[str, list[dict[str, Any]]]]]]:
    """(title, model -> side -> points) at each temperature, and about the control topic."""
    options = result.options
    parts = [(f"Temperature {temperature:g}", options.topic, temperature) for temperature in options.temperatures]
    if options.control_topic:
        parts.append((f"Control: {options.control_topic}", options.control_topic, options.temperatures[0]))
    warnings = {key: found for model in result.measures for key, found in model.warnings.items()}
    found = []
    for title, topic, temperature in parts:
        models = {}
        for name in options.models:
            place = (topic, temperature, name)
            own = [point for point in result.points if (point.turn.topic, point.turn.temperature, point.turn.model) == place]
            shown = [(point.turn.side, _shown(point, own, warnings.get(point.turn.key, ()))) for point in own]
            sides = (("For", FOR), ("Against", AGAINST))
            models[name] = {title: [point for side, point in shown if side == wanted] for title, wanted in sides}
        found.append((title, models))
    return found


def _shown(point: DebatePoint, own: Sequence[DebatePoint], warnings: tuple[str, ...]) -> dict[str, Any]:
    title = f"Round {point.turn.round}, point {point.turn.number}"
    if point.answers is not None:
        title += f" · answers {point.answers.model}: {point.answers}"
    pieces = marked_pieces(point.text, [other.text for other in own if other is not point])
    return {"title": title, "pieces": pieces, "cut_off": point.finish == "length", "warnings": warnings}


def marked_pieces(text: str, others: Sequence[str]) -> tuple[tuple[str, bool], ...]:
    """Cut a text into pieces, with whether another text has the words of the piece in a row too."""
    places, marked = word_places(text), repeated_words(text, others, PHRASE)
    pieces, position = [], 0
    for repeated, words in groupby(zip(places, marked, strict=True), key=lambda pair: pair[1]):
        run = [place for place, _ in words]
        if repeated:
            begin, end = run[0][1], run[-1][2]
            pieces += [(text[position:begin], False), (text[begin:end], True)]
            position = end
    return tuple(piece for piece in [*pieces, (text[position:], False)] if piece[0])
