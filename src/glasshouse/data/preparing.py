"""From a data spec to a tokenizer and token shards, made once and kept in the cache until their text or spec changes."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasshouse import tokenizers
from glasshouse.data import shards
from glasshouse.data.documents import SPLITS, Source
from glasshouse.data.own_files import OwnFiles
from glasshouse.data.sources.located import cache
from glasshouse.records import atomic
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import Data
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.base import END_OF_TEXT

# Raised whenever the same text would become other tokens or another layout, so that old caches are not read.
FORMAT = 1

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Prepared:
    """What training and evaluation read."""

    tokenizer: Tokenizer
    splits: dict[str, shards.Shard]
    fingerprint: str


def source_of(data: Data) -> Source:
    """Where a spec's documents come from."""
    if data.files:
        return OwnFiles(data.files, data.field, data.validation, data.test)
    return catalogue.find("source", data.source, "data.source")()


def prepare(data: Data, tokenizer: Tokenizer | None = None, progress: Progress = lambda what, share: None) -> Prepared:
    """The tokenizer (trained, read from a file, or given) and the shards of every split."""
    source = source_of(data)
    fingerprint = source.fingerprint()
    tokenizer = tokenizer or tokenizer_for(data, source, progress)
    folder = _shards(source, fingerprint, tokenizer, progress)
    splits = {split: shards.open_shard(folder, split) for split in SPLITS}
    if splits["train"].tokens_count <= data.context:
        raise DataError(
            f"the training text has {splits['train'].tokens_count} tokens, too few for one window of "
            f"data.context={data.context} and the token after it; give more text or a shorter context"
        )
    return Prepared(tokenizer, splits, hashlib.blake2b(fingerprint.encode(), digest_size=16).hexdigest())


def tokenizer_for(data: Data, source: Source, progress: Progress = lambda what, share: None) -> Tokenizer:
    """The tokenizer that a data spec names, trained on the training documents alone."""
    if data.tokenizer_file:
        return tokenizers.load(data.tokenizer_file)
    key = _key(source.fingerprint(), data.tokenizer, data.vocabulary, data.pattern)
    path = cache() / "tokenizers" / key / "tokenizer.json"
    if not path.exists():
        total = source.bytes("train")
        cls = catalogue.find("tokenizer", data.tokenizer, "data.tokenizer")

        def chunks() -> Iterator[str]:
            done = 0
            for document in source.documents("train"):
                if not document.continues:
                    yield END_OF_TEXT
                yield document.text
                done += len(document.text.encode())
                progress("reading text", done / max(total, 1))

        trained = cls.train(chunks(), data.vocabulary, pattern=data.pattern, progress=progress)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            trained.save(path)
        except OSError as error:
            raise DataError(
                f"cannot write the tokenizer to {path}: {error.strerror}; free some space or set GLASSHOUSE_CACHE"
            ) from None
    return tokenizers.load(path)


def _shards(source: Source, fingerprint: str, tokenizer: Tokenizer, progress: Progress) -> Path:
    folder = cache() / "shards" / _key(fingerprint, tokenizer.digest())
    if not folder.exists():
        try:
            with atomic.folder(folder) as temporary:
                for split in SPLITS:
                    total = max(source.bytes(split), 1)
                    name = f"encoding {split} text"
                    shards.write(
                        temporary,
                        split,
                        source.documents(split),
                        tokenizer,
                        lambda done, name=name, total=total: progress(name, done / total),  # type: ignore[misc]
                    )
        except FileExistsError:
            if not folder.is_dir():  # else another process made the same shards meanwhile
                raise DataError(f"cannot write token shards to {folder}: set GLASSHOUSE_CACHE to a folder") from None
        except OSError as error:
            raise DataError(
                f"cannot write token shards to {folder}: {error}; free some space or set GLASSHOUSE_CACHE"
            ) from None
    return folder


def _key(*what: Any) -> str:
    return hashlib.blake2b(json.dumps([FORMAT, *what]).encode(), digest_size=12).hexdigest()
