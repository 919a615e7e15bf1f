"""Beam search: finds the most likely continuations of each prompt up to an end token.

With one beam it is greedy decoding. Axes: B prompts, K beams, V vocabulary.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import torch

from glasshouse.generation.incremental_decoder import IncrementalDecoder
from glasshouse.generation.sampling import within_vocabulary
from glasshouse.specs.errors import GlasshouseError


@dataclass(frozen=True)
class Hypothesis:
    """A continuation without its end token. Hypotheses are ranked by score = log-probability / length ** length_penalty."""

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    ended: bool


@dataclass(frozen=True)
class BeamOptions:
    """The number of beams, the exponent of the length penalty, and the maximum number of new tokens."""

    count: int = 1
    length_penalty: float = 1.0
    max_tokens: int = 100

    def __post_init__(self) -> None:
        for name, value, minimum in (("beams", self.count, 1), ("length_penalty", self.length_penalty, 0)):
            if not minimum <= value < float("inf"):
                raise GlasshouseError(f"is out of range; choose {minimum} or more", name, value)


@dataclass
class _PromptSearch:
    """The search for one prompt: its best finished hypotheses, at most as many as there are beams."""

    options: BeamOptions
    finished: list[Hypothesis] = field(default_factory=list)
    done: bool = False

    def finish(self, tokens: list[int], log_probability: float, ended: bool) -> None:
        # The length includes the end token.
        score = log_probability / (len(tokens) + ended) ** self.options.length_penalty
        self.finished.append(Hypothesis(tuple(tokens), log_probability, score, ended))
        self.finished.sort(key=lambda hypothesis: -hypothesis.score)
        del self.finished[self.options.count :]

    def update_done(self, best_running: float, length: int) -> None:
        """The search is done if it has enough hypotheses and the best running beam scores no better than the worst."""
        enough = len(self.finished) == self.options.count
        self.done = self.done or (enough and best_running / length**self.options.length_penalty <= self.finished[-1].score)


@torch.inference_mode()
def search(
    model: Any,
    prompts: list[list[int]],
    options: BeamOptions,
    end_tokens: Collection[int],
    context: int,
    vocabulary: int | None = None,
    cached: bool = True,
) -> list[list[Hypothesis]]:
    """The best continuations of each prompt, best first. Prompt i belongs to row i of the model's sources, if it has any.

    Token ids from `vocabulary` on are never chosen.
    """
    decoder = IncrementalDecoder(model, prompts, context, cached)
    beams, batch = options.count, len(prompts)
    searches = [_PromptSearch(options) for _ in prompts]
    lengths = [len(prompt) for prompt in prompts]
    # (B, V): all beams of a prompt start from the same row.
    log_probabilities = within_vocabulary(decoder.logits(), vocabulary).log_softmax(-1)
    decoder.rearrange([row for row in range(batch) for _ in range(beams)])
    totals_BK = torch.full((batch, beams), float("-inf"), device=log_probabilities.device)
    totals_BK[:, 0] = 0.0
    log_probabilities = log_probabilities.repeat_interleave(beams, 0)
    for step in range(1, options.max_tokens + 1):
        candidates = totals_BK[..., None] + log_probabilities.unflatten(0, (batch, beams))
        size = candidates.shape[-1]
        # Each beam has one candidate per end token. With this many candidates at least `beams` of them continue.
        values, indices = candidates.flatten(1).topk(min(beams * (1 + len(end_tokens)), beams * size), dim=-1)
        rows, tokens, totals = _split_candidates(
            decoder, searches, values.tolist(), indices.tolist(), size, set(end_tokens), lengths
        )
        decoder.rearrange(rows, same_sources=True)
        for row, token in enumerate(tokens):
            decoder.append(row, token)
        totals_BK = torch.tensor(totals, device=totals_BK.device).view(batch, beams)
        for index, prompt_search in enumerate(searches):
            prompt_search.update_done(totals[index * beams], step)
        if step == options.max_tokens or all(prompt_search.done for prompt_search in searches):
            break
        log_probabilities = within_vocabulary(decoder.logits(), vocabulary).log_softmax(-1)
    for index, prompt_search in enumerate(searches):
        for beam in range(beams) if not prompt_search.done else ():
            total, row = float(totals_BK[index, beam]), index * beams + beam
            if total > float("-inf"):
                prompt_search.finish(decoder.tokens[row][lengths[index] :], total, ended=False)
    return [prompt_search.finished for prompt_search in searches]


def _split_candidates(
    decoder: IncrementalDecoder,
    searches: list[_PromptSearch],
    values: list[list[float]],
    indices: list[list[int]],
    size: int,
    end_tokens: set[int],
    lengths: list[int],
) -> tuple[list[int], list[int], list[float]]:
    """Finish the candidates that end. Return row, token and total of the best that continue, `beams` for each prompt."""
    rows, tokens, totals = [], [], []
    for prompt, prompt_search in enumerate(searches):
        beams, continued = prompt_search.options.count, 0
        for rank, (total, index) in enumerate(zip(values[prompt], indices[prompt], strict=True)):
            beam, token = divmod(index, size)
            row = prompt * beams + beam
            if token in end_tokens:
                # A candidate that ranks below the beams is dropped, as it would be if it continued.
                if rank < beams and not prompt_search.done and total > float("-inf"):
                    prompt_search.finish(decoder.tokens[row][lengths[prompt] :], total, ended=True)
            elif continued < beams:
                rows.append(row)
                tokens.append(token)
                totals.append(total)
                continued += 1
        for _ in range(beams - continued):
            rows.append(prompt * beams)
            tokens.append(0)
            totals.append(float("-inf"))
    return rows, tokens, totals
