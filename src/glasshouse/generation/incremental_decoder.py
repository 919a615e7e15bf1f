"""A reader: rows of tokens and a model's logits of what follows each, with a key-value cache or without. Chooses nothing.

The context rule: a row is seen through a window of at most `context` tokens. When a row outgrows it, the window restarts
with the latest half of it. The rule is the same with and without a cache, and so are the logits.
"""

from typing import Any

import torch
from torch import Tensor

from glasshouse.specs.errors import GlasshouseError


class IncrementalDecoder:
    """Prompts (lists of token ids, of any lengths above zero), read by a model that has `features` and `project`."""

    def __init__(self, model: Any, prompts: list[list[int]], context: int, cached: bool = True) -> None:
        if not prompts or not all(prompts):
            raise GlasshouseError("empty-prompt", "a prompt has no tokens; begin from the end-of-text mark instead")
        self.model, self.context = model.eval(), context
        self.device = next(model.parameters()).device
        self.tokens = [list(prompt) for prompt in prompts]
        self.starts = [max(0, len(prompt) - context) for prompt in prompts]
        with torch.inference_mode():
            self.cache = model.empty_cache(len(prompts), context) if cached else None
        # Rows that the cache does not hold yet, or no longer.
        self.fresh = list(range(len(prompts)))

    def append(self, row: int, token: int) -> None:
        """One more token of a row."""
        self.tokens[row].append(token)
        if len(self.tokens[row]) - self.starts[row] > self.context:
            self.starts[row] = len(self.tokens[row]) - max(self.context // 2, 1)
            self.fresh.append(row)

    def rearrange(self, rows: list[int], same_sources: bool = False) -> None:
        """From now on row i is what row `rows[i]` was; a row may be taken several times, or not at all.

        A cache's sources go along, unless it is known that each row gets one that has the same. Without a cache only a model
        whose rows do not look at sources can be read so.
        """
        if rows == list(range(len(self.tokens))):
            return
        self.tokens = [list(self.tokens[row]) for row in rows]
        self.starts = [self.starts[row] for row in rows]
        fresh = set(self.fresh)
        self.fresh = [new for new, old in enumerate(rows) if old in fresh]
        if self.cache is not None:
            index = torch.tensor(rows, device=self.device)
            if same_sources:
                self.cache.move_rows(index, min(max(map(len, self.tokens)), self.context))
            else:
                self.cache = self.cache.rows(index)

    @torch.inference_mode()
    def logits(self) -> Tensor:
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
        """Run each row's last token against the cache."""
        assert self.cache is not None
        last = torch.tensor([row[-1:] for row in self.tokens], device=self.device)
        places = [min(len(row) - start, self.context) - 1 for row, start in zip(self.tokens, self.starts, strict=True)]
        positions = torch.tensor(places, device=self.device)[:, None]
        cache = self.cache.upto(max(places) + 1)
        return self.model.project(self.model.features(last, positions, cache)[:, -1])
