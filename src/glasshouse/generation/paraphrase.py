"""Paraphrases by a masked-token model: some tokens of a text are hidden, and the model says what else might stand there.

What is hidden and what is drawn follow from the seed, the text, its number among the texts and the copy alone, so that the
batch changes no paraphrase. Knows nothing of files or labels.

Axes: N hidden places, V vocabulary.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.batches import mix
from glasshouse.generation.sampling import Sampling, distribution, draw
from glasshouse.models.heads.masked_token import MaskedTokenHead
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tokenizers import Tokenizer


@dataclass(frozen=True)
class Paraphrase:
    """A text anew: how many of its tokens were hidden, and how many of those came back as others."""

    text: str
    hidden: int
    changed: int


@dataclass
class _Work:
    """A copy of a text as it is made; `hidden` are places in its tokens."""

    number: int
    tokens: list[int]
    hidden: list[int]
    before: list[int]


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
    """So many paraphrases of each text, each with a share of its tokens (one at least) hidden and drawn anew.

    Never drawn are special tokens and tokens that are not whole characters of one line. A word that the vocabulary lacks is
    always hidden, because there is no way to write it back. A text longer than the context is read in pieces.
    """
    if copies < 1:
        raise GlasshouseError("bad-option", f"copies={copies} is not possible; choose 1 or more")
    if not 0 < share <= 1:
        raise GlasshouseError("bad-option", f"share={share:g} is not possible; choose a share above 0 and at most 1")
    if not isinstance(getattr(model, "head", None), MaskedTokenHead) or tokenizer.mask is None:
        raise DataError(
            "not-a-masked-model",
            "this run does not say what a hidden token was; give one of task='masked-token' with a mask in its tokenizer, "
            "such as glasshouse train masked-model makes",
        )
    sampling = sampling or Sampling()
    usable = _usable(tokenizer, model)
    before, after = tokenizer.frame
    room = context - len(before) - len(after)
    works = list(_works(tokenizer, texts, copies, share, sampling.seed, usable))
    pieces = [(work, begin) for work in works for begin in sorted({place // room * room for place in work.hidden})]
    was_training = model.training
    model.eval()
    try:
        for first in range(0, len(pieces), batch):
            _refill(model, tokenizer, pieces[first : first + batch], room, sampling, usable)
            progress(min(1.0, (first + batch) / len(pieces)))
    finally:
        model.train(was_training)
    made = [_finished(tokenizer, work) for work in works]
    return [made[begin : begin + copies] for begin in range(0, len(made), copies)]


def _works(
    tokenizer: Tokenizer, texts: Sequence[str], copies: int, share: float, seed: int, usable: np.ndarray
) -> Iterator[_Work]:
    for row, text in enumerate(texts):
        tokens = [int(token) for token in tokenizer.encode(text, specials=False)]
        given = np.array(tokens, np.int64)
        free = np.flatnonzero(usable[given]) if tokens else np.zeros(0, np.int64)
        lost = [place for place, token in enumerate(tokens) if token == tokenizer.unknown]
        for copy in range(copies):
            number = row * copies + copy
            luck = mix(np.uint64(seed), np.uint64(number), free.astype(np.uint64))
            wanted = max(round(share * len(tokens)), 1)
            chosen = {int(place) for place in free[np.argsort(luck, kind="stable")[:wanted]]}
            yield _Work(number, list(tokens), sorted(chosen | set(lost)), tokens)


@torch.inference_mode()
def _refill(
    model: Any, tokenizer: Tokenizer, pieces: list[tuple[_Work, int]], room: int, sampling: Sampling, usable: np.ndarray
) -> None:
    """Draw what stands at the hidden places of some pieces, all at once."""
    assert tokenizer.mask is not None
    device = next(model.parameters()).device
    (before, after), rows, asked = tokenizer.frame, [], []
    for index, (work, begin) in enumerate(pieces):
        inside = work.before[begin : begin + room]
        for place in work.hidden:
            if begin <= place < begin + room:
                inside[place - begin] = tokenizer.mask
                asked.append((index, len(before) + place - begin, work, place))
        rows.append([*before, *inside, *after])
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    where = torch.tensor([[index, column] for index, column, _, _ in asked], device=device)
    logits_NV: Tensor = model(tokens, lengths=lengths)[where[:, 0], where[:, 1]].float()
    allowed = torch.from_numpy(usable).to(device)
    likely = distribution(logits_NV.masked_fill(~allowed, float("-inf")), sampling)
    if sampling.temperature == 0:
        drawn = likely.argmax(-1)
    else:
        # One number a place: texts are shorter than 2^32 tokens.
        numbers = np.array([(work.number << 32) + place for _, _, work, place in asked], dtype=np.int64)
        drawn = draw(likely, sampling, numbers, step=1)
    for (_, _, work, place), token in zip(asked, drawn.tolist(), strict=True):
        work.tokens[place] = token


def _finished(tokenizer: Tokenizer, work: _Work) -> Paraphrase:
    changed = sum(work.tokens[place] != work.before[place] for place in work.hidden)
    return Paraphrase(tokenizer.decode(work.tokens), len(work.hidden), changed)


def _usable(tokenizer: Tokenizer, model: Any) -> np.ndarray:
    """Which tokens may be hidden and drawn: ordinary ones that are whole characters and break no line or column."""
    usable = np.zeros(model.vocabulary, dtype=bool)
    special = {*tokenizer.specials.values(), tokenizer.unknown, *tokenizer.frame[0], *tokenizer.frame[1]}
    for token in range(min(tokenizer.vocabulary, model.vocabulary)):
        if token in special:
            continue
        try:
            text = tokenizer.token_bytes(token).decode()
        except (UnicodeDecodeError, GlasshouseError):  # a part of a character, or an id that stands for nothing
            continue
        usable[token] = bool(text) and not any(character in text for character in "\n\r\t")
    if not usable.any():
        raise DataError("no-usable-tokens", "no token of this run's tokenizer is a whole character; it cannot paraphrase")
    return usable
