"""A tokenizer as GGUF metadata, and back to a tokenizer.json. Knows nothing of weights.

llama.cpp supports two kinds: byte-level BPE ("gpt2", whose pre-tokenizer `pre` names) and SentencePiece BPE ("llama"). It
has no word tokenizer and no character tokenizer.
"""

from collections.abc import Mapping
from typing import Any, Final

from glasshouse.interop import sentencepiece
from glasshouse.interop.sentencepiece import CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, ScoredPieces
from glasshouse.records.progress_bar import say
from glasshouse.specs.errors import CannotExport, CannotImport
from glasshouse.tokenizers.base import Tokenizer
from glasshouse.tokenizers.byte_pair import BytePair, pre_tokenizer
from glasshouse.tokenizers.external import ExternalTokenizer
from glasshouse.tokenizers.tokenizer_json import BYTE_LEVEL, UnsupportedTokenizer

Metadata = dict[str, Any]

PREFIX: Final = "tokenizer.ggml."
"""The beginning of every metadata key of a tokenizer. This module leaves it out in the names of its own dictionaries."""

PRE_TOKENIZERS: Final = {
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo"), ("gpt-2", False)),
    **dict.fromkeys(("dbrx", "smaug-bpe"), ("gpt-4", False)),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3"), ("gpt-4", True)),
}
"""llama.cpp's names of a pre-tokenizer: our split pattern, and whether it ignores merges for a word that is itself a token
and puts a start token before a text by default. An export writes the first name. Compared with llama.cpp for every code
point: equal except for the code points new in Unicode 16, which llama.cpp's tables lack."""

LONG_S: Final = "ſ".encode()


def write(tokenizer: Tokenizer, document: Mapping[str, Any], vocabulary: int) -> Metadata:
    """The metadata of a tokenizer for a model with `vocabulary` tokens.

    `document` is the contents of the tokenizer.json. Ids that only the model has are marked as unused.
    """
    if tokenizer.vocabulary > vocabulary:
        raise CannotExport(f"the tokenizer has {tokenizer.vocabulary} tokens and the model {vocabulary} rows; train again")
    if tokenizer.end_of_text is None:
        raise CannotExport("the tokenizer has no end-of-text token; train with one that has")
    if not isinstance(tokenizer, BytePair | ExternalTokenizer):
        raise CannotExport(f"llama.cpp has no tokenizer like {tokenizer.name!r}; train with data.tokenizer=byte-pair")
    byte_pair = tokenizer if isinstance(tokenizer, BytePair) else _as_byte_pair(document)
    if byte_pair is not None:
        metadata = _write_byte_pair(byte_pair, tokenizer, document)
    else:
        metadata = _write_pieces(
            sentencepiece.from_tokenizer_json(document, tokenizer.prefix_and_suffix, tokenizer.end_of_text)
        )
    missing = range(len(metadata["tokens"]), vocabulary)
    metadata["tokens"] += [f"[UNUSED{id}]" for id in missing]
    metadata["token_type"] += [UNUSED] * len(missing)
    if "scores" in metadata:
        metadata["scores"] += [0.0] * len(missing)
    return {f"{PREFIX}{name}": value for name, value in metadata.items()}


def read(metadata: Mapping[str, Any], where: str) -> dict[str, Any] | None:
    """The contents of the tokenizer.json that gives the same ids. `where` names the file in messages.

    A tokenizer that is not supported is None, and a message says why.
    """
    entries = {key.removeprefix(PREFIX): value for key, value in metadata.items() if key.startswith(PREFIX)}
    kind, texts, splitter = entries.get("model"), entries.get("tokens"), entries.get("pre", "default")
    supported = kind == "llama" or (kind == "gpt2" and splitter in list(PRE_TOKENIZERS))
    if not supported or not isinstance(texts, list) or not texts:
        say(
            f"{where} is imported without a tokenizer: it has no tokenizer that is supported, but the kind {kind!r} and the "
            f"pre-tokenizer {splitter!r}; supported are 'llama', and 'gpt2' with {', '.join(PRE_TOKENIZERS)}"
        )
        return None
    for name, default in (("tokens", ""), ("merges", ""), ("token_type", NORMAL), ("scores", 0.0)):
        entries.setdefault(name, [] if name == "merges" else [default] * len(texts))
        kinds, noun = (str, "string") if default == "" else ((int, float), "number")
        listed = isinstance(entries[name], list) and all(isinstance(value, kinds) for value in entries[name])
        if not listed or (name != "merges" and len(entries[name]) != len(texts)):
            raise CannotImport(
                f"{where}: {PREFIX}{name} must be a list with a {noun} for each of {len(texts)} tokens; export it again"
            )
    for name in ("bos_token_id", "eos_token_id"):
        if name in entries and not (isinstance(entries[name], int) and 0 <= entries[name] < len(texts)):
            raise CannotImport(f"{where}: {PREFIX}{name}={entries[name]} is not from 0 to {len(texts) - 1}; export it again")
    if kind == "gpt2":
        return _byte_pair_document(entries, where, *PRE_TOKENIZERS[splitter])
    pieces = ScoredPieces(
        tuple(texts),
        tuple(entries["scores"]),
        tuple(entries["token_type"]),
        entries.get("bos_token_id", min(1, len(texts) - 1)),
        entries.get("eos_token_id", min(2, len(texts) - 1)),
        adds_bos=bool(entries.get("add_bos_token", True)),
        adds_space=bool(entries.get("add_space_prefix", True)),
    )
    return sentencepiece.to_tokenizer_json(pieces)


