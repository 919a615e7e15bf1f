"""SentencePiece's byte pairs, pieces with scores, as a tokenizer.json and back; knows no file that such pieces come in.

Scores say what merges say: of all neighbours whose union is a piece, the two whose union has the highest score are joined
first, the leftmost where several are equal. A tokenizer.json has no scores but a list of pairs in the order of joining, so
each piece gives one pair for every way to cut it in two. One thing is lost: a piece that overlaps itself and can be made in
two ways (aba of ab + a and of a + ba, in ababa) is joined there by its first pair, not from the left.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from glasshouse.specs.errors import CannotExport, CannotImport

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
"""The kinds of piece, by the numbers that SentencePiece and GGUF give them."""

SPACE: Final = "▁"
_BYTE_NAME: Final = re.compile(r"<0x[0-9A-F]{2}>")
_FLAGS: Final = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


@dataclass(frozen=True)
class ScoredPieces:
    """The pieces of a vocabulary in the order of their ids, each with a score and a kind."""

    texts: tuple[str, ...]
    scores: tuple[float, ...]
    kinds: tuple[int, ...]
    start: int | None
    end: int | None
    starts: bool = True
    """Whether a text begins with the start token."""
    prefix: bool = True
    """Whether a text's first word gets a space before it."""


def to_document(pieces: ScoredPieces) -> dict[str, Any]:
    """The tokenizer.json that gives the same ids."""
    texts, kinds = pieces.texts, pieces.kinds
    if len(set(texts)) < len(texts):
        twice = next(text for id, text in enumerate(texts) if text in texts[:id])
        raise CannotImport(
            "piece-twice", f"the vocabulary has the piece {twice!r} twice, and a tokenizer.json can hold it once"
        )
    unknown = next((text for text, kind in zip(texts, kinds, strict=True) if kind == UNKNOWN), None)
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": BYTE in kinds,
        "ignore_merges": False,
        "vocab": {text: id for id, text in enumerate(texts)},
        "merges": _merges(pieces),
    }
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    before: list[dict[str, Any]] = [{"type": "Prepend", "prepend": SPACE}] if pieces.prefix else []
    back = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if pieces.prefix else []
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": id, "content": text, **_FLAGS, "special": kind != USER}
            for id, (text, kind) in enumerate(zip(texts, kinds, strict=True))
            if kind in (UNKNOWN, CONTROL, USER)
        ],
        "normalizer": {"type": "Sequence", "normalizers": [*before, spaces]},
        "pre_tokenizer": None,
        "post_processor": beginning(texts[pieces.start], pieces.start)
        if pieces.start is not None and pieces.starts
        else None,
        "decoder": {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}, *strip]},
        "model": model,
    }


