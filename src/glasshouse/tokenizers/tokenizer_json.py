"""The parts of a `tokenizer.json` that all our tokenizers share: checking, reading and writing them.

Knows no tokenizer class. `contents` is the parsed JSON of such a file.
"""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final

from glasshouse.records import atomic_files
from glasshouse.specs.errors import GlasshouseError

_TEXT_ONLY: Final = {"Sequence": {"id": "A", "type_id": 0}}


class UnsupportedTokenizer(GlasshouseError):
    """A tokenizer.json with a setting that our own tokenizers do not support."""


def check_settings(part: str, settings: Mapping[str, Any], allowed: Mapping[str, tuple[Any, ...]]) -> None:
    """Raise an error if a part of the file has a setting that is not allowed, or an allowed setting with another value.

    An empty tuple in `allowed` permits any value.
    """
    for setting, value in settings.items():
        if setting not in allowed:
            raise UnsupportedTokenizer(f"{part} has a setting {setting!r} which is not supported")
        if allowed[setting] and value not in allowed[setting]:
            expected = " or ".join(json.dumps(option) for option in allowed[setting])
            raise UnsupportedTokenizer(f"{part} has {setting}={json.dumps(value)}; only {expected} is supported")


def check_common_parts(contents: Mapping[str, Any]) -> None:
    """Raise an error if a part other than the model and the pre-tokenizer would change the ids."""
    for part in ("normalizer", "truncation", "padding"):
        if contents.get(part) is not None:
            kind = contents[part].get("type", "") if isinstance(contents[part], dict) else ""
            raise UnsupportedTokenizer(f"{part} {kind!r} is not supported" if kind else f"{part} is not supported")
    post_processor = contents.get("post_processor")
    # A ByteLevel post-processor changes offsets, not ids. A template is supported if it adds no tokens to a text.
    if (
        post_processor is not None
        and post_processor.get("type") != "ByteLevel"
        and post_processor.get("single") != [_TEXT_ONLY]
    ):
        raise UnsupportedTokenizer(f"post_processor {post_processor.get('type')!r} is not supported")


def read_special_tokens(contents: Mapping[str, Any], vocabulary: Mapping[str, int]) -> dict[str, int]:
    """The special tokens of a file: text to id."""
    specials: dict[str, int] = {}
    for added in contents.get("added_tokens") or []:
        text = added["content"]
        for setting in ("single_word", "lstrip", "rstrip"):
            if added.get(setting):
                raise UnsupportedTokenizer(f"the added token {text!r} has {setting}=true, which is not supported")
        if not added.get("special"):
            raise UnsupportedTokenizer(f"the added token {text!r} has special=false, which is not supported")
        if vocabulary.get(text, added["id"]) != added["id"]:
            raise UnsupportedTokenizer(
                f"the added token {text!r} has id {added['id']}, but the model's vocabulary has {vocabulary[text]}",
            )
        specials[text] = int(added["id"])
    return specials


def build_contents(
    specials: Mapping[str, int],
    model: Mapping[str, Any],
    pre_tokenizer: Mapping[str, Any],
    decoder: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The contents of a file for a model."""
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


def write_contents(path: str | PathLike[str], contents: Mapping[str, Any]) -> None:
    """Write a tokenizer.json. If writing fails, no partial file remains."""
    try:
        atomic_files.write_json(Path(path), contents)
    except OSError as error:
        raise GlasshouseError(f"cannot write the tokenizer to {path}: {error.strerror}; check the path") from None
