"""The parts of a `tokenizer.json` that every tokenizer shares: checked, read and written. Knows no tokenizer class."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final

from glasshouse.records import atomic_files
from glasshouse.specs.errors import GlasshouseError

_TEXT_ALONE: Final = {"Sequence": {"id": "A", "type_id": 0}}


class UnsupportedTokenizer(GlasshouseError):
    """A tokenizer.json that asks for something which our own tokenizers do not do."""

    def __init__(self, message: str) -> None:
        super().__init__("unsupported-tokenizer", message)


def check_settings(what: str, found: Mapping[str, Any], allowed: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse a part of the document that has a setting beyond those allowed, or another value for one of them."""
    for setting, value in found.items():
        if setting not in allowed:
            raise UnsupportedTokenizer(f"{what} has a setting {setting!r} which is not supported")
        if allowed[setting] and value not in allowed[setting]:
            expected = " or ".join(json.dumps(option) for option in allowed[setting])
            raise UnsupportedTokenizer(f"{what} has {setting}={json.dumps(value)}; only {expected} is supported")


def check_document(document: Mapping[str, Any]) -> None:
    """Refuse what would change the ids outside of the model and the pre-tokenizer."""
    for part in ("normalizer", "truncation", "padding"):
        if document.get(part) is not None:
            kind = document[part].get("type", "") if isinstance(document[part], dict) else ""
            raise UnsupportedTokenizer(f"{part} {kind!r} is not supported" if kind else f"{part} is not supported")
    after = document.get("post_processor")
    # ByteLevel there moves offsets only, never ids; a template may add nothing to a text.
    if after is not None and after.get("type") != "ByteLevel" and after.get("single") != [_TEXT_ALONE]:
        raise UnsupportedTokenizer(f"post_processor {after.get('type')!r} is not supported")


def read_specials(document: Mapping[str, Any], vocabulary: Mapping[str, int]) -> dict[str, int]:
    """The special tokens of a document: text to id."""
    specials: dict[str, int] = {}
    for added in document.get("added_tokens") or []:
        text = added["content"]
        for setting in ("single_word", "lstrip", "rstrip"):
            if added.get(setting):
                raise UnsupportedTokenizer(f"the added token {text!r} has {setting}=true, which is not supported")
        if not added.get("special"):
            raise UnsupportedTokenizer(f"the added token {text!r} has special=false, which is not supported")
        if vocabulary.get(text, added["id"]) != added["id"]:
            raise UnsupportedTokenizer(
                f"the added token {text!r} has id {added['id']}, but {vocabulary[text]} in the model",
            )
        specials[text] = int(added["id"])
    return specials


def document_of(
    specials: Mapping[str, int],
    model: Mapping[str, Any],
    pre_tokenizer: Mapping[str, Any],
    decoder: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """A whole document around a model."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": id, "content": text, **flags} for text, id in sorted(specials.items(), key=lambda item: item[1])
        ],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": decoder,
        "model": model,
    }


def write_document(path: str | PathLike[str], document: Mapping[str, Any]) -> None:
    """Write a document as tokenizer.json, whole or not at all."""
    try:
        atomic_files.write_json(Path(path), document)
    except OSError as error:
        raise GlasshouseError(
            "cannot-write", f"cannot write the tokenizer to {path}: {error.strerror}; check the path"
        ) from None
