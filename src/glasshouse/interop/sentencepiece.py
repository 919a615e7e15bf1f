"""SentencePiece BPE vocabularies (pieces with scores) as a tokenizer.json and back. Knows no file that stores pieces.

SentencePiece repeatedly merges the two neighbours whose union is the piece with the highest score; between equal scores the
leftmost pair wins. A tokenizer.json has no scores; it lists pairs in the order of merging. So every piece gives one merge
for each way to split it into two pieces. One difference remains: for a piece that overlaps itself and has two splits
(aba = ab + a = a + ba, in the text ababa), a tokenizer.json applies the first pair everywhere before the second, not from
left to right.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from glasshouse.specs.errors import CannotExport, CannotImport
from glasshouse.tokenizers import byte_pair
from glasshouse.tokenizers.tokenizer_json import build_contents

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""The types of a piece, numbered as in SentencePiece and GGUF."""

SPACE: Final = "▁"
"""The symbol that stands for a space in a piece."""
LONGEST_PIECE: Final = 1000
_BYTE_PIECE: Final = re.compile(r"<0x[0-9A-F]{2}>")


@dataclass(frozen=True)
class ScoredPieces:
    """A vocabulary: the text, score and type of every piece in the order of their ids."""

    texts: tuple[str, ...]
    scores: tuple[float, ...]
    types: tuple[int, ...]
    bos_id: int | None
    eos_id: int | None
    adds_bos: bool = True
    """Whether the tokenizer puts the beginning-of-sequence token before a text."""
    adds_space: bool = True
    """Whether the tokenizer puts a space before a text."""


def to_tokenizer_json(pieces: ScoredPieces) -> dict[str, Any]:
    """The contents of the tokenizer.json that gives the same ids."""
    texts, types = pieces.texts, pieces.types
    piece, count = Counter(texts).most_common(1)[0]
    if count > 1 or max(map(len, texts)) > LONGEST_PIECE:
        raise CannotImport(
            f"every piece of a tokenizer must be unique and have at most {LONGEST_PIECE:,} letters, but {piece[:60]!r} "
            f"occurs {count} times and the longest has {max(map(len, texts)):,}; give another tokenizer"
        )
    unknown = next((text for text, piece_type in zip(texts, types, strict=True) if piece_type == UNKNOWN), None)
    space_to_symbol = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    prepend: list[dict[str, Any]] = [{"type": "Prepend", "prepend": SPACE}] if pieces.adds_space else []
    symbol_to_space = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if pieces.adds_space else []
    model = {
        "vocab": {text: id for id, text in enumerate(texts)},
        "merges": _merges(pieces),
        "unk_token": unknown,
        "fuse_unk": True,
        "byte_fallback": BYTE in types,
    }
    return tokenizer_json(
        texts,
        types,
        pieces.bos_id if pieces.adds_bos else None,
        model,
        normalizer={"type": "Sequence", "normalizers": [*prepend, space_to_symbol]},
        decoder={"type": "Sequence", "decoders": [symbol_to_space, {"type": "ByteFallback"}, {"type": "Fuse"}, *strip]},
    )


def tokenizer_json(
    texts: Sequence[str], types: Sequence[int], bos_id: int | None, model: Mapping[str, Any], **parts: Any
) -> dict[str, Any]:
    """The contents of a tokenizer.json of byte-pair encoding. `bos_id`: the token that it puts before a text, if any."""
    if bos_id is not None:
        parts["post_processor"] = template({bos_id: texts[bos_id]}, (bos_id, "A"), (bos_id, "A", bos_id, "B"))
    added = {texts[id]: id for id, piece_type in enumerate(types) if piece_type in (UNKNOWN, CONTROL, USER_DEFINED)}
    contents = build_contents(added, {**byte_pair.MODEL, **model}, **parts)
    for token in contents["added_tokens"]:
        token["special"] = types[token["id"]] != USER_DEFINED
    return contents


def template(
    names: Mapping[int, str], single: Sequence[int | str], pair: Sequence[int | str], second_segment: int = 0
) -> dict[str, Any]:
    """The post-processor that puts special tokens, given by their ids, around the text "A" and the texts "A" and "B".

    `second_segment` is the segment of "B".
    """

    def step(item: int | str) -> dict[str, Any]:
        if isinstance(item, int):
            return {"SpecialToken": {"id": names[item], "type_id": 0}}
        return {"Sequence": {"id": item, "type_id": second_segment if item == "B" else 0}}

    ids = [item for item in pair if isinstance(item, int)]
    return {
        "type": "TemplateProcessing",
        "single": list(map(step, single)),
        "pair": list(map(step, pair)),
        "special_tokens": {names[id]: {"id": names[id], "ids": [id], "tokens": [names[id]]} for id in ids},
    }


