"""A folder that `glasshouse data prepare --output FOLDER` wrote, as the data of a run: `data.files=FOLDER`.

The text itself is not needed. The spec must have the settings that the folder was prepared with, so that it still says what
made the run.
"""

import hashlib
from pathlib import Path
from typing import Any, TypedDict

from glasshouse import tokenizers
from glasshouse.records import kept_json, user_paths
from glasshouse.records.kept_schema import Count, as_type
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers import Tokenizer

MANIFEST = "manifest.json"
TOKENIZER = "tokenizer.json"
FORMAT = 1
TEXT_SETTINGS = ("field", "validation", "test")


class CorpusManifest(TypedDict):
    """The manifest of prepared text, as far as readers need it."""

    format: Count
    fingerprint: str
    settings: dict[str, Any]
    splits: dict[str, dict[str, Any]]


def read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = kept_json.read(folder / MANIFEST, dict[str, Any])
        if isinstance(format := manifest.get("format"), int) and format > FORMAT:
            raise DataError(f"{folder} has format {format}, and this version reads up to {FORMAT}; install a newer version")
        as_type(manifest, CorpusManifest)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{folder / MANIFEST} cannot be read ({error}); remove {folder} and prepare the text again"
        ) from None
    return manifest


def short_digest(fingerprint: str) -> str:
    """What a run remembers of its data."""
    return hashlib.blake2b(fingerprint.encode(), digest_size=16).hexdigest()


def settings_of(data: DataSpec, specials: tuple[str, ...]) -> dict[str, Any]:
    """The settings that decide what the tokens are. A tokenizer from a file has no other settings."""
    settings = {name: getattr(data, name) for name in TEXT_SETTINGS}
    if not data.tokenizer_file:
        settings |= {"tokenizer": data.tokenizer, "vocabulary": data.vocabulary, "pattern": data.pattern}
        settings["specials"] = list(specials)
    return settings


def named(data: DataSpec) -> Path | None:
    """The folder that `data.files` names, if it is one of prepared text."""
    if len(data.files) != 1:
        return None
    folder = user_paths.expand(data.files[0])
    return folder if (folder / MANIFEST).is_file() else None


def check(
    folder: Path, data: DataSpec, tokenizer: Tokenizer | None, columns: tuple[str, ...], specials: tuple[str, ...]
) -> tuple[Tokenizer, str]:
    """The tokenizer of the folder and the fingerprint of its text. Refuses a spec that the folder does not fit."""
    if columns:
        raise DataError(f"holds prepared text, which has no {columns[0]}; use the original files", "data.files", folder)
    manifest = read_manifest(folder)
    wanted, prepared = settings_of(data, specials), manifest["settings"]
    own = tokenizers.load(folder / TOKENIZER)
    if tokenizer is None and data.tokenizer_file:
        tokenizer = tokenizers.load(data.tokenizer_file)
    use_own = f"use data.tokenizer_file={folder / TOKENIZER}"
    if tokenizer is not None:
        if tokenizer.digest() != own.digest():
            raise DataError(f"{folder} was prepared with another tokenizer; {use_own}, or prepare the text again")
        wanted = {name: wanted[name] for name in TEXT_SETTINGS}
    elif "tokenizer" not in prepared:
        raise DataError(f"{folder} was prepared with the tokenizer of a file; {use_own}")
    if "specials" in wanted and wanted["specials"] != prepared["specials"]:
        raise DataError(
            f"the special tokens of this task are {wanted['specials']}, and {folder} was prepared with "
            f"{prepared['specials']}; prepare the text for this task: glasshouse data prepare --recipe RECIPE"
        )
    differing = [name for name in wanted if name != "specials" and wanted[name] != prepared[name]]
    if differing:
        remedy = " ".join(f"data.{name}={prepared[name]}" for name in differing)
        found = ", ".join(f"data.{name}={wanted[name]}" for name in differing)
        raise DataError(f"{folder} was not prepared with {found}; set {remedy}, or prepare the text again")
    return own, short_digest(manifest["fingerprint"])
