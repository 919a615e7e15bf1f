"""From a `tokenizer.json` to the tokenizer that follows it: ours, or the `tokenizers` package's. Knows every class."""

import json
from os import PathLike
from pathlib import Path
from typing import Any, Final

from glasshouse.specs.errors import GlasshouseError, MissingExtra
from glasshouse.tokenizers.base import Tokenizer
from glasshouse.tokenizers.document import UnsupportedTokenizer

SUPPORTED: Final = (
    "supported are (without the package tokenizers) byte-level BPE with the GPT-2 or the GPT-4 pattern, "
    "WordLevel with Whitespace, and WordLevel with a Split into single characters"
)


def load(path: str | PathLike[str]) -> Tokenizer:
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
    except UnsupportedTokenizer as error:
        return _external(document, f"{path}: {error}; {SUPPORTED}")
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise GlasshouseError(
            "damaged-tokenizer", f"{path} is a damaged tokenizer.json: {type(error).__name__}: {error}"
        ) from error


def _external(document: dict[str, Any], refusal: str) -> Tokenizer:
    """The tokenizer as the `tokenizers` package runs it, or the refusal with what the package says."""
    from glasshouse.tokenizers.external import ExternalTokenizer

    try:
        return ExternalTokenizer(document)
    except MissingExtra:
        raise MissingExtra("tokenizers", f"{refusal}; anything else") from None
    except UnsupportedTokenizer as error:
        raise UnsupportedTokenizer(f"{refusal}; {error}") from None


def _class_of(document: dict[str, Any]) -> type[Tokenizer]:
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
        raise UnsupportedTokenizer(f"pre_tokenizer {splitter!r} with model type 'WordLevel' is not supported")
    raise UnsupportedTokenizer(f"model type {model!r} is not supported")
