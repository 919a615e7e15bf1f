"""The incremental decoder: rows of tokens, and the model's logits for the next token of each, with or without a cache.

It does not choose tokens. The model sees a row through a window of at most `context` tokens. If a row outgrows its window,
the window restarts with the latest half. This rule is the same with and without a cache, so the logits are too.

Axes: B rows, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor

from glasshouse.specs.errors import GlasshouseError


class IncrementalDecoder:
    """Prompts (lists of token ids of any length above zero), and a model with `features` and `project` that reads them."""

    def __init__(self, model: Any, prompts: list[list[int]], context: int, cached: bool = True) -> None:
        if not prompts or not all(prompts):
            raise GlasshouseError("empty-prompt", "a prompt has no tokens; start it with the end-of-text token instead")
        self.model, self.context = model.eval(), context
        self.device = next(model.parameters()).device
        self.tokens = [list(prompt) for prompt in prompts]
        # Where the window of each row starts.
        self.starts = [max(0, len(prompt) - context) for prompt in prompts]
        with torch.inference_mode():
            self.cache = model.empty_cache(len(prompts), context) if cached else None
        # Rows whose window is not in the cache: new ones, and those whose window has restarted.
        self.uncached = list(range(len(prompts)))

    def append(self, row: int, token: int) -> None:
        """Append a token to a row."""
        self.tokens[row].append(token)
        if len(self.tokens[row]) - self.starts[row] > self.context:
            self.starts[row] = len(self.tokens[row]) - max(self.context // 2, 1)
            self.uncached.append(row)

    def rearrange(self, rows: list[int], same_sources: bool = False) -> None:
        """Replace row i by the former row `rows[i]`. A row may be used several times or not at all.

        The cached source of a row moves with it. `same_sources` skips this copy if each row i keeps a source equal to that
        of `rows[i]`. Without a cache, a model with sources cannot be rearranged.
        """
        if rows == list(range(len(self.tokens))):
            return
        self.tokens = [list(self.tokens[row]) for row in rows]
        self.starts = [self.starts[row] for row in rows]
        uncached = set(self.uncached)
        self.uncached = [new for new, old in enumerate(rows) if old in uncached]
        if self.cache is not None:
            index = torch.tensor(rows, device=self.device)
            if same_sources:
                self.cache.reorder_rows(index, min(max(map(len, self.tokens)), self.context))
            else:
                self.cache = self.cache.select_rows(index)

    @torch.inference_mode()
    def logits(self) -> Tensor:
        """Logits (B, V) for the next token of each row."""
        if self.cache is None:
            return self._read_windows(list(range(len(self.tokens))), None)
        logits = None
        if len(self.uncached) < len(self.tokens):
            logits = self._read_last_tokens()
        if self.uncached:
            index = torch.tensor(self.uncached, device=self.device)
            cache = self.cache.select_rows(index)
            uncached_logits = self._read_windows(self.uncached, cache)
            self.cache.write_rows(index, cache)
            logits = uncached_logits if logits is None else logits.index_copy(0, index, uncached_logits)
            self.uncached = []
        assert logits is not None
        return logits

    def _read_windows(self, rows: list[int], cache: Any) -> Tensor:
        """Run the model on whole windows. Padding is at the right, where the causal mask hides it."""
        windows = [self.tokens[row][self.starts[row] :] for row in rows]
        longest = max(map(len, windows))
        padded = torch.tensor([window + [0] * (longest - len(window)) for window in windows], device=self.device)
        positions = torch.arange(longest, device=self.device).expand(len(rows), longest) if cache else None
        features = self.model.features(padded, positions, cache)
        last = torch.tensor([len(window) - 1 for window in windows], device=self.device)
        return self.model.project(features[torch.arange(len(rows), device=self.device), last])

    def _read_last_tokens(self) -> Tensor:
        """Run the model on the last token of each row; earlier tokens come from the cache."""
        assert self.cache is not None
        last = torch.tensor([row[-1:] for row in self.tokens], device=self.device)
        slots = [min(len(row) - start, self.context) - 1 for row, start in zip(self.tokens, self.starts, strict=True)]
        positions = torch.tensor(slots, device=self.device)[:, None]
        cache = self.cache.first_slots(max(slots) + 1)
        return self.model.project(self.model.features(last, positions, cache)[:, -1])
