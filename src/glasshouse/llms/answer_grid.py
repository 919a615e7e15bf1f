"""A grid: every model answers every question several times. Knows no display and no page.

Models of this machine answer one after the other in one thread; every remote model has a thread of its own. Threads hand
their answers to the thread that called `run`, which alone writes.
"""

import hashlib
import json
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from glasshouse.llms import answer_journal
from glasshouse.llms.answer_journal import AnswerJournal
from glasshouse.llms.http_endpoint import BrokenStream
from glasshouse.llms.language_model import GridOptions, Options
from glasshouse.llms.model_list import ModelEntry
from glasshouse.llms.questions import PromptQuestion
from glasshouse.records import atomic_files, lock, plain_files
from glasshouse.records.user_paths import StrPath
from glasshouse.specs.errors import GlasshouseError

# What is asked, and a line for each answer.
DESIGN, ANSWERS = "grid.json", "answers.jsonl"
FOLDER = Path("grids")
# Each answer is a row of the page and of results.json.
MOST_CELLS = 100_000
# How often an answer that broke off is asked for again.
STREAM_ATTEMPTS = 4
# Seconds to wait for a thread after Ctrl-C.
STOPPING_SECONDS = 2.0
Cell = tuple[str, str, int]


@dataclass(frozen=True)
class GridAnswer:
    """One answer. `repeat` counts from 0. `passed` is None without a check; `reason` says why an answer is wrong."""

    question: str
    model: str
    repeat: int
    seed: int
    text: str
    finish: str
    prompt_tokens: int
    tokens: int
    seconds: float
    cost: float | None = None
    passed: bool | None = None
    reason: str = ""

    @property
    def cell(self) -> Cell:
        return self.question, self.model, self.repeat


@dataclass(frozen=True)
class GridEvent:
    """What happens at one cell: it is asked (no piece), a piece of text comes, or its answer is complete."""

    question: str
    model: str
    repeat: int
    piece: str = ""
    answer: GridAnswer | None = None


# What the threads hand over: events, a bug, and None at the end of each thread.
Events = queue.Queue[GridEvent | Exception | None]


class _Stopped(Exception):
    """The grid was stopped while a model was answering."""


class AnswerGrid:
    """A grid in a folder. Without a folder, one is made from what is asked, so that the same grid continues.

    `found` are the answers so far, by cell; `failed` are the models that failed, with their errors.
    """

    def __init__(
        self,
        questions: Sequence[PromptQuestion],
        models: Sequence[ModelEntry],
        options: GridOptions,
        folder: StrPath | None = None,
        title: str = "questions",
        device: str = "auto",
    ) -> None:
        if not models:
            raise GlasshouseError("a grid needs at least one model; name them with --models a,b,c")
        names = [model.name for model in models]
        if twice := [name for name in names if names.count(name) > 1]:
            raise GlasshouseError(f"models has {twice[0]!r} twice; name each model once")
        self.questions, self.models, self.options, self.title = tuple(questions), tuple(models), options, title
        if self.size > MOST_CELLS:
            raise GlasshouseError(
                f"{len(self.questions)} questions, {len(models)} models and {options.repeats:,} repeats are {self.size:,} "
                f"answers, and a grid has at most {MOST_CELLS:,}; choose fewer repeats"
            )
        self._opened = {model.name: model.open(device) for model in models}
        self.identities = {name: model.identity() for name, model in self._opened.items()}
        design = {"questions": [asdict(question) for question in questions], "models": self.identities, **asdict(options)}
        self.folder = Path(folder) if folder else FOLDER / f"{title}-{digest(design).hex()}"
        self._make_folder(design)
        self._journal = AnswerJournal(self.folder / ANSWERS, GridAnswer, lambda answer: answer.cell)
        self.found: Mapping[Cell, GridAnswer] = self._journal.records
        self.failed: dict[str, GlasshouseError] = {}

    def _make_folder(self, design: dict[str, Any]) -> None:
        """Make the folder with the design. One with another grid, or with other files, is refused."""
        path = self.folder / DESIGN
        if not path.exists() and self.folder.is_dir() and any(self.folder.iterdir()):
            raise GlasshouseError(f"{self.folder} holds other files and no grid; name an empty folder with --output")
        answer_journal.make_folder(self.folder)
        if path.exists():
            answer_journal.refuse_other(path, plain_files.read_bytes(path), design)
        else:
            atomic_files.write_json(path, design)

    @property
    def answers(self) -> list[GridAnswer]:
        """The answers so far, in the order of the cells."""
        return [self.found[cell] for cell in self.cells() if cell in self.found]

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.questions) * len(self.models) * self.options.repeats

    def cells(self) -> list[Cell]:
        """All cells, repeat by repeat, so that an unfinished grid is balanced."""
        every = product(range(self.options.repeats), self.questions, self.models)
        return [(question.name, model.name, repeat) for repeat, question, model in every]

    def missing(self) -> list[Cell]:
        """The cells without an answer."""
        return [cell for cell in self.cells() if cell not in self.found]

    def run(self, show: Callable[[GridEvent], None] = lambda event: None) -> None:
        """Ask what is left to ask. A model that fails is in `failed`; the others go on."""
        with lock.hold(self.folder, "wait for it, or name another folder with --output"):
            self.failed = {}
            events, stop = Events(), threading.Event()
            workers = [
                threading.Thread(target=self._work, args=(cells, events, stop), daemon=True) for cells in self._shares()
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
                    else:
                        if event.answer:
                            self._journal.add(event.answer)
                        show(event)
            finally:
                stop.set()
                for worker in workers:
                    worker.join(STOPPING_SECONDS)

    def _shares(self) -> list[list[Cell]]:
        """The cells of each thread: those of all models of this machine, and those of each remote model."""
        shares: dict[str, list[Cell]] = {}
        threads = {model.name: model.name if model.remote else "" for model in self.models}
        for cell in self.missing():
            shares.setdefault(threads[cell[1]], []).append(cell)
        return list(shares.values())

    def _work(self, cells: list[Cell], events: Events, stop: threading.Event) -> None:
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

    def _answer(self, cell: Cell, events: Events, stop: threading.Event) -> GridAnswer:
        question = next(question for question in self.questions if question.name == cell[0])
        model = next(model for model in self.models if model.name == cell[1])
        seed = answer_seed(self.options.seed, *cell)
        options = Options(self.options.max_tokens, self.options.temperature, self.options.top_p, seed)

        def show(piece: str) -> None:
            if stop.is_set():
                raise _Stopped
            events.put(GridEvent(*cell, piece=piece))

        for attempt in range(1, STREAM_ATTEMPTS + 1):
            events.put(GridEvent(*cell))
            try:
                reply = self._opened[model.name].chat(question.messages(), options, show)
                break
            except BrokenStream:
                if attempt == STREAM_ATTEMPTS:
                    raise
        fault = question.fault(reply.text)
        passed = not fault if question.checks else None
        return GridAnswer(
            *cell,
            seed,
            reply.text,
            reply.finish,
            reply.prompt_tokens,
            reply.tokens,
            round(reply.seconds, 4),
            model.cost(reply),
            passed,
            fault,
        )


def answer_seed(seed: int, question: str, model: str, repeat: int) -> int:
    """The seed of one answer: another for every question, model and repeat, of 31 bits, which every server takes."""
    return int.from_bytes(digest([seed, question, model, repeat])) & (2**31 - 1)


def digest(asked: Any) -> bytes:
    """What distinguishes what is asked from anything else."""
    return hashlib.blake2b(json.dumps(asked).encode(), digest_size=4).digest()
