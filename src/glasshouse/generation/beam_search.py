"""Beam search: finds the most likely continuations of each prompt up to an end token.

With one beam it is greedy decoding. Axes: B prompts, K beams, V vocabulary.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
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
    hypotheses: list[list[Hypothesis]] = [[] for _ in prompts]  # at most as many as beams for each prompt
    done = [False] * batch

    def finish(prompt: int, row: int, log_probability: float, ended: bool) -> None:
        """Keep the hypothesis of a row, if it is among the best. The length in its score includes the end token."""
        tokens, found = decoder.tokens[row][len(prompts[prompt]) :], hypotheses[prompt]
        score = log_probability / (len(tokens) + ended) ** options.length_penalty
        found.append(Hypothesis(tuple(tokens), log_probability, score, ended))
        found.sort(key=lambda hypothesis: -hypothesis.score)
        del found[beams:]

    # All beams of a prompt start from the same row: the first has its probability, the others none.
    log_probabilities = within_vocabulary(decoder.logits(), vocabulary).log_softmax(-1).repeat_interleave(beams, 0)
    decoder.rearrange([row for row in range(batch) for _ in range(beams)])
    totals = ([0.0] + [-math.inf] * (beams - 1)) * batch
    for step in range(1, options.max_tokens + 1):
        candidates = torch.tensor(totals, device=log_probabilities.device)[:, None] + log_probabilities
        size = candidates.shape[-1]
        # Each beam has one candidate per end token. With this many candidates at least `beams` of them continue.
        count = min(beams * (1 + len(end_tokens)), beams * size)
        values, indices = candidates.view(batch, beams * size).topk(count, dim=-1)
        continued: list[tuple[float, int, int]] = []  # total, row, token
        for prompt, (best, places) in enumerate(zip(values.tolist(), indices.tolist(), strict=True)):
            kept: list[tuple[float, int, int]] = []
            for rank, (total, place) in enumerate(zip(best, places, strict=True)):
                row, token = prompt * beams + place // size, place % size
                if token not in end_tokens:
                    kept.append((total, row, token))
                # A candidate that ranks below the beams is dropped, as it would be if it continued.
                elif rank < beams and not done[prompt] and total > -math.inf:
                    finish(prompt, row, total, ended=True)
            kept += [(-math.inf, prompt * beams, 0)] * beams
            continued += kept[:beams]
            # A prompt is done if it has enough hypotheses and the best running beam scores no better than the worst.
            worst = hypotheses[prompt][-1].score if len(hypotheses[prompt]) == beams else -math.inf
            done[prompt] = done[prompt] or kept[0][0] / step**options.length_penalty <= worst
        totals = [total for total, _, _ in continued]
        decoder.rearrange([row for _, row, _ in continued], same_sources=True)
        for row, (_, _, token) in enumerate(continued):
            decoder.append(row, token)
        if step == options.max_tokens or all(done):
            break
        log_probabilities = within_vocabulary(decoder.logits(), vocabulary).log_softmax(-1)
    for row, total in enumerate(totals):
        if total > -math.inf and not done[row // beams]:
            finish(row // beams, row, total, ended=False)
    return hypotheses
