"""The engine: rows of tokens that grow one token a step, each with options of its own. Knows nothing about text.

Rows may join and leave between two steps. The tokens of a row depend on its prompt, options and random numbers only, not on
the other rows.

On CUDA, where `RecordedSteps` choose the tokens, the engine launches a step before it reads the tokens of the one before, so
that the device does not wait for it. A row that is removed then has one token too many, which is dropped.

Axes: B rows, V vocabulary.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from glasshouse.generation.incremental_decoder import IncrementalDecoder, PrefixCache
from glasshouse.generation.recorded_steps import Row, tokens_of
from glasshouse.generation.sampling import SamplingRows, draw, within_vocabulary
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.token_constraint import TokenConstraint
from glasshouse.specs.errors import GlasshouseError

# The logits of a prompt are formed for so many tokens at a time: those of a long one with a large vocabulary need gigabytes.
TOKENS_AT_A_TIME = 512


class SampledToken(NamedTuple):
    """A sampled token with its log-probability, and the most likely tokens with theirs.

    Log-probabilities are those before the constraint, penalties, temperature and filters.
    """

    token: int
    log_probability: float
    alternatives: tuple[tuple[int, float], ...] = ()

    @property
    def probability(self) -> float:
        return math.exp(self.log_probability)


class GenerationEngine:
    """Generates for many rows at once.

    Token ids from `vocabulary` on are never sampled. `chunk` is the number of prompt tokens that one step reads at most, by
    default all. `raw` reports log-probabilities before the bias instead of after it. `recorded` and
    `most_rows`: see `IncrementalDecoder`.
    """

    def __init__(
        self,
        model: Any,
        context: int,
        vocabulary: int | None = None,
        cached: bool = True,
        chunk: int | None = None,
        raw: bool = False,
        prefixes: PrefixCache | None = None,
        recorded: bool | None = None,
        most_rows: int = 0,
    ) -> None:
        self.context, self.vocabulary, self.chunk, self.raw, self.most_rows = context, vocabulary, chunk, raw, most_rows
        self.rows: list[Row] = []
        self._decoder = IncrementalDecoder(model, [], context, cached, prefixes, vocabulary, recorded, most_rows)
        # Steps whose tokens have not been read: rows, results, and the event after which these are there.
        self._launched: deque[tuple[list[Row], Tensor, torch.cuda.Event | None]] = deque()
        self._loaded = False  # whether the recorded steps have the rows of this moment
        self._options: SamplingRows | None = None

    def add_all(
        self,
        prompts: Sequence[Sequence[int]],
        sampling: Sampling,
        numbers: Sequence[int] | None = None,
        alternatives: int = 0,
        bias: Mapping[int, float] | None = None,
        constraint: TokenConstraint | None = None,
    ) -> list[Row]:
        """Add rows, which take part from the next step on.

        With a model that has sources, prompt i belongs to source i, and no rows can be added later.
        """
        self._decoder.add_all([list(prompt) for prompt in prompts])
        added = [
            Row(tokens, sampling, number, alternatives, bias or {}, prompt_length=len(tokens))
            for tokens, number in zip(self._decoder.tokens[len(self.rows) :], numbers or range(len(prompts)), strict=True)
        ]
        if constraint is not None:
            for row in added:
                row.constraint = constraint.start()
        self.rows += added
        self._loaded = False
        return added

    def warm_up(self) -> None:
        """Record the steps for all numbers of rows up to `most_rows`, so that no text has to wait for it later."""
        for power in range(self.most_rows.bit_length() if self._decoder.recorded else 0):
            rows = self.add_all([[0]] * 2**power, Sampling())
            for _ in range(4):
                self.step()
            for row in reversed(rows):
                self.remove(row)

    def remove(self, row: Row) -> None:
        index = self.rows.index(row)
        self._decoder.remove(index)
        last = self.rows.pop()
        if last is not row:
            self.rows[index] = last
        if self._loaded and self._decoder.steps is not None:
            self._decoder.steps.move(len(self.rows), index)
        if not self.rows:
            # The memory of the largest batch so far. Recorded steps stay: making them takes longer than a short text.
            if self._decoder.steps is None or not self._decoder.accepts_rows:
                self._decoder.clear()
            self._launched.clear()

    @torch.inference_mode()
    def step(self) -> list[tuple[Row, SampledToken]]:
        """Sample the next token of each row whose prompt has been read."""
        if self._launched:
            if self._loaded:
                self._launch()
            sampled = self._collect()
            if sampled:
                return sampled
        steps = self._decoder.steps
        if steps is not None and not steps.samples:
            steps = None
        if steps is not None and all(map(_is_plain, self.rows)) and set(self._decoder.unread()) == {1}:
            steps.load(self.rows, self._decoder.read_tokens)
            self._loaded = True
            self._launch()
            self._launch()
            return self._collect()
        self._loaded = False
        indices, logits = self._decoder.read(self.chunk)
        rows = [self.rows[index] for index in indices]
        if not rows:
            return []
        if steps is not None and all(map(_is_plain, rows)):
            choices = list(map(SampledToken, *steps.choose(logits, rows)))
        else:
            choices = self._choose_plainly(logits, rows)
        for index, row, choice in zip(indices, rows, choices, strict=True):
            if math.isnan(choice.log_probability):
                row.failed = GlasshouseError("the logits of this model are NaN here; use --dtype float32, or another model")
            if row.step == 0:
                self._decoder.keep_prefix(index)
            self._decoder.append(index, choice.token)
            row.step += 1
            if row.constraint is not None and row.failed is None:
                try:
                    row.constraint.advance(choice.token)
                except GlasshouseError as error:
                    row.failed = error
        return list(zip(rows, choices, strict=True))

    def _choose_plainly(self, logits: Tensor, rows: list[Row]) -> list[SampledToken]:
        """Choose with all options, by plain operations."""
        before_bias = logits = within_vocabulary(logits, self.vocabulary)
        if any(row.bias for row in rows):
            logits = _biased(logits, rows)
        tokens = self._choose(_constrained(logits, rows), rows)
        log_probabilities = (before_bias if self.raw else logits).log_softmax(-1)[:, : self.vocabulary]
        return report_tokens(log_probabilities, tokens, [row.alternatives for row in rows])

    def _launch(self) -> None:
        """Launch a step, if there is room for its tokens in the windows of all rows."""
        steps = self._decoder.next_step()
        if steps is None:
            self._loaded = False
            return
        self._launched.append((list(self.rows), *steps.launch(len(self.rows))))

    def _collect(self) -> list[tuple[Row, SampledToken]]:
        """The tokens of the earliest step that was launched, for the rows that are still there."""
        rows, results, event = self._launched.popleft()
        if event is not None:
            event.synchronize()
        tokens, log_probabilities = tokens_of(results)
        places = {row: index for index, row in enumerate(self.rows)}
        sampled = []
        for row, token, log_probability in zip(rows, tokens, log_probabilities, strict=True):
            index = places.get(row)
            if index is not None:
                self._decoder.append(index, token)
                row.step += 1
                sampled.append((row, SampledToken(token, log_probability)))
        return sampled

    def _choose(self, logits_BV: Tensor, rows: list[Row]) -> Tensor:
        samplings = [row.sampling for row in rows]
        if self._options is None or self._options.rows != samplings:
            self._options = SamplingRows(samplings, logits_BV.device)
        options = self._options
        seen = counts = None
        if options.any_repetition:
            windows = [row.tokens[-self.context :] for row in rows]
            seen = _count_tokens(windows, logits_BV) > 0
        if options.any_count:
            counts = _count_tokens([row.generated for row in rows], logits_BV)
        logits = options.penalised(logits_BV, seen, counts)
        if options.all_greedy:
            return logits.argmax(-1)
        candidates = options.candidates(logits)
        probabilities = options.distribution(logits if candidates is None else logits.gather(-1, candidates))
        numbers, steps = torch.tensor([[row.number for row in rows], [row.step for row in rows]], device=logits_BV.device)
        drawn = draw(probabilities, options.seeds, numbers, steps)
        return drawn if candidates is None else candidates.gather(-1, drawn[:, None])[:, 0]


def _is_plain(row: Row) -> bool:
    """Whether the recorded steps know all options of this row."""
    sampling = row.sampling
    penalised = sampling.repetition_penalty != 1 or sampling.presence_penalty or sampling.frequency_penalty
    return not (row.alternatives or row.bias or row.constraint or penalised)


def _biased(logits_BV: Tensor, rows: list[Row]) -> Tensor:
    """The logits with the bias of each row added."""
    entries = [(index, token, value) for index, row in enumerate(rows) for token, value in row.bias.items()]
    where = torch.tensor([entry[:2] for entry in entries], device=logits_BV.device)
    values = torch.tensor([entry[2] for entry in entries], device=logits_BV.device)
    return logits_BV.index_put((where[:, 0], where[:, 1]), values, accumulate=True)


def _constrained(logits_BV: Tensor, rows: list[Row]) -> Tensor:
    """The logits, with minus infinity for the tokens that the constraint of a row does not allow."""
    if not any(row.constraint for row in rows):
        return logits_BV
    allowed = torch.ones(logits_BV.shape, dtype=torch.bool)
    for index, row in enumerate(rows):
        if row.constraint is not None:
            allowed[index] = False
            allowed[index, : len(row.constraint.allowed)] = row.constraint.allowed
    return logits_BV.masked_fill(~allowed.to(logits_BV.device), float("-inf"))


def _count_tokens(texts: list[list[int]], logits_BV: Tensor) -> Tensor:
    """How often each token (B, V) is in each text."""
    counts = torch.zeros_like(logits_BV)
    for row, tokens in enumerate(texts):
        index = torch.tensor(tokens, dtype=torch.long, device=counts.device)
        counts[row].index_add_(0, index, torch.ones_like(index, dtype=counts.dtype))
    return counts


def report_tokens(log_probabilities_BV: Tensor, tokens_B: Tensor, alternatives: list[int]) -> list[SampledToken]:
    """The tokens of a step with their log-probabilities, and so many of the most likely tokens for each row."""
    chosen = log_probabilities_BV.gather(-1, tokens_B[:, None])[:, 0].tolist()
    most = min(max(alternatives), log_probabilities_BV.shape[-1])
    top = log_probabilities_BV.topk(most, dim=-1)
    rows = zip(tokens_B.tolist(), chosen, top.indices.tolist(), top.values.tolist(), alternatives, strict=True)
    return [
        SampledToken(token, value, tuple(zip(indices[:count], values[:count], strict=True)))
        for token, value, indices, values, count in rows
    ]


@torch.inference_mode()
def prompt_scores(
    model: Any, prompts: list[list[int]], alternatives: int = 0, vocabulary: int | None = None
) -> list[list[SampledToken | None]]:
    """For each prompt its tokens with their log-probabilities; None for the first, which nothing precedes."""
    scores = []
    for prompt in prompts:
        tokens = torch.tensor(prompt, device=next(model.parameters()).device)
        features = model.features(tokens[None])[0]
        row: list[SampledToken | None] = [None]
        for begin in range(0, len(prompt) - 1, TOKENS_AT_A_TIME):
            following = tokens[begin + 1 : begin + TOKENS_AT_A_TIME + 1]
            logits = model.project(features[begin : begin + len(following)][None])[0].float()[:, :vocabulary]
            row += report_tokens(logits.log_softmax(-1), following, [alternatives] * len(following))
        scores.append(row)
    return scores
