"""A rollout: rows of tokens extended one at a time by a model, with a key-value cache or without. Knows no text.

The context rule: a row is seen through a window of at most `context` tokens. When a row outgrows it, the window restarts
with the latest half of it. The rule is the same with and without a cache, and so are the tokens.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse.generation.sampling import Sampling, distribution, draw
from glasshouse.specs.errors import GlasshouseError


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
        if not prompts or not all(prompts):
            raise GlasshouseError("a prompt has no tokens; begin from the end-of-text mark instead")
        self.model = model.eval()
        self.device = next(model.parameters()).device
        self.sampling, self.context, self.alternatives = sampling, context, alternatives
        self.vocabulary = vocabulary
        self.tokens = [list(prompt) for prompt in prompts]
        self.starts = [max(0, len(prompt) - context) for prompt in prompts]
        self.numbers = np.array(rows if rows is not None else range(len(prompts)), dtype=np.int64)
        self.active = [True] * len(prompts)
        with torch.inference_mode():
            self.cache = model.empty_cache(len(prompts), context) if cached else None
        self.fresh = list(range(len(prompts)))
        self.step = 0

    def stop(self, row: int) -> None:
        """Extend this row no further."""
        self.active[row] = False

    @torch.inference_mode()
    def advance(self) -> list[Choice | None]:
        """Choose the next token of every active row; None for the others."""
        logits = self._logits().float()
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
            self.tokens[row].append(token)
            if len(self.tokens[row]) - self.starts[row] > self.context:
                self.starts[row] = len(self.tokens[row]) - max(self.context // 2, 1)
                self.fresh.append(row)
        self.step += 1
        return choices

    def _logits(self) -> Tensor:
        """Logits (B, V) of each row's next token."""
        if self.cache is None:
            return self._read(list(range(len(self.tokens))), None)
        logits = None
        if len(self.fresh) < len(self.tokens):
            logits = self._read_last()
        if self.fresh:
            index = torch.tensor(self.fresh, device=self.device)
            part = self.cache.rows(index)
            read = self._read(self.fresh, part)
            self.cache.put_rows(index, part)
            logits = read if logits is None else logits.index_copy(0, index, read)
            self.fresh = []
        assert logits is not None
        return logits

    def _read(self, rows: list[int], cache: Any) -> Tensor:
        """Run whole windows, padded at the right, where no later token is seen by an earlier one."""
        windows = [self.tokens[row][self.starts[row] :] for row in rows]
        longest = max(map(len, windows))
        padded = torch.tensor([window + [0] * (longest - len(window)) for window in windows], device=self.device)
        positions = torch.arange(longest, device=self.device).expand(len(rows), longest) if cache else None
        features = self.model.features(padded, positions, cache)
        last = torch.tensor([len(window) - 1 for window in windows], device=self.device)
        return self.model.project(features[torch.arange(len(rows), device=self.device), last])

    def _read_last(self) -> Tensor:
        """Run each row's last token against the cache. A stopped row is run too, and changes no other."""
        assert self.cache is not None
        last = torch.tensor([row[-1:] for row in self.tokens], device=self.device)
        places = [min(len(row) - start, self.context) - 1 for row, start in zip(self.tokens, self.starts, strict=True)]
        positions = torch.tensor(places, device=self.device)[:, None]
        cache = self.cache.upto(max(places) + 1)
        return self.model.project(self.model.features(last, positions, cache)[:, -1])

    def _seen(self, logits_BV: Tensor) -> Tensor | None:
        if self.sampling.repetition_penalty == 1.0:
            return None
        seen = torch.zeros_like(logits_BV, dtype=torch.bool)
        for row, tokens in enumerate(self.tokens):
            seen[row, torch.tensor(tokens[self.starts[row] :], device=self.device)] = True
        return seen
