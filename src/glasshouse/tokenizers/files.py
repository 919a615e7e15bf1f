"""The `tokenizer.json` file: reading, checking, writing; knows which class reads what, and no more."""

import json
import os
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from glasshouse.specs.errors import GlasshouseError, MissingExtra

if TYPE_CHECKING:
    from glasshouse.tokenizers.base import Tokenizer

SUPPORTED: Final = (
    "supported are (without the package tokenizers) byte-level BPE with the GPT-2 or the GPT-4 pattern, "
    "WordLevel with Whitespace, and WordLevel with a Split into single characters"
)
_TEXT_ALONE: Final = {"Sequence": {"id": "A", "type_id": 0}}


class Unsupported(GlasshouseError):
    """A tokenizer.json that asks for something which a tokenizer does not do."""


def load(path: str | PathLike[str]) -> "Tokenizer":
    """Read a `tokenizer.json`, ours or another's, into the tokenizer that gives the same ids.

    What our own classes do not follow is run by the `tokenizers` package, where that is installed.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise GlasshouseError("unreadable-tokenizer", f"cannot read the tokenizer file {path}: {error.strerror}") from error
    except ValueError as error:
        raise GlasshouseError("not-a-tokenizer", f"{path} is not a tokenizer.json: it is not JSON ({error})") from error
    if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
        raise GlasshouseError("not-a-tokenizer", f"{path} is not a tokenizer.json: it has no 'model'")
    try:
        return _class_of(document).from_document(document)
    except Unsupported as error:
        return _foreign(document, f"{path}: {error}; {SUPPORTED}")
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise GlasshouseError(
            "damaged-tokenizer", f"{path} is a damaged tokenizer.json: {type(error).__name__}: {error}"
        ) from error


def _foreign(document: dict[str, Any], refusal: str) -> "Tokenizer":
    """The tokenizer as the `tokenizers` package runs it, or the refusal with what the package says."""
    from glasshouse.tokenizers.external import ExternalTokenizer

    try:
        return ExternalTokenizer(document)
    except MissingExtra:
        raise MissingExtra("tokenizers", f"{refusal}; anything else") from None
    except Unsupported as error:
        raise Unsupported("unsupported-tokenizer", f"{refusal}; {error}") from None


def _class_of(document: dict[str, Any]) -> "type[Tokenizer]":
    """The class that reads this document. Imported only now: byte pairs bring a compiler with them."""
    model = document["model"].get("type")
    if model is None and "merges" in document["model"]:
        model = "BPE"  # Files from before the type was written down.
    if model == "BPE":
        from glasshouse.tokenizers.byte_pair import BytePair

        return BytePair
    if model == "WordLevel":
        splitter = (document.get("pre_tokenizer") or {}).get("type")
        if splitter == "Whitespace":
            from glasshouse.tokenizers.words import Words

            return Words
        if splitter == "Split":
            from glasshouse.tokenizers.characters import Characters

            return Characters
        raise Unsupported(
            "unsupported-tokenizer", f"pre_tokenizer {splitter!r} with model type 'WordLevel' is not supported"
        )
    raise Unsupported("unsupported-tokenizer", f"model type {model!r} is not supported")


def check_settings(what: str, found: Mapping[str, Any], allowed: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse a part of the document that has a setting beyond those allowed, or another value for one of them."""
    for setting, value in found.items():
        if setting not in allowed:
            raise Unsupported("unsupported-tokenizer", f"{what} has a setting {setting!r} which is not supported")
        if allowed[setting] and value not in allowed[setting]:
            expected = " or ".join(json.dumps(option) for option in allowed[setting])
            raise Unsupported(
                "unsupported-tokenizer", f"{what} has {setting}={json.dumps(value)}; only {expected} is supported"
            )


def check_document(document: Mapping[str, Any]) -> None:
    """Refuse what would change the ids outside of the model and the pre-tokenizer."""
    for part in ("normalizer", "truncation", "padding"):
        if document.get(part) is not None:
            kind = document[part].get("type", "") if isinstance(document[part], dict) else ""
            raise Unsupported(
                "unsupported-tokenizer", f"{part} {kind!r} is not supported" if kind else f"{part} is not supported"
            )
    after = document.get("post_processor")
    # ByteLevel there moves offsets only, never ids; a template may add nothing to a text.
    if after is not None and after.get("type") != "ByteLevel" and after.get("single") != [_TEXT_ALONE]:
        raise Unsupported("unsupported-tokenizer", f"post_processor {after.get('type')!r} is not supported")


def read_specials(document: Mapping[str, Any], vocabulary: Mapping[str, int]) -> dict[str, int]:
    """The special tokens of a document: text to id."""
    specials: dict[str, int] = {}
    for added in document.get("added_tokens") or []:
        text = added["content"]
        for setting in ("single_word", "lstrip", "rstrip"):
            if added.get(setting):
                raise Unsupported(
                    "unsupported-tokenizer", f"the added token {text!r} has {setting}=true, which is not supported"
                )
        if not added.get("special"):
            raise Unsupported("unsupported-tokenizer", f"the added token {text!r} has special=false, which is not supported")
        if vocabulary.get(text, added["id"]) != added["id"]:
            raise Unsupported(
                "unsupported-tokenizer",
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
    """Write a document under a temporary name beside the final one, then rename: nobody ever reads half a file."""
    final = Path(path)
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{final.name}.", dir=final.parent)
    except OSError as error:
        raise GlasshouseError(
            "cannot-write", f"cannot write the tokenizer to {path}: {error.strerror}; check the path"
        ) from None
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=False, indent=1)
            file.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, final)
    except BaseException:
        os.unlink(temporary)
        raise
