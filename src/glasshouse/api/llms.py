"""Public functions for experiments on language models behind an API."""

import re
import signal
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from glasshouse.inspection.entailment_metric import Judge
from glasshouse.llms import answer_journal, debate_judge, debate_measures
from glasshouse.llms.answer_grid import AnswerGrid, GridAnswer, GridEvent, digest
from glasshouse.llms.contradictions import ContradictionTest, EntailmentTest, NegationTest
from glasshouse.llms.debate_report import DebateResult
from glasshouse.llms.debate_rounds import DebateJournal, DebateOptions, default_control_topic, hold
from glasshouse.llms.distribution_recovery import Recovered, Recovery
from glasshouse.llms.grid_results import GridResults, results_of, write_results
from glasshouse.llms.language_model import ChatSession, GridOptions, LanguageModel, Message, Options, Reply
from glasshouse.llms.local_models import RunModel
from glasshouse.llms.model_list import find_model
from glasshouse.llms.next_token_api import MOST_TOP, RunAPI, ServerAPI
from glasshouse.llms.openai_model import OpenAIModel
from glasshouse.llms.questions import read_questions
from glasshouse.pages import debate_page, grid_page
from glasshouse.records import atomic_files, lock, progress_bar
from glasshouse.records.user_paths import StrPath
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError, Interrupted
from glasshouse.specs.options import takes


@dataclass(frozen=True)
class GridOutcome:
    """A grid that was asked: its folder, its answers, its results, its page, and the models that failed."""

    folder: Path
    answers: list[GridAnswer]
    results: GridResults
    page: Path
    failed: dict[str, Exception]


def open_language_model(model: str, config: StrPath | None = None, device: str = "auto") -> LanguageModel:
    """A language model by its name in `config` (default: ./llms.toml), or by `run:NAME`, `NAME` or `gguf:FILE`."""
    return find_model(model, config).open(device)


@takes(Options)
def ask(
    model: str,
    question: str,
    system: str = "",
    config: StrPath | None = None,
    device: str = "auto",
    show: Callable[[str], None] = lambda piece: None,
    **options: Any,
) -> Reply:
    """Ask a language model one question. `show` receives each piece of the answer as it comes."""
    how = Options(**options)
    messages = [Message("system", system)] if system else []
    opened = open_language_model(model, config, device)
    return opened.chat([*messages, Message("user", question)], how, show)


