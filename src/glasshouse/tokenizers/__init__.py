"""Tokenizers: text to ids and back, by byte-pair encoding, words or characters. Knows nothing of data sets or models.

This package is cheap to import: the classes are imported when a tokenizer is trained or loaded, the compiler (numba) when
it has much to do.
"""

from os import PathLike
from pathlib import Path
from typing import Any, Final

from glasshouse.records import kept_json
from glasshouse.specs import catalogue
from glasshouse.specs.errors import GlasshouseError, MissingExtra
from glasshouse.tokenizers.base import Tokenizer
from glasshouse.tokenizers.tokenizer_json import UnsupportedTokenizer

__all__ = ["Tokenizer", "load"]

# The pre-tokenizer in a file of type WordLevel -> the name of our tokenizer.
WORD_LEVEL: Final = {"Whitespace": "words", "Sequence": "treebank-words", "Split": "characters"}
# The most tokens of a vocabulary, as of `data.vocabulary`.
MOST_TOKENS: Final = 10_000_000
SUPPORTED: Final = (
    "without the package 'tokenizers', Glasshouse reads only byte-level BPE with the GPT-2 or the GPT-4 pattern, "
    "and WordLevel with Whitespace, with the rules of treebank-words, or with a Split into single characters"
)


def load(path: str | PathLike[str]) -> Tokenizer:
    """Load a `tokenizer.json`, written by Glasshouse or by another program. The tokenizer gives the same ids.

    If none of our own classes supports the file, the `tokenizers` package runs it, provided that it is installed.
    """
    return read(kept_json.required(Path(path), Any, "choose a tokenizer.json", GlasshouseError), str(path))


def read(contents: Any, path: str) -> Tokenizer:
    """The tokenizer with the contents of a `tokenizer.json`. `path` names it in error messages."""
    if not isinstance(contents, dict) or not isinstance(contents.get("model"), dict):
        raise GlasshouseError(f"{path} is not a tokenizer.json: it has no object 'model'; choose another file")
    try:
        _check_ids(contents)
        try:
            return _tokenizer_class(contents).from_json(contents)
        except UnsupportedTokenizer as error:
            return _load_external(contents, f"{path}: {error}; {SUPPORTED}")
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise GlasshouseError(
            f"{path} is a damaged tokenizer.json ({type(error).__name__}: {error}); save the tokenizer again"
        ) from error


def _check_ids(contents: dict[str, Any]) -> None:
    """Raise ValueError for an id that is no possible row of an embedding, before a table of so many rows is made."""
    vocabulary, added = contents["model"].get("vocab"), contents.get("added_tokens") or []
    ids = [*(vocabulary.values() if isinstance(vocabulary, dict) else ()), *(token["id"] for token in added)]
    for id in ids:
        if type(id) is not int or not 0 <= id < MOST_TOKENS:
            raise ValueError(f"the id {str(id)[:40]} of a token is not a whole number from 0 to {MOST_TOKENS - 1:,}")


def _load_external(contents: dict[str, Any], reason: str) -> Tokenizer:
    """The tokenizer as the `tokenizers` package runs it. If that fails, the error states `reason` and the new cause."""
    from glasshouse.tokenizers.external import ExternalTokenizer

    try:
        return ExternalTokenizer(contents)
    except MissingExtra:
        raise MissingExtra("tokenizers", f"{reason}; any other tokenizer") from None
    except UnsupportedTokenizer as error:
        raise UnsupportedTokenizer(f"{reason}; {error}") from None


def _tokenizer_class(contents: dict[str, Any]) -> type[Tokenizer]:
    """The class that reads these contents. It is imported on first use."""
    # Old files do not state the type.
    model = contents["model"].get("type") or ("BPE" if "merges" in contents["model"] else None)
    pre_tokenizer = (contents.get("pre_tokenizer") or {}).get("type")
    if model == "BPE":
        name = "byte-pair"
    elif model != "WordLevel":
        raise UnsupportedTokenizer(f"model type {model!r} is not supported")
    elif pre_tokenizer in WORD_LEVEL:
        name = WORD_LEVEL[pre_tokenizer]
    else:
        raise UnsupportedTokenizer(f"pre_tokenizer {pre_tokenizer!r} with model type 'WordLevel' is not supported")
    found: type[Tokenizer] = catalogue.find("tokenizer", name)
    return found