def from_document(document: Mapping[str, Any], frame: tuple[list[int], list[int]], end: int | None) -> ScoredPieces:
    """The scored pieces that give the ids of a tokenizer.json. Refuses one whose ids no scores can give.

    A piece's score is the place of its first pair, counted down; pieces that nothing is joined into come after. `frame` are
    the ids that it puts around a text.
    """
    model = document["model"]
    before, after = frame
    if len(before) > 1 or after:
        raise _cannot(f"it puts the ids {before} before a text and {after} after it, not just one start token")
    if model.get("type") != "BPE" or not model.get("byte_fallback"):
        raise _cannot("it is not byte-pair encoding with byte fallback")
    prefix = _prefix(document)
    if prefix is None:
        raise _cannot(f"its text is prepared by more than writing spaces as {SPACE}")
    added = {token["id"]: token for token in document.get("added_tokens") or []}
    texts_by_id = {id: text for text, id in model["vocab"].items()} | {id: token["content"] for id, token in added.items()}
    texts = [texts_by_id.get(id, f"[UNUSED{id}]") for id in range(max(texts_by_id) + 1)]
    kinds = [_kind(id, text, texts_by_id, added, model.get("unk_token")) for id, text in enumerate(texts)]
    firsts: dict[str, int] = {}
    lasts: dict[str, int] = {}
    pairs = [tuple(pair.split(" ", 1)) if isinstance(pair, str) else tuple(pair) for pair in model["merges"]]
    for rank, (left, right) in enumerate(pairs):
        firsts.setdefault(left + right, rank)
        lasts[left + right] = rank
    ordinary = {text for text, kind in zip(texts, kinds, strict=True) if kind == NORMAL}
    missing = {pair for text in ordinary for pair in _cuts(text, ordinary)} - set(pairs)
    if missing:
        left, right = min(missing)
        raise _cannot(f"{left + right!r} is a piece but {left!r} and {right!r} are not joined into it")
    joined = list(firsts)  # in the order of their first pairs
    for earlier, later in zip(joined, joined[1:], strict=False):
        if lasts[earlier] > firsts[later]:
            raise _cannot(f"some pairs that give {earlier!r} come before and some after those of {later!r}")
    places = iter(range(len(pairs), len(pairs) + len(texts)))
    scores = [
        0.0 if kind != NORMAL else -float(firsts[text] if text in firsts else next(places))
        for text, kind in zip(texts, kinds, strict=True)
    ]
    start = before[0] if before else model["vocab"].get("<s>")
    return ScoredPieces(tuple(texts), tuple(scores), tuple(kinds), start, end, bool(before), prefix)


def _cannot(reason: str) -> CannotExport:
    return CannotExport("tokenizer-does-not-fit", f"llama.cpp has no tokenizer that gives this one's ids: {reason}")


def _merges(pieces: ScoredPieces) -> list[list[str]]:
    """Every way to make a piece of two, by the piece's score; of one piece, those with the longer left part first."""
    score = {
        text: score for text, score, kind in zip(pieces.texts, pieces.scores, pieces.kinds, strict=True) if kind == NORMAL
    }
    order = sorted((-value, id, text) for id, (text, value) in enumerate(score.items()))
    return [list(cut) for _, _, text in order for cut in reversed(_cuts(text, score))]


def _cuts(text: str, among: Any) -> list[tuple[str, str]]:
    """The ways to cut a piece into two pieces."""
    return [(text[:place], text[place:]) for place in range(1, len(text)) if text[:place] in among and text[place:] in among]


def beginning(mark: str, id: int) -> dict[str, Any]:
    """The part of a tokenizer.json that puts a start token before a text."""
    begin = {"SpecialToken": {"id": mark, "type_id": 0}}
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    return {
        "type": "TemplateProcessing",
        "single": [begin, first],
        "pair": [begin, first, begin, second],
        "special_tokens": {mark: {"id": mark, "ids": [id], "tokens": [mark]}},
    }


def _prefix(document: Mapping[str, Any]) -> bool | None:
    """Whether a text gets a space before it; None where more is done to it than writing its spaces as here.

    The newer way to say so, Metaspace, differs in one thing that is let pass: a text that begins with a space gets no other.
    """
    before, splitter = document.get("normalizer"), document.get("pre_tokenizer") or {}
    if before is None and splitter.get("type") == "Metaspace" and splitter.get("split") is False:
        return splitter.get("prepend_scheme") != "never" if splitter.get("replacement") == SPACE else None
    steps = (before or {}).get("normalizers", [before])
    names = [(step or {}).get("type") for step in steps]
    if splitter or names not in (["Replace"], ["Prepend", "Replace"]) or steps[-1].get("content") != SPACE:
        return None
    return len(steps) == 2


def _kind(id: int, text: str, known: Mapping[int, str], added: Mapping[int, Any], unknown: str | None) -> int:
    if id not in known:
        return UNUSED
    if text == unknown:
        return UNKNOWN
    if id in added:
        return CONTROL if added[id].get("special") else USER
    return BYTE if _BYTE_NAME.fullmatch(text) else NORMAL
