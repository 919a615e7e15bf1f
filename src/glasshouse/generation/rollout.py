"""A rollout: rows of tokens extended one at a time by drawing from a model. Knows no text."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse.generation.incremental_decoder import IncrementalDecoder
from glasshouse.generation.sampling import Sampling, distribution, draw


@dataclass(frozen=True)
class Choice:
    """A token chosen: its probability as the model gave it (before temperature and filters), and the likeliest ones."""

    token: int
    probability: float
    alternatives: tuple[tuple[int, float], ...]


class Rollout:
    """Extends prompts (lists of token ids, of any lengths above zero) by one token per `advance`."""

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
    ) -> None:
        self.reader = IncrementalDecoder(model, prompts, context, cached)
        self.sampling, self.alternatives, self.vocabulary = sampling, alternatives, vocabulary
        self.numbers = np.array(rows if rows is not None else range(len(prompts)), dtype=np.int64)
        self.active = [True] * len(prompts)
        self.step = 0

    @property
    def tokens(self) -> list[list[int]]:
        """Every row so far, its prompt included."""
        return self.reader.tokens

    def stop(self, row: int) -> None:
        """Extend this row no further."""
        self.active[row] = False

    @torch.inference_mode()
    def advance(self) -> list[Choice | None]:
        """Choose the next token of every active row; None for the others, which are read too and change no other."""
        logits = self.reader.logits().float()
        if self.vocabulary is not None and self.vocabulary < logits.shape[-1]:
            logits[:, self.vocabulary :] = float("-inf")
        chosen = distribution(logits, self.sampling, self._seen(logits))
        if self.sampling.temperature == 0:
            tokens = chosen.argmax(-1)
        else:
            tokens = draw(chosen, self.sampling, self.numbers, self.step)
        plain = logits.softmax(-1)
        probability = plain.gather(-1, tokens[:, None])[:, 0].tolist()
        top = plain.topk(min(self.alternatives, plain.shape[-1]), dim=-1) if self.alternatives else None
        choices: list[Choice | None] = []
        for row, token in enumerate(tokens.tolist()):
            if not self.active[row]:
                choices.append(None)
                continue
            others = zip(top.indices[row].tolist(), top.values[row].tolist(), strict=True) if top else ()
            choices.append(Choice(token, probability[row], tuple(others)))
            self.reader.append(row, token)
        self.step += 1
        return choices

    def _seen(self, logits_BV: Tensor) -> Tensor | None:
        if self.sampling.repetition_penalty == 1.0:
            return None
        seen = torch.zeros_like(logits_BV, dtype=torch.bool)
        for row, (tokens, start) in enumerate(zip(self.reader.tokens, self.reader.starts, strict=True)):
            seen[row, torch.tensor(tokens[start:], device=seen.device)] = True
        return seen
