"""A tokenizer as the facts of a GGUF file, and back to a tokenizer.json; knows nothing of weights.

llama.cpp has byte-level byte pairs ("gpt2", split first by a rule that `pre` names) and SentencePiece's scored pieces
("llama"). It has no words and no single characters.
"""

from collections.abc import Mapping
from typing import Any, Final

from glasshouse.interop import sentencepiece
from glasshouse.interop.sentencepiece import CONTROL, NORMAL, UNKNOWN, UNUSED, USER, ScoredPieces
from glasshouse.specs.errors import CannotExport, CannotImport
from glasshouse.tokenizers.base import Tokenizer
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.document import UnsupportedTokenizer
from glasshouse.tokenizers.external import ExternalTokenizer
from glasshouse.tokenizers.pretokenizer import PATTERNS

Facts = dict[str, Any]

PRE: Final = {("gpt-2", False): "gpt-2", ("gpt-4", False): "dbrx", ("gpt-4", True): "llama-bpe"}
"""llama.cpp's name for splitting by a pattern of ours, where a piece that is a token is taken whole whatever the merges say,
or not. Held against llama.cpp, code point by code point: equal but for what Unicode 16 added, which its tables lack."""

PATTERNS_OF: Final = {
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo"), "gpt-2"),
    **dict.fromkeys(("dbrx", "smaug-bpe", "llama-bpe", "llama3", "llama-v3"), "gpt-4"),
}
"""Our pattern for those of llama.cpp's names that are read."""

WHOLE_PIECES: Final = ("llama-bpe", "llama3", "llama-v3")
"""The names under which a piece that is a token is taken whole, and a text begins with the start token by default."""

LONG_S: Final = "ſ".encode()


def write(tokenizer: Tokenizer, document: Mapping[str, Any], vocabulary: int) -> Facts:
    """The facts, under their names without `tokenizer.ggml.`, for a model of so many tokens.

    `document` is the contents of the tokenizer's file. Ids that the model has and the tokenizer has not are unused.
    """
    if tokenizer.vocabulary > vocabulary:
        raise CannotExport(
            "tokenizer-does-not-fit",
            f"the tokenizer has {tokenizer.vocabulary} tokens and the model {vocabulary}; a GGUF file needs a row for each",
        )
    if tokenizer.end_of_text is None:
        raise CannotExport(
            "tokenizer-does-not-fit",
            "the tokenizer has no end-of-text token, without which llama.cpp takes an ordinary token for it",
        )
    if not isinstance(tokenizer, BytePair | ExternalTokenizer):
        raise CannotExport(
            "tokenizer-does-not-fit",
            f"llama.cpp has no tokenizer of {tokenizer.name}, so this run cannot be a GGUF file; "
            "train with data.tokenizer=byte-pair for one that can",
        )
    byte_pairs = tokenizer if isinstance(tokenizer, BytePair) else _as_byte_pairs(document)
    if byte_pairs is not None:
        facts = _byte_pairs(byte_pairs, tokenizer, document)
    else:
        facts = _pieces(sentencepiece.from_document(document, tokenizer.frame, tokenizer.end_of_text))
    missing = range(len(facts["tokens"]), vocabulary)
    facts["tokens"] += [_unused(id) for id in missing]
    facts["token_type"] += [UNUSED] * len(missing)
    if "scores" in facts:
        facts["scores"] += [0.0] * len(missing)
    return facts


class NoTokenizer(CannotImport):
    """A GGUF file without a tokenizer that we read: its model can still be used."""

    def __init__(self, reason: str) -> None:
        super().__init__("unsupported-tokenizer", reason)


