"""Public functions for experiments on language models behind an API."""

import hashlib
import json
import signal
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from glasshouse.llms.answer_grid import AnswerGrid, GridAnswer, GridEvent
from glasshouse.llms.distribution_recovery import Recovered, Recovery
from glasshouse.llms.grid_results import GridResults, results_of, write_results
from glasshouse.llms.language_model import ChatSession, GridOptions, LanguageModel, Message, Options, Reply
from glasshouse.llms.local_models import RunModel
from glasshouse.llms.model_list import find_model
from glasshouse.llms.next_token_api import MOST_TOP, RunAPI, ServerAPI
from glasshouse.llms.openai_model import OpenAIModel
from glasshouse.llms.questions import read_questions
from glasshouse.pages import grid_page
from glasshouse.records import atomic_files, progress_bar
from glasshouse.records.user_paths import StrPath
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
            journal = Path("recoveries") / f"{_digest(prompt, top, server.name, server.shows)}.jsonl"
            journal.parent.mkdir(exist_ok=True)
        return Recovery(server, prompt, min(top, MOST_TOP), method, Path(journal))
    assert isinstance(opened, RunModel)
    run = opened.run
    api = RunAPI(run, prompt, after_bias=not before_bias, decimals=decimals, most_top=top, shows_sampled=before_bias)
    if journal is None:
        journal = run.folder.path / f"recovery-{_digest(prompt, top, api.shows)}.jsonl"
    return Recovery(api, prompt, top, method, Path(journal))


def _digest(*asked: str | int) -> str:
    """What distinguishes a recovery from others, so that each has a journal of its own."""
    return hashlib.blake2b(json.dumps(asked).encode(), digest_size=4).hexdigest()


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
