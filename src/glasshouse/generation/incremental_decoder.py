"""The incremental decoder: rows of tokens, and the model's logits for the next token of each, with or without a cache.

It does not choose tokens. Rows may join and leave between two steps. The model sees a row through a window of at most
`context` tokens. If a row outgrows its window, the window restarts with the latest half. This rule is the same with and
without a cache, so the logits are too.

Axes: B rows, V vocabulary.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from glasshouse.generation.recorded_steps import RecordedSteps
from glasshouse.parts.cache import Cache
from glasshouse.specs.errors import GlasshouseError

# The first size of a cache. It doubles when a row needs more slots, or when there are more rows. Steps are recorded for a
# cache of one size. Recorded steps read no more slots than a row has, so that unused slots take memory but no time.
FIRST_SLOTS = 64
FIRST_SLOTS_RECORDED = 256

# The prefix cache: a search looks at every prompt.
MOST_PROMPTS = 256
# Copying fewer tokens than this takes as long as reading them.
FEWEST_TOKENS = 16


class PrefixCache:
    """Keys and values of earlier prompts, so that prompts which begin alike are read once.

    Those of a token depend on the tokens before it only, so that those of a common beginning can be copied. The cache has
    the latest prompts, up to `most_bytes`; the one that was used longest ago leaves first.
    """

    def __init__(self, most_bytes: int = 2**28) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0
        self.copied_tokens = 0  # the tokens that did not have to be read
        self._entries: OrderedDict[tuple[int, ...], list[tuple[Tensor, Tensor]]] = OrderedDict()

    def keep(self, tokens: list[int], cache: Cache, row: int) -> None:
        """Keep a row of a cache. Its slots hold these tokens."""
        key = tuple(tokens)
        if len(key) < FEWEST_TOKENS or cache.prefix:
            return
        if key in self._entries:
            self._entries.move_to_end(key)
            return
        slots = row, slice(None), slice(len(key))
        entry = [(layer.keys[slots].clone(), layer.values[slots].clone()) for layer in cache.layers]
        if _size(entry) > self.most_bytes:
            return
        self.bytes += _size(entry)
        self._entries[key] = entry
        while self.bytes > self.most_bytes or len(self._entries) > MOST_PROMPTS:
            _, oldest = self._entries.popitem(last=False)
            self.bytes -= _size(oldest)

    @torch.inference_mode()
    def restore(self, tokens: list[int], cache: Cache, row: int) -> int:
        """Fill the first slots of a row from the prompt that shares most tokens; return how many.

        The last token is never filled: its logits have to be computed.
        """
        best, count, before_last = None, FEWEST_TOKENS - 1, tokens[:-1]
        for key in self._entries:
            pairs = enumerate(zip(key, before_last, strict=False))
            shared = next((place for place, (one, two) in pairs if one != two), min(len(key), len(before_last)))
            if shared > count:
                best, count = key, shared
        if best is None or cache.prefix:
            return 0
        self._entries.move_to_end(best)
        for layer, (keys, values) in zip(cache.layers, self._entries[best], strict=True):
            layer.keys[row, :, :count], layer.values[row, :, :count] = keys[:, :count], values[:, :count]
        self.copied_tokens += count
        return count


class IncrementalDecoder:
    """Prompts (lists of token ids of any length above zero), and a model with `features` and `project` that reads them.

    vocabulary: tokens from here on are never sampled by the `steps`.
    most_rows: the cache has room for so many rows from the start, if steps are recorded: more rows need new recordings.
    recorded: whether steps are recorded, by default on CUDA. A model with hooks is not: a replay would not call them.
    """

    def __init__(
        self,
        model: Any,
        prompts: Sequence[list[int]],
        context: int,
        cached: bool = True,
        prefixes: PrefixCache | None = None,
        vocabulary: int | None = None,
        recorded: bool | None = None,
        most_rows: int = 0,
    ) -> None:
        self.model, self.context, self.prefixes, self.vocabulary = model.eval(), context, prefixes, vocabulary
        self.device = next(model.parameters()).device
        recording = self.device.type == "cuda" if recorded is None else recorded
        self.recorded = (
            cached
            and recording
            and not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
        )
        self._cached, self._most_rows = cached, most_rows
        self.clear()
        self.add_all(prompts)

    def clear(self) -> None:
        """Forget all rows, and free their memory."""
        self.tokens: list[list[int]] = []
        self.starts: list[int] = []  # where the window of each row starts
        self.read_tokens: list[int] = []  # how many tokens of each window the cache has
        self.cache: Cache | None = None
        self.rows = 0  # of the cache
        self._steps: RecordedSteps | None = None

    @property
    def steps(self) -> RecordedSteps | None:
        """The recorded steps for the cache of this moment, or None if steps are not recorded."""
        if self.cache is None or not self.recorded:
            return None
        if self._steps is None or self._steps.rows < self.rows:
            self._steps = RecordedSteps(self.model, self.rows, self.vocabulary, self.device)
        self._steps.use(self.cache)
        return self._steps

    @torch.inference_mode()
    def add_all(self, prompts: Sequence[list[int]]) -> None:
        """Add rows at the end. With a model that has sources, the first call adds a row for each, and there is no other."""
        if prompts and self._cached and self.cache is None:
            self.rows = max(len(prompts), self._most_rows if self.recorded else 0)
            first_slots = FIRST_SLOTS_RECORDED if self.recorded else FIRST_SLOTS
            self.cache = self.model.empty_cache(self.rows, min(first_slots, self.context))
        for row, prompt in enumerate(prompts, len(self.tokens)):
            if not prompt:
                raise GlasshouseError("a prompt has no tokens; start it with the end-of-text token instead")
            if self.cache is not None:
                self._reserve(row + 1, min(len(prompt), self.context))
            self.tokens.append(list(prompt))
            self.starts.append(max(0, len(prompt) - self.context))
            self.read_tokens.append(0)
            if self.cache is not None and self.prefixes is not None:
                self.read_tokens[row] = self.prefixes.restore(self.window(row), self.cache, row)

    def keep_prefix(self, row: int) -> None:
        """Keep what a row has read for later prompts, if there is a prefix cache."""
        if self.prefixes is not None and self.cache is not None:
            self.prefixes.keep(self.window(row), self.cache, row)

    @torch.inference_mode()
    def remove(self, row: int) -> None:
        """Remove a row. The last row takes its number."""
        last = len(self.tokens) - 1
        if row != last and self.cache is not None:
            self.cache.copy_row(last, row, self.read_tokens[last])
        columns: tuple[list[Any], ...] = self.tokens, self.starts, self.read_tokens
        for values in columns:
            values[row] = values[last]
            del values[last]

    def append(self, row: int, token: int) -> None:
        self.tokens[row].append(token)
        if len(self.tokens[row]) - self.starts[row] > self.context:
            self.starts[row] = len(self.tokens[row]) - max(self.context // 2, 1)
            self.read_tokens[row] = 0

    def window(self, row: int) -> list[int]:
        """The tokens of a row that the model sees."""
        return self.tokens[row][self.starts[row] :]

    def unread(self) -> list[int]:
        """How many tokens of each row's window have not been read."""
        counts = zip(self.tokens, self.starts, self.read_tokens, strict=True)
        return [len(tokens) - start - read for tokens, start, read in counts]

    @property
    def accepts_rows(self) -> bool:
        """Whether rows can be added. A model with sources has one row for each source, and no more."""
        cache = self.cache
        return cache is None or not (cache.memory or cache.prefix or any(layer.source for layer in cache.layers))

    def rearrange(self, rows: list[int], same_sources: bool = False) -> None:
        """Replace row i by the former row `rows[i]`. A row may be used several times or not at all.

        The cached source of a row moves with it. `same_sources` skips this copy if each row i keeps a source equal to that
        of `rows[i]`. Without a cache, a model with sources cannot be rearranged.
        """
        if rows == list(range(len(self.tokens))):
            return
        self.tokens = [list(self.tokens[row]) for row in rows]
        self.starts = [self.starts[row] for row in rows]
        self.read_tokens = [self.read_tokens[row] for row in rows]
        if self.cache is not None:
            index = torch.tensor(rows, device=self.device)
            if same_sources:
                self.cache.reorder_rows(index, max(self.read_tokens))
            else:
                self.cache, self.rows = self.cache.select_rows(index), len(rows)

    def logits(self) -> Tensor:
        """Logits (B, V) for the next token of each row."""
        for row, read in enumerate(self.read_tokens):
            if read == len(self.window(row)):  # no token was appended: read the last one again
                self.read_tokens[row] -= 1
        rows, logits = self.read()
        while len(rows) < len(self.tokens):
            more_rows, more_logits = self.read()
            rows, logits = rows + more_rows, torch.cat([logits, more_logits])
        order = sorted(range(len(rows)), key=rows.__getitem__)
        return logits if order == list(range(len(rows))) else logits[order]

    @torch.inference_mode()
    def read(self, budget: int | None = None) -> tuple[list[int], Tensor]:
        """Read tokens that have not been read. Return the rows that are read to their end, and the logits (B, V) of these.

        Of each row that has one unread token, that token is read. Of the others, about `budget` tokens are read in all, so
        that a long prompt does not keep the other rows waiting; by default everything.
        """
        if self.cache is None:
            windows = [self.window(row) for row in range(len(self.tokens))]
            features = self.model.features(self._padded(windows), None, None)
            return list(range(len(windows))), self._project_last(features, list(map(len, windows)))
        unread = self.unread()
        self._reserve(len(unread), max(len(self.window(row)) for row in range(len(unread))))
        rows, parts = [row for row, count in enumerate(unread) if count == 1], []
        if rows:
            logits = self._read_last_tokens()
            parts.append(logits if len(rows) == len(unread) else logits[rows])
            for row in rows:
                self.read_tokens[row] += 1
        for stretch in _neighbours(row for row, count in enumerate(unread) if count > 1):
            done, logits = self._read_chunk(stretch, budget)
            rows += done
            parts.append(logits)
            if budget is not None and (budget := budget - sum(unread[row] for row in stretch)) <= 0:
                break
        return rows, torch.cat(parts) if len(parts) > 1 else parts[0]

    def _read_chunk(self, rows: range, budget: int | None) -> tuple[list[int], Tensor]:
        """Read the next tokens of neighbouring rows. Return the rows that are read to their end, with their logits."""
        assert self.cache is not None
        share = None if budget is None else max(budget // len(rows), 1)
        chunks = [self.window(row)[self.read_tokens[row] :][:share] for row in rows]
        # The padding of shorter rows is overwritten later. It must not reach beyond the context.
        longest = min(max(map(len, chunks)), self.context - max(self.read_tokens[row] for row in rows))
        chunks = [chunk[:longest] for chunk in chunks]
        starts = torch.tensor([self.read_tokens[row] for row in rows], device=self.device)
        positions = starts[:, None] + torch.arange(longest, device=self.device)
        end = max(self.read_tokens[row] for row in rows) + longest
        self._reserve(len(self.tokens), end)
        features = self.model.features(self._padded(chunks), positions, self.cache.view(slice(rows.start, rows.stop), end))
        done = []
        for row, chunk in zip(rows, chunks, strict=True):
            self.read_tokens[row] += len(chunk)
            if self.read_tokens[row] == len(self.window(row)):
                done.append(row)
        last = [len(chunks[row - rows.start]) for row in done]
        return done, self._project_last(features[[row - rows.start for row in done]], last)

    def _padded(self, texts: Sequence[list[int]]) -> Tensor:
        """Texts as a tensor. Padding is at the right, where the causal mask hides it."""
        longest = max(map(len, texts))
        return torch.tensor([text + [0] * (longest - len(text)) for text in texts], device=self.device)

    def _project_last(self, features_BTD: Tensor, lengths: Sequence[int]) -> Tensor:
        """The logits at the last token of each row."""
        last = torch.tensor(lengths, device=self.device, dtype=torch.long) - 1
        return self.model.project(features_BTD[torch.arange(len(last), device=self.device), last])

    def _read_last_tokens(self) -> Tensor:
        """Run the model on the last token of each row; earlier tokens come from the cache.

        A row with other unread tokens is run too, and its result is wrong; reading those tokens overwrites it.
        """
        assert self.cache is not None
        slots = [len(row) - start - 1 for row, start in zip(self.tokens, self.starts, strict=True)]
        if self.steps is not None:
            return self.steps.logits([row[-1] for row in self.tokens], slots)
        last = torch.tensor([row[-1:] for row in self.tokens], device=self.device)
        positions = torch.tensor(slots, device=self.device)[:, None]
        return self.model.project(self.model.features(last, positions, self.cache.one_token_view(slots))[:, -1])

    def next_step(self) -> RecordedSteps | None:
        """The recorded steps, after one more token of each row has been counted as read; None if there is no room for it.

        The tokens themselves are appended when the step has chosen them.
        """
        longest = max(self.read_tokens) + 1
        if longest > self.context:
            return None
        self._reserve(len(self.tokens), longest)
        self.read_tokens = [read + 1 for read in self.read_tokens]
        return self.steps

    def _reserve(self, rows: int, slots: int) -> None:
        """Make the cache large enough."""
        assert self.cache is not None
        if rows <= self.rows and slots <= self.cache.slots:
            return
        if rows > self.rows:
            self.rows = max(rows, 2 * self.rows)
        if slots > self.cache.slots:
            slots = min(max(slots, 2 * self.cache.slots), self.context)
        with torch.inference_mode():
            self.cache = self.cache.resized(self.rows, max(slots, self.cache.slots))


def _neighbours(rows: Iterable[int]) -> list[range]:
    """Rising numbers as stretches without gaps."""
    stretches: list[range] = []
    for row in rows:
        if stretches and stretches[-1].stop == row:
            stretches[-1] = range(stretches[-1].start, row + 1)
        else:
            stretches.append(range(row, row + 1))
    return stretches


def _size(entry: list[tuple[Tensor, Tensor]]) -> int:
    return sum(2 * keys.numel() * keys.element_size() for keys, _ in entry)
