"""Beam search: the likeliest continuations of each prompt up to an end mark, instead of one drawn token by token.

With one beam it is greedy. Axes: B prompts, K beams, V vocabulary.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from glasshouse.generation.incremental_decoder import IncrementalDecoder
from glasshouse.specs.errors import GlasshouseError


@dataclass(frozen=True)
class Hypothesis:
    """Tokens without the end mark, and by what they are compared: log-probability / length ** length_penalty."""

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    ended: bool


@dataclass(frozen=True)
class Beams:
    """How many continuations are followed, how length is paid for, and how many tokens each may have at most."""

    count: int = 1
    length_penalty: float = 1.0
    tokens: int = 100

    def __post_init__(self) -> None:
        for name, value, least in (("beams", self.count, 1), ("length_penalty", self.length_penalty, 0)):
            if not least <= value < float("inf"):
                raise GlasshouseError("bad-option", f"{name}={value} is not possible; choose {least} or more")


@dataclass
class _Search:
    """One prompt's search: finished hypotheses, the best ones kept."""

    rules: Beams
    finished: list[Hypothesis] = field(default_factory=list)
    done: bool = False

    def finish(self, tokens: list[int], log_probability: float, ended: bool) -> None:
        # The end mark is a token too: what has it is compared by the length with it.
        score = log_probability / (len(tokens) + ended) ** self.rules.length_penalty
        self.finished.append(Hypothesis(tuple(tokens), log_probability, score, ended))
        self.finished.sort(key=lambda each: -each.score)
        del self.finished[self.rules.count :]

    def settle(self, best_running: float, length: int) -> None:
        """Done once there are enough and no running beam, were it to end here, would be better than the worst of them."""
        enough = len(self.finished) == self.rules.count
        self.done = self.done or (enough and best_running / length**self.rules.length_penalty <= self.finished[-1].score)


@torch.inference_mode()
def search(
    model: Any,
    prompts: list[list[int]],
    rules: Beams,
    ends: Collection[int],
    context: int,
    vocabulary: int | None = None,
    cached: bool = True,
) -> list[list[Hypothesis]]:
    """The best continuations of each prompt, best first. A row of the model belongs to each prompt."""
    reader = IncrementalDecoder(model, prompts, context, cached)
    beams, batch = rules.count, len(prompts)
    searches = [_Search(rules) for _ in prompts]
    lengths = [len(prompt) for prompt in prompts]
    log_probabilities = _log_probabilities(reader, vocabulary)  # (B, V): all beams of a prompt begin alike
    reader.rearrange([row for row in range(batch) for _ in range(beams)])
    totals_BK = torch.full((batch, beams), float("-inf"), device=log_probabilities.device)
    totals_BK[:, 0] = 0.0
    log_probabilities = log_probabilities.repeat_interleave(beams, 0)
    for step in range(1, rules.tokens + 1):
        candidates = totals_BK[..., None] + log_probabilities.unflatten(0, (batch, beams))
        size = candidates.shape[-1]
        # Each beam may end in one way, so that twice as many candidates always hold enough that go on.
        values, places = candidates.flatten(1).topk(min(beams * (1 + len(ends)), beams * size), dim=-1)
        rows, tokens, totals = _divide(reader, searches, values.tolist(), places.tolist(), size, set(ends), lengths)
        reader.rearrange(rows, same_sources=True)
        for row, token in enumerate(tokens):
            reader.append(row, token)
        totals_BK = torch.tensor(totals, device=totals_BK.device).view(batch, beams)
        for index, each in enumerate(searches):
            each.settle(totals[index * beams], step)
        if step == rules.tokens or all(each.done for each in searches):
            break
        log_probabilities = _log_probabilities(reader, vocabulary)
    for index, each in enumerate(searches):
        for beam in range(beams) if not each.done else ():
            total, row = float(totals_BK[index, beam]), index * beams + beam
            if total > float("-inf"):
                each.finish(reader.tokens[row][lengths[index] :], total, ended=False)
    return [each.finished for each in searches]


def _divide(
    reader: IncrementalDecoder,
    searches: list[_Search],
    values: list[list[float]],
    places: list[list[int]],
    size: int,
    ends: set[int],
    lengths: list[int],
) -> tuple[list[int], list[int], list[float]]:
    """Finish the candidates that end; give row, token and total of those that go on, as many for each prompt as beams."""
    rows, tokens, totals = [], [], []
    for index, each in enumerate(searches):
        beams, going = each.rules.count, 0
        for rank, (total, place) in enumerate(zip(values[index], places[index], strict=True)):
            beam, token = divmod(place, size)
            row = index * beams + beam
            if token in ends:
                # One that ends below the beams that go on would not have been followed.
                if rank < beams and not each.done and total > float("-inf"):
                    each.finish(reader.tokens[row][lengths[index] :], total, ended=True)
            elif going < beams:
                rows.append(row)
                tokens.append(token)
                totals.append(total)
                going += 1
        for _ in range(beams - going):
            rows.append(index * beams)
            tokens.append(0)
            totals.append(float("-inf"))
    return rows, tokens, totals


def _log_probabilities(reader: IncrementalDecoder, vocabulary: int | None) -> Tensor:
    """(B, V) of each row's next token; ids that the tokenizer does not have are impossible."""
    logits = reader.logits().float()
    if vocabulary is not None and vocabulary < logits.shape[-1]:
        logits[:, vocabulary:] = float("-inf")
    return logits.log_softmax(-1)