@takes(Options, leave_out=("max_tokens",))
def open_chat(
    model: str,
    system: str = "",
    max_tokens: int | None = None,
    output: StrPath | None = None,
    config: StrPath | None = None,
    device: str = "auto",
    **options: Any,
) -> ChatSession:
    """A chat: `chat.say("Hello")` returns an answer, `chat.reset()` forgets. A transcript is appended to `output`.

    The oldest messages are left out once the context is full. An answer has at most 256 tokens by default, or half of a
    small context.
    """
    how = Options(**options)
    atomic_files.check_output(output)
    opened = find_model(model, config).open(device)
    if max_tokens is None:
        max_tokens = min(how.max_tokens, max(opened.context // 2, 1)) if opened.context else how.max_tokens
    return ChatSession(opened, replace(how, max_tokens=max_tokens), system, output)


@takes(GridOptions)
def open_grid(
    questions: StrPath | None = None,
    models: Sequence[str] = (),
    output: StrPath | None = None,
    config: StrPath | None = None,
    device: str = "auto",
    **options: Any,
) -> AnswerGrid:
    """A grid of models and questions, with the answers that its folder has already. `run_grid` asks the rest.

    Without `questions`, those that ship with the package are asked. Without `output`, the folder is `grids/NAME-HASH`, with
    the hash of what is asked.
    """
    how = GridOptions(**options)
    asked = read_questions(questions)
    entries = [find_model(name, config) for name in models]
    title = "questions" if questions is None else Path(questions).stem
    return AnswerGrid(asked, entries, how, output, title, device)


def run_grid(grid: AnswerGrid, show: Callable[[GridEvent], None] | None = None) -> GridOutcome:
    """Ask what is left to ask, and write the page and the results. `show` receives every piece of every answer.

    A model that fails does not stop the others. A killed grid continues when it is opened and run again.
    """
    total, interrupted = len(grid.cells()), False
    with progress_bar.bar("asking") if show is None else nullcontext(lambda share: None) as bar:
        try:
            grid.run(show or (lambda event: bar(1 - len(grid.missing()) / total)))
        except KeyboardInterrupt:
            interrupted = True
    results = results_of(grid)
    write_results(grid, results)
    page = grid.folder / "report.html"
    atomic_files.write_text(page, grid_page.render(grid, results))
    if interrupted:
        raise Interrupted(signal.SIGINT, f"stopped with {len(grid.answers)} of {total} answers", "the same command")
    return GridOutcome(grid.folder, grid.answers, results, page, dict(grid.failed))


def grid(questions: StrPath | None = None, models: Sequence[str] = (), **options: Any) -> GridOutcome:
    """Ask every model every question several times: `open_grid`, whose options these are, and `run_grid`."""
    return run_grid(open_grid(questions, models, **options))


def open_recovery(
    model: str,
    prompt: str,
    top: int = 20,
    method: str | None = None,
    decimals: int | None = None,
    before_bias: bool = False,
    journal: StrPath | None = None,
    device: str = "auto",
    config: StrPath | None = None,
) -> Recovery:
    """A recovery of the next token's distribution after a prompt, from what an API shows of a model.

    The API is that of a server, for a model of kind `openai` in `config` (default: ./llms.toml), or what an API would show
    of a run: `top` log-probabilities, rounded to `decimals`, after or before the bias. Answers are kept in `journal`, by
    default in the run's folder or in `recoveries`, so that `recover` continues after a kill.
    """
    entry = find_model(model, config)
    if entry.kind == "gguf":
        raise GlasshouseError(f"{model} is a GGUF file, and llama.cpp shows tokens as texts; import it as a run instead")
    opened = entry.open(device)
    if isinstance(opened, OpenAIModel):
        if decimals is not None or before_bias:
            raise GlasshouseError(
                f"--decimals and --before-bias are for runs, and {model} is behind a server; leave them out"
            )
        server = ServerAPI(opened, entry.vocabulary)
        if journal is None:
            journal = Path("recoveries") / f"{digest([prompt, top, server.name, server.shows]).hex()}.jsonl"
            journal.parent.mkdir(exist_ok=True)
        return Recovery(server, prompt, min(top, MOST_TOP), method, Path(journal))
    assert isinstance(opened, RunModel)
    run = opened.run
    api = RunAPI(run, prompt, after_bias=not before_bias, decimals=decimals, most_top=top, shows_sampled=before_bias)
    if journal is None:
        journal = run.folder.path / f"recovery-{digest([prompt, top, api.shows]).hex()}.jsonl"
    return Recovery(api, prompt, top, method, Path(journal))


def recover(recovery: Recovery) -> Recovered:
    with progress_bar.bar("asking") as bar:
        return recovery.run(bar)


def recovery_error(recovery: Recovery, found: Recovered) -> float | None:
    """The largest error of a recovered log-probability, for an API whose logits are known; None behind a server."""
    if not isinstance(recovery.api, RunAPI):
        return None
    present = np.isfinite(found.log_probabilities)
    return float(np.abs(found.log_probabilities - recovery.api.log_probabilities)[present].max())


def write_recovered(recovery: Recovery, found: Recovered, path: StrPath) -> Path:
    """Write the log-probability of every token and its error to a JSON file."""
    missing = ~np.isfinite(found.log_probabilities)
    rows = [
        {
            "token": token,
            "text": recovery.api.token_text(token),
            "log_probability": None if missing[token] else float(found.log_probabilities[token]),
            "error": float(found.errors[token]),
        }
        for token in range(recovery.api.vocabulary)
    ]
    content = {"model": recovery.api.name, "prompt": recovery.prompt, "method": found.method, "calls": found.calls}
    atomic_files.write_json(Path(path), {**content, "tokens": rows})
    return Path(path)


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
