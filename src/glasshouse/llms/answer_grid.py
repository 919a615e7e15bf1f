"""A grid: every model answers every question several times. Knows no display and no page.

Models of this machine answer one after the other in one thread; every remote model has a thread of its own. Threads hand
their answers to the thread that called `run`, which alone writes.
"""

import hashlib
import json
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from glasshouse.llms.answer_checks import check_all
from glasshouse.llms.answer_journal import AnswerJournal, GridAnswer
from glasshouse.llms.http_endpoint import BrokenStream
from glasshouse.llms.language_model import Options, streamed_reply
from glasshouse.llms.model_list import ModelEntry
from glasshouse.llms.question_files import PromptQuestion
from glasshouse.records import containment, lock
from glasshouse.specs.errors import GlasshouseError

FOLDER = Path("grids")
# Each answer is a row of the page and of results.json.
MOST_CELLS = 100_000
# How often an answer that broke off is asked for again.
STREAM_ATTEMPTS = 4
# Seconds to wait for a thread after Ctrl-C.
STOPPING_SECONDS = 2.0
Cell = tuple[str, str, int]


@dataclass(frozen=True)
class GridOptions:
    """How questions are asked. Every answer has a seed of its own; `cached` reuses the first answer for all repeats."""

    temperature: float = 0.7
    max_tokens: int = 256
    top_p: float = 1.0
    repeats: int = 5
    seed: int = 0
    cached: bool = False

    def __post_init__(self) -> None:
        Options(self.max_tokens, self.temperature, self.top_p)
        if self.repeats < 1:
            raise GlasshouseError("is below the minimum; choose 1 or more", "repeats", self.repeats)


@dataclass(frozen=True)
class GridEvent:
    """What happens at one cell: it is asked (no piece), a piece of text comes, or its answer is complete."""

    question: str
    model: str
    repeat: int
    piece: str = ""
    answer: GridAnswer | None = None


class _Stopped(Exception):
    """The grid was stopped while a model was answering."""


