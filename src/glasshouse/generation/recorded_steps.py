"""Recorded steps: the model's step on the last token of each row, as CUDA graphs that one call replays.

A step launches hundreds of small kernels, and launching them from Python takes longer than running them. A recording is made
for each number of rows, rounded up, and used while the cache stays in its place. `logits` leaves the choice of the token to
the caller. `launch` chooses it on the device too and makes it the input of the next step, so that the next step can be
launched before the tokens of this one have been read. On a CPU the same steps run directly, for tests.

Axes: B rows, V vocabulary.
"""

import contextlib
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.generation import sampling_kernel
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.token_constraint import ConstrainedText
from glasshouse.models.decoder import Decoder
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.parts.cache import Cache, Memory
from glasshouse.specs.errors import GlasshouseError

# Steps whose results may be on their way at the same time: one that is read, one that runs.
MOST_LAUNCHES = 2
# Larger batches are rounded up to a multiple of this, smaller ones to a power of two.
ROWS_MULTIPLE = 64
# The logits of a row start at a multiple of so many elements. Otherwise cuBLAS takes kernels that are four times slower.
ALIGNMENT = 64


@dataclass(eq=False)
class Row:
    """A text that is being generated. `tokens` begins with the prompt.

    number: together with the seed it determines the random numbers, so that rows with the same prompt differ.
    alternatives: how many of the most likely tokens are reported at each step.
    bias: what is added to the logits of some tokens.
    constraint: the form that the generated text must have, and how far it has come.
    """

    tokens: list[int]
    sampling: Sampling
    number: int = 0
    alternatives: int = 0
    bias: Mapping[int, float] = field(default_factory=dict)
    constraint: ConstrainedText | None = None
    prompt_length: int = 0
    step: int = 0
    failed: GlasshouseError | None = None  # why the text cannot go on: the row must be removed

    @property
    def generated(self) -> list[int]:
        return self.tokens[self.prompt_length :]

    @property
    def finished(self) -> bool:
        """Whether the text has the form of the constraint and nothing can follow: the row must be removed."""
        return self.constraint is not None and self.constraint.finished


