"""A rollout: rows of tokens that grow one token at a time by sampling from a model. Knows nothing about text.

Axes: B rows, V vocabulary.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse.generation.incremental_decoder import IncrementalDecoder
from glasshouse.generation.sampling import Sampling, distribution, draw
from glasshouse.generation.token_constraint import TokenConstraint


@dataclass(frozen=True)
class SampledToken:
    """A sampled token and its probability, and the most likely tokens with theirs.

    Probabilities are those of the model: before constraint, temperature and filters.
    """

    token: int
    probability: float
    alternatives: tuple[tuple[int, float], ...]


class Rollout:
    """Extends prompts (lists of token ids of any length above zero) by one token per `advance`.

    `rows` are the numbers from which the random draws of each prompt are derived; by default 0, 1, 2, ... Token ids from
    `vocabulary` on are never sampled. A `constraint` restricts the tokens after the prompt; stop a row that is `finished`.
    """

    def __init__(
        self,
        model: Any,
        prompts: list[list[int]],
        sampling: Sampling,
        context: int,
        cached: bool = True,
        alternatives: int = 0,
        rows: list[int] | None = None,
        vocabulary: int | None = None,
        constraint: TokenConstraint | None = None,
    ) -> None:
        self.decoder = IncrementalDecoder(model, prompts, context, cached)
        self.sampling, self.alternatives, self.vocabulary = sampling, alternatives, vocabulary
        self.row_numbers = np.array(rows if rows is not None else range(len(prompts)), dtype=np.int64)
        self.active = [True] * len(prompts)
        self.constraint = constraint
        self.states = [constraint.start()] * len(prompts) if constraint else []
        self.step = 0

    @property
    def tokens(self) -> list[list[int]]:
        """The tokens of each row so far, with its prompt."""
        return self.decoder.tokens

    def stop(self, row: int) -> None:
        """Stop extending this row."""
        self.active[row] = False

    def finished(self, row: int) -> bool:
        """Whether the text of this row has the form of the constraint and nothing can follow."""
        return self.constraint is not None and self.constraint.finished(self.states[row])

    @torch.inference_mode()
    def advance(self) -> list[SampledToken | None]:
        """Sample the next token of each active row; None for a row that has stopped."""
        logits = self.decoder.logits().float()
        if self.vocabulary is not None and self.vocabulary < logits.shape[-1]:
            logits[:, self.vocabulary :] = float("-inf")
        filtered = distribution(self._constrained(logits), self.sampling, self._seen(logits))
        if self.sampling.temperature == 0:
            tokens = filtered.argmax(-1)
        else:
            tokens = draw(filtered, self.sampling, self.row_numbers, self.step)
        unfiltered = logits.softmax(-1)
        probability = unfiltered.gather(-1, tokens[:, None])[:, 0].tolist()
        top = unfiltered.topk(min(self.alternatives, unfiltered.shape[-1]), dim=-1) if self.alternatives else None
        sampled_tokens: list[SampledToken | None] = []
        for row, token in enumerate(tokens.tolist()):
            if not self.active[row]:
                sampled_tokens.append(None)
                continue
            alternatives = zip(top.indices[row].tolist(), top.values[row].tolist(), strict=True) if top else ()
            sampled_tokens.append(SampledToken(token, probability[row], tuple(alternatives)))
            self.decoder.append(row, token)
            if self.constraint:
                self.states[row] = self.constraint.advance(self.states[row], token)
        self.step += 1
        return sampled_tokens

    def _constrained(self, logits_BV: Tensor) -> Tensor:
        """The logits, with those of the tokens that the constraint does not allow at minus infinity."""
        if self.constraint is None:
            return logits_BV
        allowed = torch.zeros(logits_BV.shape, dtype=torch.bool)
        for row, state in enumerate(self.states):
            # A row that has stopped is not sampled from, but its distribution must exist.
            mask = self.constraint.allowed(state) if self.active[row] else torch.tensor(True)
            allowed[row, : self.constraint.vocabulary] = mask
        return logits_BV.masked_fill(~allowed.to(logits_BV.device), float("-inf"))

    def _seen(self, logits_BV: Tensor) -> Tensor | None:
        """Which tokens are in the window of each row, for the repetition penalty."""
        if self.sampling.repetition_penalty == 1.0:
            return None
        seen = torch.zeros_like(logits_BV, dtype=torch.bool)
        for row, (tokens, start) in enumerate(zip(self.decoder.tokens, self.decoder.starts, strict=True)):
            seen[row, torch.tensor(tokens[start:], device=seen.device)] = True
        return seen
