"""What word and character tokenizers share: choosing tokens by frequency, and the WordLevel model of the file.

Knows nothing of how text is divided into tokens.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers.base import END_OF_TEXT, UNKNOWN, collect_special_tokens
from glasshouse.tokenizers.safe_boundaries import split_into_blocks
from glasshouse.tokenizers.tokenizer_json import (
    UnsupportedTokenizer,
    build_contents,
    check_common_parts,
    check_settings,
    read_special_tokens,
)

_MODEL_SETTINGS: Final = {"type": ("WordLevel",), "vocab": (), "unk_token": ()}


def reserve_special_tokens(requested: Sequence[str], vocabulary: int) -> list[str]:
    """The special tokens, the unknown token first. The vocabulary must have room for at least one other token."""
    special_tokens = collect_special_tokens(requested, required=(UNKNOWN, END_OF_TEXT))
    if vocabulary <= len(special_tokens):
        raise GlasshouseError(
            f"is too small for {len(special_tokens)} special tokens ({', '.join(special_tokens)}) and at least one "
            f"other token; choose {len(special_tokens) + 1} or more",
            "vocabulary",
            vocabulary,
        )
    return special_tokens


def replace_special_tokens(chunks: Iterable[str], special_tokens: Sequence[str], replacement: str) -> Iterator[str]:
    """The text of a stream in blocks that do not divide words, with every special token replaced."""
    pattern = re.compile("|".join(map(re.escape, sorted(special_tokens, key=len, reverse=True))))
    for block in split_into_blocks(chunks, special_tokens):
        yield pattern.sub(replacement, block)


def most_frequent(counts: Mapping[str, int], size: int) -> list[str]:
    """The most frequent tokens. Ties are in the order of their code points."""
    return sorted(counts, key=lambda token: (-counts[token], token))[:size]


def build_word_level(
    texts: Sequence[str], specials: Mapping[str, int], unknown: str, pre_tokenizer: Mapping[str, Any], decoder: Any
) -> dict[str, Any]:
    """The contents of the file for a vocabulary of texts."""
    model = {"type": "WordLevel", "vocab": {text: id for id, text in enumerate(texts)}, "unk_token": unknown}
    return build_contents(specials, model, pre_tokenizer, decoder)


def read_word_level(contents: Mapping[str, Any]) -> tuple[list[str], dict[str, int], str]:
    """The texts in the order of their ids, the special tokens, and the unknown token of a file."""
    check_common_parts(contents)
    model = contents["model"]
    check_settings("the model", model, _MODEL_SETTINGS)
    vocabulary: dict[str, int] = model["vocab"]
    specials = read_special_tokens(contents, vocabulary)
    unknown = model["unk_token"]
    by_id = {id: text for text, id in {**vocabulary, **specials}.items()}
    if sorted(by_id) != list(range(len(by_id))):
        raise UnsupportedTokenizer("the ids of the vocabulary must be 0, 1, 2, ... without a gap, and they are not")
    if unknown not in vocabulary:
        raise UnsupportedTokenizer(f"unk_token={json.dumps(unknown)} is not in the vocabulary")
    return [by_id[id] for id in range(len(by_id))], specials, unknown