def read(facts: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The tokenizer.json that gives the same ids, from the facts of a file."""
    begin = "tokenizer.ggml."
    own = {name.removeprefix(begin): value for name, value in facts.items() if name.startswith(begin)}
    kind, texts = own.get("model"), own.get("tokens")
    if kind not in ("gpt2", "llama") or not texts:
        named = "it has no tokenizer" if kind is None or not texts else f"its tokenizer is of the kind {kind!r}"
        raise NoTokenizer(f"{named}; those of the kinds 'gpt2' and 'llama' are read")
    for name in ("tokens", "merges"):
        if not all(isinstance(text, str) for text in own.get(name, [])):
            raise CannotImport("bad-fact", f"{where}: {begin}{name} is not a list of texts")
    pre = own.get("pre", "default")
    if kind == "gpt2" and pre not in PATTERNS_OF:
        raise NoTokenizer(f"its text is split by the rule {pre!r}; those read are {', '.join(PATTERNS_OF)}")
    for name, usual in (("token_type", NORMAL), ("scores", 0.0)):
        own.setdefault(name, [usual] * len(texts))
        if not isinstance(own[name], list) or len(own[name]) != len(texts):
            raise CannotImport(
                "bad-fact", f"{where}: {begin}{name} does not have an entry for each of the {len(texts)} tokens"
            )
    for name in ("bos_token_id", "eos_token_id"):
        if name in own and not (isinstance(own[name], int) and 0 <= own[name] < len(texts)):
            raise CannotImport(
                "bad-fact", f"{where} has {begin}{name}={own[name]}, and its tokens are 0 to {len(texts) - 1}"
            )
    if kind == "gpt2":
        return _byte_pair_document(own, pre, where)
    pieces = ScoredPieces(
        tuple(texts),
        tuple(own["scores"]),
        tuple(own["token_type"]),
        own.get("bos_token_id", min(1, len(texts) - 1)),
        own.get("eos_token_id", min(2, len(texts) - 1)),
        starts=bool(own.get("add_bos_token", True)),
        prefix=bool(own.get("add_space_prefix", True)),
    )
    return sentencepiece.to_document(pieces)


def roles(facts: Mapping[str, Any]) -> dict[str, int]:
    """The ids of the tokens that start and end a text and fill it up, where a file names them."""
    names = {"bos": "bos_token_id", "eos": "eos_token_id", "pad": "padding_token_id"}
    return {role: facts[f"tokenizer.ggml.{name}"] for role, name in names.items() if f"tokenizer.ggml.{name}" in facts}


def _as_byte_pairs(document: Mapping[str, Any]) -> BytePair | None:
    """Our own class for a foreign file that differs from ours in things which a GGUF file can say."""
    added = [{**token, "special": True} for token in document.get("added_tokens") or []]
    model = {**document["model"], "ignore_merges": False}
    try:
        return BytePair.from_document({**document, "added_tokens": added, "post_processor": None, "model": model})
    except (UnsupportedTokenizer, KeyError, TypeError, ValueError, AttributeError):
        return None


def _byte_pairs(byte_pairs: BytePair, tokenizer: Tokenizer, document: Mapping[str, Any]) -> Facts:
    model, pattern = document["model"], byte_pairs.pattern
    before, after = tokenizer.frame
    if len(before) > 1 or after:
        raise CannotExport(
            "tokenizer-does-not-fit",
            f"the tokenizer puts the ids {before} before a text and {after} after it; a GGUF file can say one start token",
        )
    letters = {id: text for text, id in model["vocab"].items()}
    marks = {id: text for text, id in byte_pairs.specials.items()}
    ordinary = [byte_pairs.token_bytes(id) for id in letters if id not in marks]
    if pattern == "gpt-4" and any(LONG_S in token[:-1] for token in ordinary):
        raise CannotExport(
            "tokenizer-does-not-fit",
            "the tokenizer has tokens that go on after ſ (U+017F), and llama.cpp splits such text in another place than "
            "data.pattern='gpt-4' after an apostrophe; train with data.pattern=gpt-2 for a GGUF file",
        )
    rule = (pattern, bool(model.get("ignore_merges")))
    if rule not in PRE:
        raise CannotExport(
            "tokenizer-does-not-fit",
            f"llama.cpp has no tokenizer that splits by the pattern {pattern!r} and takes pieces whole",
        )
    every = range(tokenizer.vocabulary)
    return {
        "model": "gpt2",
        "pre": PRE[rule],
        "tokens": [marks.get(id) or letters.get(id) or _unused(id) for id in every],
        "token_type": [_kind(id, marks, letters, tokenizer.specials) for id in every],
        "merges": [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]],
        "bos_token_id": before[0] if before else tokenizer.end_of_text,  # an empty prompt begins from it
        "eos_token_id": tokenizer.end_of_text,
        "add_bos_token": bool(before),
    }


def _pieces(pieces: ScoredPieces) -> Facts:
    unknown = next((id for id, kind in enumerate(pieces.kinds) if kind == UNKNOWN), None)
    facts = {
        "model": "llama",
        "pre": "default",
        "tokens": list(pieces.texts),
        "scores": list(pieces.scores),
        "token_type": list(pieces.kinds),
        "bos_token_id": pieces.start,
        "eos_token_id": pieces.end,
        "unknown_token_id": unknown,
        "add_bos_token": pieces.starts,
        "add_space_prefix": pieces.prefix,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _byte_pair_document(own: Mapping[str, Any], pre: str, where: str) -> dict[str, Any]:
    """Byte pairs as our own class writes them, but for what only the foreign one can follow."""
    texts, kinds, start = own["tokens"], own["token_type"], own.get("bos_token_id")
    vocabulary = {text: id for id, text in enumerate(texts) if kinds[id] != UNUSED}
    merges = [merge.split(" ", 1) for merge in own.get("merges", [])]
    for merge in merges:
        if len(merge) != 2 or not {*merge, "".join(merge)} <= vocabulary.keys():
            raise CannotImport(
                "bad-fact", f"{where} has a merge {' '.join(merge)!r} of tokens that its vocabulary does not have"
            )
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    splitter: dict[str, Any] = {**level, "use_regex": True}
    if PATTERNS_OF[pre] != "gpt-2":
        split = {"type": "Split", "pattern": {"Regex": PATTERNS[PATTERNS_OF[pre]]}, "behavior": "Isolated", "invert": False}
        splitter = {"type": "Sequence", "pretokenizers": [split, {**level, "use_regex": False}]}
    frame = None
    if start is not None and own.get("add_bos_token", pre in WHOLE_PIECES):
        frame = sentencepiece.beginning(texts[start], start)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": id, "content": text, **flags, "special": kinds[id] != USER}
            for id, text in enumerate(texts)
            if kinds[id] in (UNKNOWN, CONTROL, USER)
        ],
        "normalizer": None,
        "pre_tokenizer": splitter,
        "post_processor": frame,
        "decoder": {**level, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": pre in WHOLE_PIECES,
            "vocab": vocabulary,
            "merges": merges,
        },
    }


def _kind(id: int, marks: Mapping[int, str], letters: Mapping[int, str], specials: Mapping[str, int]) -> int:
    if id in marks:
        return CONTROL if marks[id] in specials else USER
    return NORMAL if id in letters else UNUSED


def _unused(id: int) -> str:
    return f"[UNUSED{id}]"
