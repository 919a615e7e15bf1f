"""What a debate came to: its points, measures and verdicts, as the content of a page and as a JSON file."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from glasshouse import formatting
from glasshouse.llms.debate_judge import JudgeSummary
from glasshouse.llms.debate_measures import (
    CONTRADICTION,
    DEFINITIONS,
    OFF_TOPIC,
    REPETITION,
    SHARES,
    TOPIC_WORDS,
    Measurement,
    ModelMeasures,
)
from glasshouse.llms.debate_rounds import AGAINST, FOR, DebateOptions, DebatePoint
from glasshouse.metrics.text_overlap import repeated_words, word_places
from glasshouse.records import atomic_files, kept_json
from glasshouse.results.language_models import (
    PHRASE,
    DebateContent,
    MeasureBlock,
    MeasuredModel,
    ModelPoints,
    PointText,
    TranscriptPart,
    written,
    written_interval,
)
from glasshouse.results.table import Table
from glasshouse.verdicts.mean_intervals import MeanWithInterval

PAGE, MEASURES = "debate.html", "measures.json"
# Measures that are compared between temperatures.
BY_TEMPERATURE = (REPETITION, CONTRADICTION, OFF_TOPIC)


@dataclass(frozen=True)
class DebateResult:
    """A finished debate. `contradictions` says how contradictions were found; `folder` holds the journal and the page."""

    options: DebateOptions
    points: tuple[DebatePoint, ...]
    measures: tuple[ModelMeasures, ...]
    contradictions: str
    judge: JudgeSummary | None
    folder: Path
    warning: str = ""

    @property
    def page(self) -> Path:
        return self.folder / PAGE

    @property
    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The columns and rows of a short table: a row for each model, controls in brackets."""
        shown = (*BY_TEMPERATURE, TOPIC_WORDS)
        rows = []
        for model in self.measures:
            cells = [_with_control(model.measures[name], name in SHARES) for name in shown]
            if self.judge is not None:
                wins = self.judge.wins.get(model.model)
                cells.append(_with_interval(wins, share=True) if wins else formatting.MISSING)
            rows.append((model.model, str(model.points), *cells))
        return ("model", "points", *shown, *(("wins",) if self.judge else ())), rows

    @property
    def remarks(self) -> list[str]:
        """Sentences below the table."""
        judge = [] if self.judge is None else [_judge_table(self.judge).note]
        return ["In brackets: the control, to see what is high; the page says what it is.", *_notes(self), *judge]

    def write_measures(self) -> None:
        """Write the measures into the folder, for programs."""
        models = {
            model.model: {
                "points": model.points,
                "empty": model.empty,
                "measures": _measures_json(model.measures),
                "by_temperature": {f"{t:g}": _measures_json(found) for t, found in model.by_temperature.items()},
                "mentions": model.mentions,
                "named": model.named,
            }
            for model in self.measures
        }
        facts = {
            "topic": self.options.topic,
            "contradictions": self.contradictions,
            "definitions": {name: {"value": value, "control": control} for name, (value, control) in DEFINITIONS.items()},
            "models": models,
            "judge": self.judge and asdict(self.judge),
        }
        atomic_files.write_json(self.folder / MEASURES, kept_json.without_nan(facts))


def _measures_json(measures: dict[str, Measurement]) -> dict[str, Any]:
    return {
        name: {**asdict(found.value), "control": asdict(found.control) if found.control.count else None}
        for name, found in measures.items()
    }


def content_of(result: DebateResult) -> DebateContent:
    """The content of the page."""
    options = result.options
    rounds = f"{options.rounds} rounds" if options.rounds > 1 else "one round"
    points = f"{options.points} points" if options.points > 1 else "one point"
    temperatures = formatting.join_with_and(f"{temperature:g}" for temperature in options.temperatures)
    subtitle = (
        f"{formatting.join_with_and(options.models)} argue{'' if len(options.models) > 1 else 's'} {points} for and "
        f"{points} against in {rounds}, at temperature {temperatures}."
    )
    blocks = [_block(result.measures, name) for name in DEFINITIONS]
    judge = None if result.judge is None else _judge_table(result.judge)
    return DebateContent(
        options.topic,
        options.models,
        subtitle,
        tuple(block for block in blocks if any(row.value.count for row in block.models)),
        tuple(table for table in (judge, _temperature_table(result), _topic_table(result)) if table),
        _notes(result),
        tuple(_transcript(result)),
    )