class RecordedSteps:
    """Steps of a model for at most `rows` rows. Tokens from `vocabulary` on are never sampled."""

    def __init__(self, model: Any, rows: int, vocabulary: int | None, device: torch.device) -> None:
        self.model, self.rows, self.vocabulary, self.device = model, rows, vocabulary, device
        # The inputs of a step: token, position, seed, number, step, and 1 for rows in use. The others are padding.
        self._state = torch.zeros(6, rows, dtype=torch.long, device=device)
        self._options = torch.zeros(4, rows, device=device)  # temperature, top_k, top_p, min_p
        self._results = torch.zeros(2, rows, dtype=torch.float64, device=device)  # token, log-probability
        self._flags = (False, False, False)  # whether any row uses top_k, top_p, min_p
        self._cache: Cache | None = None
        self._memory: Memory | None = None
        self._replays: dict[Hashable, Callable[[], Tensor | None]] = {}
        self._seen: set[Hashable] = set()
        self._on_cuda = self._recordable = device.type == "cuda"
        self._head = _aligned_head(model) if self._on_cuda else None
        if self._on_cuda:
            self._pool = torch.cuda.graph_pool_handle()
            self._buffers = deque(
                (torch.zeros(2, rows, dtype=torch.float64, pin_memory=True), torch.cuda.Event())
                for _ in range(MOST_LAUNCHES)
            )

    @property
    def samples(self) -> bool:
        """Whether tokens can be chosen on this device."""
        return not self._on_cuda or sampling_kernel.usable(self.device)

    def use(self, cache: Cache) -> None:
        """Use this cache from now on. Recordings with another one are dropped."""
        if cache is self._cache and cache.memory is self._memory:
            return
        if self._on_cuda:
            torch.cuda.synchronize(self.device)
        self._replays.clear()
        self._seen.clear()
        self._cache, self._memory = cache, cache.memory

    @torch.inference_mode()
    def logits(self, tokens: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Logits (B, V) after these tokens. They are overwritten by the next step."""
        count = len(tokens)
        self._state[:2, :count] = torch.tensor([tokens, positions], device=self.device)
        self._state[:2, count:] = 0
        padded = self._padded(count)
        logits = self._run(("logits", padded), lambda: self._forward(padded))
        assert logits is not None
        return logits[:count]

    @torch.inference_mode()
    def choose(self, logits_BV: Tensor, rows: Sequence[Row]) -> tuple[list[int], list[float]]:
        """Sample a token for each row from given logits: tokens and log-probabilities."""
        zeros = [0] * len(rows)
        state = torch.tensor([zeros, zeros, *_random_words(rows), zeros], device=self.device)
        results = torch.zeros(2, len(rows), dtype=torch.float64, device=self.device)
        options, flags = _options_of(rows, self.device)
        self._sample_from(logits_BV, state, options, results, flags)
        return tokens_of(results)

    @torch.inference_mode()
    def load(self, rows: Sequence[Row], positions: Sequence[int]) -> None:
        """Set the rows of the next launches, which begin with their last tokens."""
        self._state.zero_()
        columns = [[row.tokens[-1] for row in rows], positions, *_random_words(rows), [1] * len(rows)]
        self._state[:, : len(rows)] = torch.tensor(columns, device=self.device)
        self._options[:, : len(rows)], self._flags = _options_of(rows, self.device)

    @torch.inference_mode()
    def move(self, old: int, new: int) -> None:
        """Row `old`, the last one, becomes row `new`."""
        for tensor in (self._state, self._options):
            tensor[:, new] = tensor[:, old]
        self._state[:, old] = 0

    @torch.inference_mode()
    def launch(self, count: int) -> tuple[Tensor, torch.cuda.Event | None]:
        """Take a step with the first rows. Its tokens are the input of the next one.

        Returns where the results are after the event, until the next launch but one overwrites them.
        """
        padded = self._padded(count)
        self._run(
            ("sample", padded, self._flags),
            lambda: self._sample_from(self._forward(padded), self._state, self._options, self._results, self._flags),
        )
        if not self._on_cuda:
            return self._results[:, :count].clone(), None
        buffer, event = self._buffers[0]
        self._buffers.rotate(-1)
        buffer.copy_(self._results, non_blocking=True)
        event.record()
        return buffer[:, :count], event

    def _padded(self, count: int) -> int:
        """The number of rows that a recording for `count` rows has."""
        if not self._on_cuda:
            return count
        power = 1 << (count - 1).bit_length()
        return min(power if power <= ROWS_MULTIPLE else -(-count // ROWS_MULTIPLE) * ROWS_MULTIPLE, self.rows)

    def _forward(self, rows: int) -> Tensor:
        assert self._cache is not None
        tokens, positions = self._state[0, :rows, None], self._state[1, :rows, None]
        features = self.model.features(tokens, positions, self._cache.view(slice(0, rows), self._cache.slots))
        if self._head is None:
            return self.model.project(features[:, -1])
        matrix, bias = self._head
        return F.linear(features[:, -1], matrix, bias)[:, : self.model.vocabulary]

    def _sample_from(
        self, logits: Tensor, state: Tensor, options: Tensor, results: Tensor, flags: tuple[bool, bool, bool]
    ) -> None:
        size = logits.shape[-1] if self.vocabulary is None else min(self.vocabulary, logits.shape[-1])
        sample = sampling_kernel.sample if self._on_cuda else sampling_kernel.sample_plainly
        sample(logits, state, options, results, size, *flags)

    def _run(self, key: Hashable, step: Callable[[], Tensor | None]) -> Tensor | None:
        """Take a step: directly at first, which loads kernels and workspaces, and by its recording from the second on."""
        autocast = self._on_cuda and torch.is_autocast_enabled("cuda")
        key = (key, autocast)
        if key in self._replays:
            return self._replays[key]()
        if not self._recordable or key not in self._seen:
            self._seen.add(key)
            return step()
        graph = torch.cuda.CUDAGraph()
        # Without its cache, autocast converts the weights within the graph. Cached copies would be freed.
        dtype = torch.get_autocast_dtype("cuda")
        convert = torch.autocast("cuda", dtype, cache_enabled=False) if autocast else contextlib.nullcontext()
        try:
            with convert, torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                output = step()
        except RuntimeError as error:  # a part that waits for the device
            self._recordable = False
            reason = str(error).splitlines()[0]
            warnings.warn(f"generation is slower, because a step of this model cannot be recorded: {reason}", stacklevel=2)
            return step()

        def replay() -> Tensor | None:
            graph.replay()
            return output

        self._replays[key] = replay
        return replay()


def tokens_of(results: Tensor) -> tuple[list[int], list[float]]:
    """Tokens and log-probabilities."""
    tokens, log_probabilities = results.tolist()
    return list(map(int, tokens)), log_probabilities


def _random_words(rows: Sequence[Row]) -> list[list[int]]:
    """The seeds, numbers and steps of the rows, from which their random numbers are made."""
    return [[row.sampling.seed for row in rows], [row.number for row in rows], [row.step for row in rows]]


def _options_of(rows: Sequence[Row], device: torch.device) -> tuple[Tensor, tuple[bool, bool, bool]]:
    """Temperature, top_k, top_p and min_p of the rows (4, B), and whether any row uses top_k, top_p, min_p."""
    samplings = [row.sampling for row in rows]
    top_k = [float(each.top_k) for each in samplings]
    top_p, min_p = [each.top_p for each in samplings], [each.min_p for each in samplings]
    options = torch.tensor([[each.temperature for each in samplings], top_k, top_p, min_p], device=device)
    return options, (any(top_k), min(top_p) < 1, any(min_p))


def _aligned_head(model: Any) -> tuple[Tensor, Tensor | None] | None:
    """The output matrix and its bias, padded with rows for tokens that do not exist; None if that is not needed."""
    if not isinstance(model, Decoder) or type(model.head) is not NextTokenHead or model.head.softcap:
        return None
    if not model.vocabulary % ALIGNMENT:
        return None
    matrix, bias, missing = model.head.matrix(model.embedding.weight), model.head.bias, -model.vocabulary % ALIGNMENT
    return F.pad(matrix.detach(), (0, 0, 0, missing)), None if bias is None else F.pad(bias.detach(), (0, missing))
