"""The public function for debates of language models."""

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from glasshouse.api.llms import open_language_model
from glasshouse.inspection.entailment_metric import Judge
from glasshouse.llms import answer_journal, debate_judge, debate_measures
from glasshouse.llms.contradictions import ContradictionTest, EntailmentTest, NegationTest
from glasshouse.llms.debate_report import DebateResult
from glasshouse.llms.debate_rounds import DebateJournal, DebateOptions, default_control_topic, hold
from glasshouse.llms.language_model import LanguageModel
from glasshouse.pages import debate_page
from glasshouse.records import atomic_files, lock, progress_bar
from glasshouse.records.user_paths import StrPath
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError


def debate(
    topic: str,
    models: str | Sequence[str | LanguageModel],
    points: int = 3,
    rounds: int = 2,
    judge: str | LanguageModel | None = None,
    temperatures: str | Sequence[float] = (0.7,),
    seed: int = 0,
    output: StrPath | None = None,
    config: StrPath | None = None,
    entailment: StrPath | None = None,
    control_topic: str | None = None,
    max_tokens: int = 160,
    device: str = "auto",
) -> DebateResult:
    """Let models argue for and against a topic, and measure repetition, self-contradiction and drift off the topic.

    `models` and `judge` are names (see `config`, the list of models) or opened models; several names or `temperatures` may
    be one text with commas. The debate is held at each temperature. `entailment` is a run that finds contradictions.
    `control_topic=""` leaves the control out. Everything that is asked and answered is kept in the folder `output`, so that
    the same call continues a debate that was killed.
    """
    if isinstance(models, str):
        models = [name.strip() for name in models.split(",") if name.strip()]
    names = tuple(_model_name(model) for model in models)
    control = default_control_topic(topic) if control_topic is None else control_topic
    options = DebateOptions(topic, names, points, rounds, _temperatures(temperatures), seed, max_tokens, control)
    if judge is not None and len(options.models) < 2:
        raise GlasshouseError(f"a judge compares models, and {options.models[0]} is alone; name two with --models")
    opened = [_opened(model, config, device) for model in models]
    opened_judge = None if judge is None else _opened(judge, config, device)
    contradictions: ContradictionTest = NegationTest(topic)
    if entailment is not None:
        contradictions = EntailmentTest(Judge(Run(entailment, device)))
    name = re.sub(r"\W+", "-", topic.lower()).strip("-")[:60] or "debate"
    folder = Path("debates") / name if output is None else Path(output)
    answer_journal.make_folder(folder)
    with (
        lock.hold(folder, "wait for it, or name another folder with --output"),
        closing(DebateJournal(folder / "debate.jsonl", asdict(options))) as journal,
    ):
        with progress_bar.bar("debating") as bar:
            said = hold(options, opened, journal, bar)
        summary = None
        if judge is not None and opened_judge is not None:
            on_topic = [point for point in said if point.turn.topic == topic]
            with progress_bar.bar("judging") as bar:
                judged = debate_judge.judge_points(_model_name(judge), opened_judge, on_topic, journal, seed, bar)
            summary = debate_judge.summarise(_model_name(judge), judged)
        with progress_bar.bar("measuring"):
            measures = debate_measures.measure(options, said, contradictions)
        result = DebateResult(
            options, tuple(said), tuple(measures), contradictions.method, summary, folder, contradictions.warning
        )
        result.write_measures()
        atomic_files.write_text(result.page, debate_page.render(result))
    return result


def _temperatures(values: str | Sequence[float]) -> tuple[float, ...]:
    try:
        return tuple(float(value) for value in (values.split(",") if isinstance(values, str) else values))
    except ValueError:
        raise GlasshouseError("must be numbers, separated by commas, such as 0.2,0.7,1.2", "temperatures", values) from None


def _model_name(model: str | LanguageModel) -> str:
    return model if isinstance(model, str) else model.name


def _opened(model: str | LanguageModel, config: StrPath | None, device: str) -> LanguageModel:
    return open_language_model(model, config, device) if isinstance(model, str) else model
