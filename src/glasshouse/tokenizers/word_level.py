"""What vocabularies of whole words and of single characters share: choosing by frequency, and their part of the file.

Knows nothing of how text is divided.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers.base import END_OF_TEXT, UNKNOWN, special_tokens
from glasshouse.tokenizers.document import UnsupportedTokenizer, check_document, check_settings, document_of, read_specials
from glasshouse.tokenizers.safe_cuts import blocks

_MODEL_SETTINGS: Final = {"type": ("WordLevel",), "vocab": (), "unk_token": ()}


def marks_for(given: Sequence[str], vocabulary: int) -> list[str]:
    """The special tokens: the unknown one first. They must leave room for at least one token more."""
    marks = special_tokens(given, always=(UNKNOWN, END_OF_TEXT))
    if vocabulary <= len(marks):
        raise GlasshouseError(
            "vocabulary-too-small",
            f"vocabulary={vocabulary} is too small: {len(marks)} are special tokens ({', '.join(marks)}); "
            f"choose {len(marks) + 1} or more",
        )
    return marks


def ordinary_texts(chunks: Iterable[str], marks: Sequence[str], instead: str) -> Iterator[str]:
    """The text of a stream, part by part, cut where no word is cut, with something else instead of special tokens."""
    separator = re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))))
    for block in blocks(chunks, marks):
        yield separator.sub(instead, block)


def most_frequent(counts: Mapping[str, int], size: int) -> list[str]:
    """The most frequent tokens; of those equally frequent, the first in the order of their code points."""
    return sorted(counts, key=lambda token: (-counts[token], token))[:size]


def word_level_document(
    texts: Sequence[str], specials: Mapping[str, int], unknown: str, pre_tokenizer: Mapping[str, Any], decoder: Any
) -> dict[str, Any]:
    """The contents of the file for a vocabulary of texts."""
    model = {"type": "WordLevel", "vocab": {text: id for id, text in enumerate(texts)}, "unk_token": unknown}
    return document_of(specials, model, pre_tokenizer, decoder)


def read_word_level(document: Mapping[str, Any]) -> tuple[list[str], dict[str, int], str]:
    """The texts by id, the special tokens and the unknown token of a file."""
    check_document(document)
    model = document["model"]
    check_settings("the model", model, _MODEL_SETTINGS)
    vocabulary: dict[str, int] = model["vocab"]
    specials = read_specials(document, vocabulary)
    unknown = model["unk_token"]
    by_id = {id: text for text, id in {**vocabulary, **specials}.items()}
    if sorted(by_id) != list(range(len(by_id))):
        raise UnsupportedTokenizer("the ids of the vocabulary are not 0, 1, 2, ... without a gap")
    if unknown not in vocabulary:
        raise UnsupportedTokenizer(f"unk_token={json.dumps(unknown)} is not in the vocabulary")
    return [by_id[id] for id in range(len(by_id))], specials, unknown
