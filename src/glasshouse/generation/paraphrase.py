"""Paraphrases by a masked-token model: some tokens of a text are masked, and the model fills in other ones.

Which tokens are masked and which are sampled depends on the seed, the text, its index and the index of the copy, not on the
batch size. `write_augmented` writes a file in which each row is followed by paraphrases of its text.

Axes: N masked positions, V vocabulary.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse.data import text_files
from glasshouse.data.batches import hash64
from glasshouse.data.tables import reading
from glasshouse.data.user_files.rows import UserRows
from glasshouse.generation.sampling import distribution, draw
from glasshouse.generation.sampling_options import Sampling
from glasshouse.models.heads.masked_token import MaskedTokenHead
from glasshouse.records import atomic_files
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers import Tokenizer


@dataclass(frozen=True)
class Paraphrase:
    """A paraphrased text, how many of its tokens were masked, and how many of those were replaced by another token."""

    text: str
    hidden: int
    changed: int


@dataclass
class _Copy:
    """A copy of a text in progress; `masked` are positions in its tokens, `original` the tokens of the text."""

    number: int
    tokens: list[int]
    masked: list[int]
    original: list[int]


def paraphrase(
    model: Any,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    context: int,
    copies: int = 2,
    share: float = 0.15,
    sampling: Sampling | None = None,
    batch: int = 32,
    progress: Callable[[float], None] = lambda share: None,
) -> list[list[Paraphrase]]:
    """`copies` paraphrases of each text. In each, this share of the tokens, at least one, is masked and sampled again.

    Special tokens, parts of characters and tokens with line breaks or tabs are never sampled. An unknown token is always
    masked, because it cannot be decoded. A text longer than the context is processed in pieces.
    """
    if copies < 1:
        raise GlasshouseError("is out of range; choose 1 or more", "copies", copies)
    if not 0 < share <= 1:
        raise GlasshouseError("is out of range; choose a value above 0 and at most 1", "share", share)
    if not isinstance(model.head, MaskedTokenHead) or tokenizer.mask is None:
        raise DataError("paraphrases need a masked-token run with a mask; train one: glasshouse train masked-model")
    sampling = sampling or Sampling()
    replaceable = _replaceable_tokens(tokenizer, model)
    before, after = tokenizer.prefix_and_suffix
    piece_length = context - len(before) - len(after)
    masked_copies = list(_masked_copies(tokenizer, texts, copies, share, sampling.seed, replaceable))
    pieces = [
        (copy, start)
        for copy in masked_copies
        for start in sorted({index // piece_length * piece_length for index in copy.masked})
    ]
    model.eval()
    for first in range(0, len(pieces), batch):
        _fill_masks(model, tokenizer, pieces[first : first + batch], piece_length, sampling, replaceable)
        progress(min(1.0, (first + batch) / len(pieces)))
    paraphrases = []
    for copy in masked_copies:
        changed = sum(copy.tokens[index] != copy.original[index] for index in copy.masked)
        paraphrases.append(Paraphrase(tokenizer.decode(copy.tokens), len(copy.masked), changed))
    return [paraphrases[start : start + copies] for start in range(0, len(paraphrases), copies)]


def _masked_copies(
    tokenizer: Tokenizer, texts: Sequence[str], copies: int, share: float, seed: int, replaceable: np.ndarray
) -> Iterator[_Copy]:
    for row, text in enumerate(texts):
        ids = tokenizer.encode(text, specials=False)
        tokens, candidates = ids.tolist(), np.flatnonzero(replaceable[ids])
        unknown = [index for index, token in enumerate(tokens) if token == tokenizer.unknown]
        for copy in range(copies):
            number = row * copies + copy
            random_keys = hash64(np.uint64(seed), np.uint64(number), candidates.astype(np.uint64))
            count = max(round(share * len(tokens)), 1)
            chosen = set(candidates[np.argsort(random_keys, kind="stable")[:count]].tolist())
            yield _Copy(number, list(tokens), sorted(chosen | set(unknown)), tokens)


@torch.inference_mode()
def _fill_masks(
    model: Any,
    tokenizer: Tokenizer,
    pieces: list[tuple[_Copy, int]],
    piece_length: int,
    sampling: Sampling,
    replaceable: np.ndarray,
) -> None:
    """Sample the tokens at the masked positions of some pieces, in one batch."""
    assert tokenizer.mask is not None
    device = next(model.parameters()).device
    (before, after), rows, masks = tokenizer.prefix_and_suffix, [], []
    for row, (copy, start) in enumerate(pieces):
        piece = copy.original[start : start + piece_length]
        for index in copy.masked:
            if start <= index < start + piece_length:
                piece[index - start] = tokenizer.mask
                masks.append((row, len(before) + index - start, copy, index))
        rows.append([*before, *piece, *after])
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    coordinates = torch.tensor([[row, column] for row, column, _, _ in masks], device=device)
    logits_NV: Tensor = model(tokens, lengths=lengths)[coordinates[:, 0], coordinates[:, 1]].float()
    allowed = torch.from_numpy(replaceable).to(device)
    probabilities = distribution(logits_NV.masked_fill(~allowed, float("-inf")), sampling)
    # A unique number for each masked position: a text has fewer than 2^32 tokens.
    numbers = torch.tensor([(copy.number << 32) + index for _, _, copy, index in masks], device=device)
    seed, step = torch.tensor([sampling.seed, 1], device=device)
    drawn = draw(probabilities, seed, numbers, step)
    for (_, _, copy, index), token in zip(masks, drawn.tolist(), strict=True):
        copy.tokens[index] = token


def _replaceable_tokens(tokenizer: Tokenizer, model: Any) -> np.ndarray:
    """Booleans over the vocabulary: tokens that may be masked and sampled.

    These are the tokens that are not special, consist of whole characters, and contain no line break or tab.
    """
    replaceable = np.zeros(model.vocabulary, dtype=bool)
    prefix, suffix = tokenizer.prefix_and_suffix
    special = {*tokenizer.specials.values(), tokenizer.unknown, *prefix, *suffix}
    for token in range(min(tokenizer.vocabulary, model.vocabulary)):
        if token in special:
            continue
        try:
            text = tokenizer.token_bytes(token).decode()
        except (UnicodeDecodeError, GlasshouseError):  # a part of a character, or an id without a token
            continue
        replaceable[token] = bool(text) and not any(character in text for character in "\n\r\t")
    if not replaceable.any():
        raise DataError("no token of this run's tokenizer is made of whole characters; paraphrase with another run")
    return replaceable


@dataclass(frozen=True)
class AugmentedFile:
    """The written file: original rows, copies, tokens masked and changed in the copies, and copies equal to their row."""

    path: Path
    rows: int
    copies: int
    hidden: int
    changed: int
    unchanged_copies: int


def check_augmented(source: Path, output: Path) -> None:
    """Raise GlasshouseError if the output cannot be written; call it before any work."""
    if os.path.lexists(output):
        raise GlasshouseError(f"{output} exists already; choose another path, or delete the file")
    atomic_files.check_output(output)
    if reading.is_table(source) and output.suffix != ".tsv":
        raise GlasshouseError(f"labelled rows are written as .tsv, but --output is {output}; choose a name ending in .tsv")


def write_augmented(
    output: Path, labels: Sequence[str], texts: Sequence[str], paraphrases: Sequence[Sequence[Paraphrase]]
) -> AugmentedFile:
    """Write each row of a file followed by paraphrases of its text, with the same label. Plain text has no labels."""
    lines = []
    for name, text, copies in zip(labels, texts, paraphrases, strict=True):
        # Line breaks and tabs inside a text would start new rows and columns.
        one_line = (" ".join(version.split()) for version in (text, *(copy.text for copy in copies)))
        lines += [f"{name}\t{line}" if name else line for line in one_line]
    atomic_files.write_text(output, "\n".join(lines) + "\n")
    all_copies = [copy for copies in paraphrases for copy in copies]
    hidden, changed = sum(copy.hidden for copy in all_copies), sum(copy.changed for copy in all_copies)
    unchanged = sum(not copy.changed for copy in all_copies)
    return AugmentedFile(output, len(texts), len(all_copies), hidden, changed, unchanged)


def read_rows(path: Path, field: str, label: str) -> tuple[list[str], list[str]]:
    """The labels and texts of the rows that have both. The labels of a plain text file are empty."""
    if reading.is_table(path):
        data = DataSpec(files=(str(path),), field=field, label=label, validation=0.0, test=0.0, insist=True)
        rows = [(" ".join(row.fields["label"].split()), row.text) for row in UserRows(data, ("label",)).documents("train")]
    else:
        rows = [("", line.strip()) for line in text_files.read_lines(path) if line.strip()]
    if not rows:
        raise DataError(f"{path} has no text to paraphrase; choose a file with text")
    return [name for name, _ in rows], [text for _, text in rows]
