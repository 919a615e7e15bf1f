"""The batcher: one thread per model that generates for all requests at once.

Requests wait in a queue until there is room for their rows. Between two steps rows join and leave, so that a short request
does not wait for a long one. Knows nothing about HTTP.
"""

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from glasshouse.generation.engine import GenerationEngine, SampledToken, prompt_scores
from glasshouse.generation.incremental_decoder import PrefixCache
from glasshouse.generation.recorded_steps import Row
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.text_stream import StreamDecoder
from glasshouse.generation.token_constraint import TokenConstraint
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError

# Prompt tokens that one step reads at most, so that a long prompt does not keep running texts waiting.
CHUNK = 256


class QueueFull(GlasshouseError):
    """There is no room for another request."""

    def __init__(self, waiting: int) -> None:
        super().__init__(f"{waiting} requests are waiting already; try again later")


class TimeLimit(GlasshouseError):
    """A request took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the request took longer than {seconds:g} s; ask for fewer tokens")


class ServerStops(GlasshouseError):
    """The server is being stopped."""


@dataclass(frozen=True)
class Piece:
    """New text of one choice and the tokens that it is made of. `finish` says why the choice has ended, if it has.

    `end` is the end token, if one was sampled. It is no part of the text.
    """

    choice: int
    text: str
    tokens: tuple[SampledToken, ...]
    finish: str | None = None
    end: SampledToken | None = None


@dataclass(frozen=True)
class PromptScores:
    """The log-probabilities of the tokens of each prompt: None for the first token, which nothing precedes."""

    scores: list[list[SampledToken | None]]


Event = PromptScores | Piece | Exception


@dataclass(eq=False)
class TextJob:
    """A request for texts: every prompt is continued `choices` times. `deliver` is called with each event in turn.

    The events are `PromptScores` if `score_prompts` is set, then `Piece`s, and an exception if the job fails. After a piece
    with `finish` for each choice the job is over. `deliver` is called by the thread of the batcher. The job fails
    `seconds` after it was submitted.
    """

    prompts: list[list[int]]
    sampling: Sampling
    max_tokens: int
    choices: int = 1
    stop: Sequence[str] = ()
    alternatives: int = 0
    bias: Mapping[int, float] = field(default_factory=dict)
    constraint: TokenConstraint | None = None
    score_prompts: bool = False
    seconds: float = float("inf")
    deliver: Callable[[Event], None] = field(init=False)
    deadline: float = field(init=False)

    @property
    def rows(self) -> int:
        return len(self.prompts) * self.choices if self.max_tokens else 0

    def check(self) -> None:
        """Refuse to go on with a job that took too long, or that was cancelled."""
        if time.monotonic() > self.deadline:
            raise TimeLimit(self.seconds)


@dataclass
class _Choice:
    """A row of a job, and its tokens whose text is held back."""

    job: TextJob
    number: int
    decoder: StreamDecoder
    waiting: list[SampledToken] = field(default_factory=list)


class Batcher:
    """Generates with one run. `most_rows` texts grow at the same time; `most_waiting` jobs wait for their turn.

    `threads` is the number of CPU threads; 0 leaves torch's choice.
    """

    def __init__(self, run: Run, most_rows: int = 32, most_waiting: int = 256, raw: bool = False, threads: int = 0) -> None:
        self.run, self.most_rows, self.most_waiting = run, most_rows, most_waiting
        self.prefixes = PrefixCache()
        self.steps = 0
        end = run.tokenizer.end_of_text
        self._end_tokens = run.end_tokens or (set() if end is None else {end})
        self._raw, self._threads = raw, threads
        self._engine = self._new_engine()
        self._waiting: deque[TextJob] = deque()
        self._choices: dict[Row, _Choice] = {}
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name=f"batcher {run.name}", daemon=True)
        self._thread.start()

    @property
    def active(self) -> int:
        """The number of texts that grow at the moment."""
        return len(self._choices)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def submit(self, job: TextJob, deliver: Callable[[Event], None]) -> None:
        """Queue a job. Raises QueueFull if too many are waiting."""
        job.deliver, job.deadline = deliver, time.monotonic() + job.seconds
        with self._changed:
            if self._stopping:
                raise ServerStops("the server is being stopped; ask another one")
            if len(self._waiting) >= self.most_waiting:
                raise QueueFull(len(self._waiting))
            self._waiting.append(job)
            self._changed.notify()

    def cancel(self, job: TextJob) -> None:
        """Forget a job. Its rows leave before the next step."""
        with self._changed:
            job.deadline = 0.0
            if job in self._waiting:
                self._waiting.remove(job)
            self._changed.notify()

    def stop(self, seconds: float) -> None:
        """Take no more jobs, finish those that are there, and end the thread, after `seconds` at the latest."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(seconds)

    def _new_engine(self) -> GenerationEngine:
        model, context, vocabulary = self.run.model, self.run.spec.data.context, self.run.tokenizer.vocabulary
        options = (model.keeps_cache, CHUNK, self._raw, self.prefixes)
        return GenerationEngine(model, context, vocabulary, *options, most_rows=self.most_rows)

    def _work(self) -> None:
        if self._threads:
            torch.set_num_threads(self._threads)
        try:
            self._engine.warm_up()
        except Exception as error:  # the first request will fail in the same way, and say why
            self._fail_all(error)
        while True:
            with self._changed:
                while not (self._waiting or self._choices or self._stopping):
                    self._changed.wait()
                if self._stopping and not (self._waiting or self._choices):
                    return
                starting = self._take()
            for job in starting:
                self._start(job)
            self._drop()
            if self._engine.rows:
                try:
                    self._step()
                except Exception as error:  # one broken step must not end the server
                    self._fail_all(error)

    def _take(self) -> list[TextJob]:
        taken, rows = [], len(self._choices)
        while self._waiting and (rows == 0 or rows + self._waiting[0].rows <= self.most_rows):
            job = self._waiting.popleft()
            taken.append(job)
            rows += job.rows
            if job.score_prompts:  # reads whole prompts: other texts take a step before the next
                break
        return taken

    def _start(self, job: TextJob) -> None:
        try:
            job.check()
            if job.score_prompts:
                scores: list[list[SampledToken | None]] = []
                for prompt in job.prompts:
                    job.check()
                    scores += prompt_scores(self.run.model, [prompt], job.alternatives, self.run.tokenizer.vocabulary)
                job.deliver(PromptScores(scores))
            if not job.max_tokens:
                for choice in range(len(job.prompts) * job.choices):
                    job.deliver(Piece(choice, "", (), "length"))
                return
            numbers = itertools.count()
            for prompt in job.prompts:
                for choice in range(job.choices):
                    # A text depends on the prompt, the options, the seed and the number of the choice, on nothing else.
                    [row] = self._engine.add_all(
                        [prompt], job.sampling, [choice], job.alternatives, job.bias, job.constraint
                    )
                    decoder = StreamDecoder(self.run.tokenizer, job.stop, self._end_tokens, job.max_tokens)
                    self._choices[row] = _Choice(job, next(numbers), decoder)
                    if row.finished:  # the constraint allows the empty text only
                        self._leave(row, Piece(self._choices[row].number, "", (), "end"))
        except GlasshouseError as error:
            self._fail(job, error)
        except Exception as error:  # such as too little memory: the state of the engine is not known
            job.deliver(error)
            self._fail_all(error)

    def _drop(self) -> None:
        """Remove the rows of jobs that were cancelled or took too long."""
        for job in {choice.job for choice in self._choices.values()}:
            try:
                job.check()
            except TimeLimit as error:
                self._fail(job, error)

    def _step(self) -> None:
        for row, sampled in self._engine.step():
            choice = self._choices.get(row)
            if choice is None:  # another choice of its job has failed
                continue
            try:
                if row.failed is not None:
                    raise row.failed
                text, finish = choice.decoder.add(sampled.token, row.finished)
            except GlasshouseError as error:
                self._fail(choice.job, error)
                continue
            ended = sampled.token in self._end_tokens
            if not ended:
                choice.waiting.append(sampled)
            if not (text or finish):
                continue
            piece = Piece(choice.number, text, tuple(choice.waiting), finish, sampled if ended else None)
            choice.waiting.clear()
            if finish:
                self._leave(row, piece)
            else:
                choice.job.deliver(piece)
        self.steps += 1

    def _leave(self, row: Row, last: Piece) -> None:
        self._engine.remove(row)
        self._choices.pop(row).job.deliver(last)

    def _fail(self, job: TextJob, error: Exception) -> None:
        for row in [row for row, choice in self._choices.items() if choice.job is job]:
            self._engine.remove(row)
            del self._choices[row]
        job.deliver(error)

    def _fail_all(self, error: Exception) -> None:
        jobs = {choice.job for choice in self._choices.values()}
        self._choices.clear()
        self._engine = self._new_engine()
        for job in jobs:
            job.deliver(error)
