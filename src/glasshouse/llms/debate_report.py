"""What a debate came to: its points, measures and verdicts, as a short table and as a JSON file."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path

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
from glasshouse.llms.debate_rounds import DebateOptions, DebatePoint
from glasshouse.records import atomic_files, kept_json
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
                cells.append(with_interval(wins, share=True) if wins else formatting.MISSING)
            rows.append((model.model, str(model.points), *cells))
        return ("model", "points", *shown, *(("wins",) if self.judge else ())), rows

    @property
    def remarks(self) -> list[str]:
        """Sentences below the table."""
        judge = [] if self.judge is None else [judge_table(self.judge).note]
        return ["In brackets: the control, to see what is high; the page says what it is.", *notes(self), *judge]

    def write_measures(self) -> None:
        """Write the measures into the folder, for programs."""
        facts = {
            "topic": self.options.topic,
            "contradictions": self.contradictions,
            "definitions": {name: {"value": value, "control": control} for name, (value, control) in DEFINITIONS.items()},
            "models": {model.model: asdict(model) for model in self.measures},
            "judge": self.judge and asdict(self.judge),
        }
        atomic_files.write_json(self.folder / MEASURES, kept_json.without_nan(facts))


def judge_table(judge: JudgeSummary) -> Table:
    readable = judge.verdicts - judge.unreadable
    lead = (
        f"{judge.judge} judged {judge.pairs} pairs of arguments, each in both orders: {readable} of {judge.verdicts} "
        "verdicts could be read."
    )
    if judge.order_bias.count:
        lead += (
            f" In {with_interval(judge.order_bias, share=True)} of the pairs with two readable verdicts it kept the "
            f"position rather than the argument, and {formatting.percent(round(judge.chose_first, 3))} of their verdicts "
            "went to the argument shown first. A judge without bias has 0 % and 50 %; one that guesses has 50 % and 50 %."
        )
    rows = tuple(
        (model, written(wins, True), written_interval(wins, True) or formatting.MISSING, str(wins.count))
        for model, wins in judge.wins.items()
    )
    return Table("Judge", ("model", "verdicts won", "95 % interval", "pairs"), rows, lead)


def notes(result: DebateResult) -> tuple[str, ...]:
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


def written(mean: MeanWithInterval, share: bool) -> str:
    """A mean as text: "25 %" or "0.031"."""
    if not math.isfinite(mean.value):
        return formatting.MISSING
    return f"{mean.value * 100:.0f} %" if share else f"{mean.value:.3f}"


def written_interval(mean: MeanWithInterval, share: bool) -> str:
    """The interval of a mean as text: "12 to 40 %"; empty if there is none."""
    if not math.isfinite(mean.low):
        return ""
    return f"{mean.low * 100:.0f} to {mean.high * 100:.0f} %" if share else f"{mean.low:.3f} to {mean.high:.3f}"


def _with_control(found: Measurement, share: bool) -> str:
    text = written(found.value, share)
    return f"{text} ({written(found.control, share)})" if found.control.count else text


def with_interval(mean: MeanWithInterval, share: bool) -> str:
    spread = written_interval(mean, share)
    return f"{written(mean, share)} ({spread})" if spread else written(mean, share)