def read_token_ids(metadata: Mapping[str, Any]) -> dict[str, int]:
    """The ids of the special tokens that a file names, by role."""
    keys = {"bos": f"{PREFIX}bos_token_id", "eos": f"{PREFIX}eos_token_id", "pad": f"{PREFIX}padding_token_id"}
    return {role: metadata[key] for role, key in keys.items() if key in metadata}


def _as_byte_pair(document: Mapping[str, Any]) -> BytePair | None:
    """A tokenizer.json of another program as our own byte-pair tokenizer; None if it is not byte-level BPE.

    The properties that our class does not support, but GGUF metadata can express, are removed first.
    """
    added = [{**token, "special": True} for token in document.get("added_tokens") or []]
    model = {**document["model"], "ignore_merges": False}
    try:
        return BytePair.from_json({**document, "added_tokens": added, "post_processor": None, "model": model})
    except (UnsupportedTokenizer, KeyError, TypeError, ValueError, AttributeError):
        return None


def _write_byte_pair(byte_pair: BytePair, tokenizer: Tokenizer, document: Mapping[str, Any]) -> Metadata:
    model, pattern = document["model"], byte_pair.pattern
    before, after = tokenizer.prefix_and_suffix
    if len(before) > 1 or after:
        raise CannotExport(f"{before} before a text and {after} after it do not fit into a GGUF file; use one start token")
    texts = {id: text for text, id in model["vocab"].items()}
    specials = {id: text for text, id in byte_pair.specials.items()}
    ordinary = [byte_pair.token_bytes(id) for id in texts if id not in specials]
    if pattern == "gpt-4" and any(LONG_S in token[:-1] for token in ordinary):
        raise CannotExport("llama.cpp splits words after ſ (U+017F) in another way; train with data.pattern=gpt-2")
    rule = (pattern, bool(model.get("ignore_merges")))
    names = [name for name, its_rule in PRE_TOKENIZERS.items() if its_rule == rule]
    if not names:
        raise CannotExport(
            f"llama.cpp has no pre-tokenizer for data.pattern={pattern!r} with ignore_merges; train with data.pattern=gpt-4"
        )
    ids = range(tokenizer.vocabulary)
    types = dict.fromkeys(texts, NORMAL)
    types |= {id: CONTROL if text in tokenizer.specials else USER_DEFINED for id, text in specials.items()}
    return {
        "model": "gpt2",
        "pre": names[0],
        "tokens": [specials.get(id) or texts.get(id) or f"[UNUSED{id}]" for id in ids],
        "token_type": [types.get(id, UNUSED) for id in ids],
        "merges": [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]],
        "bos_token_id": before[0] if before else tokenizer.end_of_text,  # llama.cpp starts an empty prompt with it
        "eos_token_id": tokenizer.end_of_text,
        "add_bos_token": bool(before),
    }


def _write_pieces(pieces: ScoredPieces) -> Metadata:
    metadata = {
        "model": "llama",
        "pre": "default",
        "tokens": list(pieces.texts),
        "scores": list(pieces.scores),
        "token_type": list(pieces.types),
        "bos_token_id": pieces.bos_id,
        "eos_token_id": pieces.eos_id,
        "unknown_token_id": pieces.types.index(UNKNOWN) if UNKNOWN in pieces.types else None,
        "add_bos_token": pieces.adds_bos,
        "add_space_prefix": pieces.adds_space,
    }
    return {name: value for name, value in metadata.items() if value is not None}


def _byte_pair_document(entries: Mapping[str, Any], where: str, pattern: str, ignores_merges: bool) -> dict[str, Any]:
    """A tokenizer.json of byte-level BPE, written as our own class writes it wherever that class can express it."""
    texts, types, bos_id = entries["tokens"], entries["token_type"], entries.get("bos_token_id")
    vocabulary = {text: id for id, text in enumerate(texts) if types[id] != UNUSED}
    merges = [merge.split(" ", 1) for merge in entries.get("merges", [])]
    for merge in merges:
        if len(merge) != 2 or not {*merge, "".join(merge)} <= vocabulary.keys():
            raise CannotImport(
                f"{where} has a merge {' '.join(merge)!r} of tokens that are not in its vocabulary; export the file again"
            )
    return sentencepiece.tokenizer_json(
        texts,
        types,
        bos_id if entries.get("add_bos_token", ignores_merges) else None,
        {"ignore_merges": ignores_merges, "vocab": vocabulary, "merges": merges},
        pre_tokenizer=pre_tokenizer(pattern),
        decoder=BYTE_LEVEL,
    )