class AnswerGrid:
    """A grid in a folder. Without a folder, one is made from what is asked, so that the same grid continues."""

    def __init__(
        self,
        questions: Sequence[PromptQuestion],
        models: Sequence[ModelEntry],
        options: GridOptions,
        folder: Path | None = None,
        title: str = "questions",
        device: str = "auto",
    ) -> None:
        if not models:
            raise GlasshouseError("a grid needs at least one model; name them with --models a,b,c")
        names = [model.name for model in models]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise GlasshouseError(f"models has {twice!r} twice; name each model once")
        self.questions, self.models, self.options, self.title = tuple(questions), tuple(models), options, title
        self._opened = {model.name: model.open(device) for model in models}
        self.identities = {name: model.identity() for name, model in self._opened.items()}
        if self.size > MOST_CELLS:
            raise GlasshouseError(
                f"{len(self.questions)} questions, {len(models)} models and {options.repeats:,} repeats are {self.size:,} "
                f"answers, and a grid has at most {MOST_CELLS:,}; choose fewer repeats"
            )
        design = self._design()
        self.folder = folder or FOLDER / f"{title}-{_digest(design, 4).hex()}"
        self.journal = AnswerJournal(self.folder, design)
        self.failed: dict[str, GlasshouseError] = {}

    def _design(self) -> dict[str, Any]:
        return {
            "format": 1,
            "questions": [asdict(question) for question in self.questions],
            "models": self.identities,
            "options": asdict(self.options),
        }

    @property
    def answers(self) -> list[GridAnswer]:
        """The answers so far, in the order of the cells."""
        found = self.journal.answers
        return [found[cell] for cell in self.cells() if cell in found]

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.questions) * len(self.models) * self.options.repeats

    def cells(self) -> list[Cell]:
        """All cells, repeat by repeat, so that an unfinished grid is balanced."""
        return [
            (question.name, model.name, repeat)
            for repeat in range(self.options.repeats)
            for question in self.questions
            for model in self.models
        ]

    def missing(self) -> list[Cell]:
        """The cells without an answer."""
        return [cell for cell in self.cells() if cell not in self.journal.answers]

    def run(self, show: Callable[[GridEvent], None] = lambda event: None) -> None:
        """Ask what is left to ask. A model that fails is in `failed`; the others go on."""
        containment.refuse_links(self.folder)
        with lock.hold(self.folder, "wait for it, or name another folder with --output"):
            self._copy_first_answers(show)
            self._run(show)

    def _run(self, show: Callable[[GridEvent], None]) -> None:
        self.failed = {}
        events: queue.Queue[GridEvent | Exception | None] = queue.Queue()
        stop = threading.Event()
        workers = [
            threading.Thread(target=self._work, args=(cells, events, stop), daemon=True) for cells in self._shares() if cells
        ]
        for worker in workers:
            worker.start()
        running = len(workers)
        try:
            while running:
                event = events.get()
                if isinstance(event, Exception):
                    raise event
                if event is None:
                    running -= 1
                    continue
                if event.answer is not None:
                    self.journal.add(event.answer)
                    show(event)
                    self._copy_first_answers(show)
                else:
                    show(event)
        finally:
            stop.set()
            for worker in workers:
                worker.join(STOPPING_SECONDS)

    def _shares(self) -> Iterator[list[Cell]]:
        """The cells of each thread."""
        missing = [cell for cell in self.missing() if not (self.options.cached and cell[2])]
        remote = [model.name for model in self.models if model.remote]
        yield [cell for cell in missing if cell[1] not in remote]
        for name in remote:
            yield [cell for cell in missing if cell[1] == name]

    def _work(self, cells: list[Cell], events: "queue.Queue[GridEvent | Exception | None]", stop: threading.Event) -> None:
        try:
            for cell in cells:
                if cell[1] not in self.failed and not stop.is_set():
                    try:
                        events.put(GridEvent(*cell, answer=self._answer(cell, events, stop)))
                    except GlasshouseError as error:
                        self.failed[cell[1]] = error
        except _Stopped:
            pass
        except Exception as error:  # a bug: it is raised where `run` was called
            events.put(error)
        events.put(None)

    def _answer(self, cell: Cell, events: "queue.Queue[GridEvent | Exception | None]", stop: threading.Event) -> GridAnswer:
        name, model_name, repeat = cell
        question = next(question for question in self.questions if question.name == name)
        model = next(model for model in self.models if model.name == model_name)
        seed = answer_seed(self.options.seed, name, model_name, repeat)
        how = self.options
        options = Options(how.max_tokens, how.temperature, how.top_p, seed=seed)

        def show(piece: str) -> None:
            if stop.is_set():
                raise _Stopped
            events.put(GridEvent(*cell, piece=piece))

        for attempt in range(1, STREAM_ATTEMPTS + 1):
            events.put(GridEvent(*cell))
            try:
                reply = streamed_reply(self._opened[model_name], question.messages(), options, show)
                break
            except BrokenStream:
                if attempt == STREAM_ATTEMPTS:
                    raise
        outcome = check_all(question.checks, reply.text)
        return GridAnswer(
            *cell,
            seed,
            reply.text,
            reply.finish,
            reply.prompt_tokens,
            reply.tokens,
            round(reply.seconds, 4),
            model.cost(reply),
            None if outcome is None else outcome.passed,
            "" if outcome is None else outcome.reason,
        )

    def _copy_first_answers(self, show: Callable[[GridEvent], None]) -> None:
        """With `cached`, the first answer to a question stands for its repeats."""
        if not self.options.cached:
            return
        for cell in self.missing():
            first = self.journal.answers.get((cell[0], cell[1], 0))
            if first is not None and cell[2]:
                copied = replace(first, repeat=cell[2], cached=True, seconds=0.0, cost=None if first.cost is None else 0.0)
                self.journal.add(copied)
                show(GridEvent(*cell, answer=copied))


def answer_seed(seed: int, question: str, model: str, repeat: int) -> int:
    """The seed of one answer: another for every question, model and repeat, of 31 bits, which every server takes."""
    return int.from_bytes(_digest([seed, question, model, repeat], 4)) & (2**31 - 1)


def _digest(value: Any, size: int) -> bytes:
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=size).digest()