def _block(models: Sequence[ModelMeasures], name: str) -> MeasureBlock:
    definition, control = DEFINITIONS[name]
    found = {model.model: model.measures[name] for model in models if name in model.measures}
    rows = tuple(MeasuredModel(model, measurement.value, measurement.control) for model, measurement in found.items())
    return MeasureBlock(name, definition, control if any(row.control.count for row in rows) else "", rows, name in SHARES)


def _judge_table(judge: JudgeSummary) -> Table:
    readable = judge.verdicts - judge.unreadable
    lead = (
        f"{judge.judge} judged {judge.pairs} pairs of arguments, each in both orders: {readable} of {judge.verdicts} "
        "verdicts could be read."
    )
    if judge.order_bias.count:
        lead += (
            f" In {_with_interval(judge.order_bias, share=True)} of the pairs with two readable verdicts it kept the "
            f"position rather than the argument, and {formatting.percent(round(judge.chose_first, 3))} of their verdicts "
            "went to the argument shown first. A judge without bias has 0 % and 50 %; one that guesses has 50 % and 50 %."
        )
    rows = tuple(
        (model, written(wins, True), written_interval(wins, True) or formatting.MISSING, str(wins.count))
        for model, wins in judge.wins.items()
    )
    return Table("Judge", ("model", "verdicts won", "95 % interval", "pairs"), rows, lead)


def _temperature_table(result: DebateResult) -> Table | None:
    if len(result.options.temperatures) < 2:
        return None
    rows = tuple(
        (
            f"{model.model}, {temperature:g}",
            *(_with_interval(found[name].value, name in SHARES) for name in BY_TEMPERATURE),
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


def _notes(result: DebateResult) -> tuple[str, ...]:
    notes = [f"Contradictions are found by {result.contradictions}."]
    if result.warning:
        notes.append(result.warning[0].upper() + result.warning[1:] + ".")
    if result.options.control_topic:
        notes.append(f"The other topic is “{result.options.control_topic}”; each model argued about it in the same way.")
    notes += [
        f"{model.model}: {model.empty} of {model.points} points have no words and are left out."
        for model in result.measures
        if model.empty
    ]
    return tuple(notes)


def _transcript(result: DebateResult) -> list[TranscriptPart]:
    options = result.options
    parts = [(f"Temperature {temperature:g}", options.topic, temperature) for temperature in options.temperatures]
    if options.control_topic:
        parts.append((f"Control: {options.control_topic}", options.control_topic, options.temperatures[0]))
    warnings = {key: found for model in result.measures for key, found in model.warnings.items()}
    found = []
    for title, topic, temperature in parts:
        models = []
        for name in options.models:
            place = (topic, temperature, name)
            own = [point for point in result.points if (point.turn.topic, point.turn.temperature, point.turn.model) == place]
            texts = [(point.turn.side, _point_text(point, own, warnings.get(point.turn.key, ()))) for point in own]
            pros, cons = (tuple(text for each, text in texts if each == side) for side in (FOR, AGAINST))
            models.append(ModelPoints(name, pros, cons))
        found.append(TranscriptPart(title, tuple(models)))
    return found


def _point_text(point: DebatePoint, own: Sequence[DebatePoint], warnings: tuple[str, ...]) -> PointText:
    title = f"Round {point.turn.round}, point {point.turn.number}"
    if point.answers is not None:
        title += f" · answers {point.answers.model}: {point.answers}"
    pieces = marked_pieces(point.text, [other.text for other in own if other is not point])
    remarks = ("cut off at the maximum number of tokens",) if point.finish == "length" else ()
    return PointText(title, pieces, remarks, warnings)


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


def _with_control(found: Measurement, share: bool) -> str:
    text = written(found.value, share)
    return f"{text} ({written(found.control, share)})" if found.control.count else text


def _with_interval(mean: MeanWithInterval, share: bool) -> str:
    spread = written_interval(mean, share)
    return f"{written(mean, share)} ({spread})" if spread else written(mean, share)
