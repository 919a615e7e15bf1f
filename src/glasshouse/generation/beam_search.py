"""Beam search: finds the most likely continuations of each prompt up to an end token.

With one beam it is greedy decoding. Axes: B prompts, K beams, V vocabulary.
"""

import math
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
            if not minimum <= value < math.inf:
                raise GlasshouseError(f"is out of range; choose {minimum} or more", name, value)


@dataclass
class _PromptSearch:
    """The search for one prompt: its beams are rows from `first_row` on. At most as many hypotheses as beams are kept."""

    options: BeamOptions
    end_tokens: Collection[int]
    first_row: int
    prompt_length: int
    finished: list[Hypothesis] = field(default_factory=list)
    done: bool = False

    def finish(self, tokens: list[int], log_probability: float, ended: bool) -> None:
        """Keep the hypothesis of a row, if it is among the best. The length in its score includes the end token."""
        tokens = tokens[self.prompt_length :]
        score = log_probability / (len(tokens) + ended) ** self.options.length_penalty
        self.finished.append(Hypothesis(tuple(tokens), log_probability, score, ended))
        self.finished.sort(key=lambda hypothesis: -hypothesis.score)
        del self.finished[self.options.count :]

    def split(self, decoder: IncrementalDecoder, candidates: list[tuple[float, int, int]]) -> list[tuple[int, int, float]]:
        """Finish the candidates (total, beam, token) that end. Return row, token and total of the best that continue."""
        beams = self.options.count
        continued: list[tuple[int, int, float]] = []
        for rank, (total, beam, token) in enumerate(candidates):
            row = self.first_row + beam
            if token in self.end_tokens:
                # A candidate that ranks below the beams is dropped, as it would be if it continued.
                if rank < beams and not self.done and total > -math.inf:
                    self.finish(decoder.tokens[row], total, ended=True)
            elif len(continued) < beams:
                continued.append((row, token, total))
        return continued + [(self.first_row, 0, -math.inf)] * (beams - len(continued))

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
    ends = set(end_tokens)
    searches = [_PromptSearch(options, ends, row * beams, len(prompt)) for row, prompt in enumerate(prompts)]
    # (B, V): all beams of a prompt start from the same row.
    log_probabilities = within_vocabulary(decoder.logits(), vocabulary).log_softmax(-1)
    decoder.rearrange([row for row in range(batch) for _ in range(beams)])
    totals_BK = torch.full((batch, beams), -math.inf, device=log_probabilities.device)
    totals_BK[:, 0] = 0.0
    log_probabilities = log_probabilities.repeat_interleave(beams, 0)
    for step in range(1, options.max_tokens + 1):
        candidates = totals_BK[..., None] + log_probabilities.unflatten(0, (batch, beams))
        size = candidates.shape[-1]
        # Each beam has one candidate per end token. With this many candidates at least `beams` of them continue.
        values, indices = candidates.flatten(1).topk(min(beams * (1 + len(end_tokens)), beams * size), dim=-1)
        continued: list[tuple[int, int, float]] = []
        for each, best, places in zip(searches, values.tolist(), indices.tolist(), strict=True):
            continued += each.split(
                decoder, [(total, *divmod(place, size)) for total, place in zip(best, places, strict=True)]
            )
        decoder.rearrange([row for row, _, _ in continued], same_sources=True)
        for row, (_, token, _) in enumerate(continued):
            decoder.append(row, token)
        totals_BK = torch.tensor([total for _, _, total in continued], device=totals_BK.device).view(batch, beams)
        for each in searches:
            each.update_done(continued[each.first_row][2], step)
        if step == options.max_tokens or all(each.done for each in searches):
            break
        log_probabilities = within_vocabulary(decoder.logits(), vocabulary).log_softmax(-1)
    for each, totals in zip(searches, totals_BK.tolist(), strict=True):
        for beam, total in enumerate(totals if not each.done else ()):
            if total > -math.inf:
                each.finish(decoder.tokens[each.first_row + beam], total, ended=False)
    return [each.finished for each in searches]