def from_tokenizer_json(
    document: Mapping[str, Any], prefix_and_suffix: tuple[list[int], list[int]], eos_id: int | None
) -> ScoredPieces:
    """The scored pieces that give the same ids as a tokenizer.json. If no scores can give them, that is an error.

    The score of a piece is minus the rank of its first merge. Pieces without a merge get lower scores.
    `prefix_and_suffix` are the ids of the special tokens that the tokenizer puts before and after a text.
    """
    model = document["model"]
    before, after = prefix_and_suffix
    if len(before) > 1 or after:
        raise _cannot_export(f"it puts the ids {before} before a text and {after} after it, not only one start token")
    if model.get("type") != "BPE" or not model.get("byte_fallback"):
        raise _cannot_export("it is not byte-pair encoding with byte fallback")
    adds_space = _adds_space(document)
    if adds_space is None:
        raise _cannot_export(f"it changes a text before tokenization by more than writing spaces as {SPACE}")
    added = {token["id"]: token for token in document.get("added_tokens") or []}
    texts_by_id = {id: text for text, id in model["vocab"].items()} | {id: token["content"] for id, token in added.items()}
    texts = [texts_by_id.get(id, f"[UNUSED{id}]") for id in range(max(texts_by_id) + 1)]
    types = [_piece_type(id, text, texts_by_id, added, model.get("unk_token")) for id, text in enumerate(texts)]
    first_ranks: dict[str, int] = {}
    last_ranks: dict[str, int] = {}
    merges = [tuple(pair.split(" ", 1)) if isinstance(pair, str) else tuple(pair) for pair in model["merges"]]
    for rank, (left, right) in enumerate(merges):
        first_ranks.setdefault(left + right, rank)
        last_ranks[left + right] = rank
    normal = {text for text, piece_type in zip(texts, types, strict=True) if piece_type == NORMAL}
    missing = {split for text in normal for split in _splits(text, normal)} - set(merges)
    if missing:
        left, right = min(missing)
        raise _cannot_export(f"{left + right!r} is a piece, but {left!r} and {right!r} are not merged into it")
    merged = list(first_ranks)  # in the order of their first merges
    for earlier, later in zip(merged, merged[1:], strict=False):
        if last_ranks[earlier] > first_ranks[later]:
            raise _cannot_export(f"the merges of {earlier!r} come partly before and partly after those of {later!r}")
    ranks_without_merge = iter(range(len(merges), len(merges) + len(texts)))
    scores = [
        0.0 if piece_type != NORMAL else -float(first_ranks[text] if text in first_ranks else next(ranks_without_merge))
        for text, piece_type in zip(texts, types, strict=True)
    ]
    bos_id = before[0] if before else model["vocab"].get("<s>")
    return ScoredPieces(tuple(texts), tuple(scores), tuple(types), bos_id, eos_id, bool(before), adds_space)


def _cannot_export(reason: str) -> CannotExport:
    return CannotExport(f"llama.cpp has no tokenizer that gives the same ids as this tokenizer.json: {reason}")


def _merges(pieces: ScoredPieces) -> list[list[str]]:
    """All merges, ordered by the score of the merged piece; the splits of a piece by their left part, longest first."""
    scores = {
        text: score
        for text, score, piece_type in zip(pieces.texts, pieces.scores, pieces.types, strict=True)
        if piece_type == NORMAL
    }
    order = sorted((-score, id, text) for id, (text, score) in enumerate(scores.items()))
    return [list(split) for _, _, text in order for split in reversed(_splits(text, scores))]


def _splits(text: str, vocabulary: Any) -> list[tuple[str, str]]:
    """The ways to split a piece into two pieces of the vocabulary."""
    halves = [(text[:index], text[index:]) for index in range(1, len(text))]
    return [(left, right) for left, right in halves if left in vocabulary and right in vocabulary]


def _adds_space(document: Mapping[str, Any]) -> bool | None:
    """Whether a tokenizer.json puts a space before a text; None if it changes a text in a way that llama.cpp cannot.

    The pre-tokenizer Metaspace is accepted too, though it differs in one case: a text that starts with a space gets no
    further space.
    """
    normalizer, pre_tokenizer = document.get("normalizer"), document.get("pre_tokenizer") or {}
    if normalizer is None and pre_tokenizer.get("type") == "Metaspace" and pre_tokenizer.get("split") is False:
        return pre_tokenizer.get("prepend_scheme") != "never" if pre_tokenizer.get("replacement") == SPACE else None
    steps = (normalizer or {}).get("normalizers", [normalizer])
    names = [(step or {}).get("type") for step in steps]
    if pre_tokenizer or names not in (["Replace"], ["Prepend", "Replace"]) or steps[-1].get("content") != SPACE:
        return None
    return len(steps) == 2


def _piece_type(id: int, text: str, known: Mapping[int, str], added: Mapping[int, Any], unknown: str | None) -> int:
    if id not in known:
        return UNUSED
    if text == unknown:
        return UNKNOWN
    if id in added:
        return CONTROL if added[id].get("special") else USER_DEFINED
    return BYTE if _BYTE_PIECE.fullmatch(text) else NORMAL
