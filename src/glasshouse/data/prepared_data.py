"""From a data spec to a tokenizer and token shards. Both are cached until the text or the spec changes."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from glasshouse import tokenizers
from glasshouse.data import corpus_shards, document_columns, file_summaries, prepared_folder, shards, text_files
from glasshouse.data.corpus_shards import CorpusShards
from glasshouse.data.documents import SPLITS, Source
from glasshouse.data.sources.remote_files import cache_folder
from glasshouse.data.user_files.pictures import UserPictures
from glasshouse.data.user_files.rows import UserRows
from glasshouse.data.user_files.text import UserText
from glasshouse.records import atomic_files, kept_json, lock
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.base import END_OF_TEXT, Progress

# The version of the cache. It is raised when the same text would give other tokens or another file layout.
FORMAT = 2
# A tokenizer is trained on at most about this much text: chunks from the whole of it, evenly spaced.
SAMPLE_BYTES = 1 << 30


@dataclass(frozen=True)
class Leak:
    """Data leakage in one held-out split: `shared` of its `texts` also occur, word for word, in the training data."""

    split: str
    shared: int
    texts: int

    @property
    def sentence(self) -> str:
        return f"{self.shared} of {self.texts} {self.split} texts also occur word for word in the training data"


@dataclass(frozen=True)
class PreparedData:
    """The input of training and evaluation: a tokenizer and a shard for each split."""

    tokenizer: Tokenizer
    splits: dict[str, shards.Shard]
    fingerprint: str
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    leaks: tuple[Leak, ...] = ()


def find_source(data: DataSpec, columns: tuple[str, ...] = ()) -> Source:
    """The source of documents that a data spec names. Its documents must have all of `columns` besides their text."""
    if data.files:
        if "picture" in columns:
            return UserPictures(data)
        return UserRows(data, columns) if columns else UserText(data)
    source = catalogue.find("source", data.source, "data.source")
    for column in columns:
        if column not in source.columns:
            suitable = [name for name, other in catalogue.loadable("source").items() if column in other.columns]
            raise DataError(
                f"has no {column} for its texts; choose one of {', '.join(suitable)}, or use your own file",
                "data.source",
                data.source,
            )
    return source.from_spec(data)


def prepare(
    data: DataSpec,
    tokenizer: Tokenizer | None = None,
    progress: Progress = lambda what, share: None,
    columns: tuple[str, ...] = (),
    specials: tuple[str, ...] = (),
) -> PreparedData:
    """Prepare the tokenizer and the shards of all splits, or read them from the cache.

    Without a `tokenizer`, the one that the spec names is read from its file or trained. `columns` lists what the task needs
    of each document besides its text, `specials` the special tokens that it needs. `data.files` may name a folder that
    `glasshouse data prepare` wrote.
    """
    if folder := prepared_folder.named(data):
        tokenizer, digest = prepared_folder.check(folder, data, tokenizer, columns, specials)
        return PreparedData(tokenizer, {split: shards.open_shard(folder, split) for split in SPLITS}, digest)
    source = find_source(data, columns)
    source.progress = progress
    fingerprint = source.fingerprint()
    tokenizer = tokenizer or load_or_train_tokenizer(data, source, progress, specials, columns)
    folder = _cached_shards(data, source, tokenizer, progress, columns, specials)
    splits = {split: shards.open_shard(folder, split) for split in source.splits}
    named = set(document_columns.NAMED) & set(columns)
    labels = _read_labels(folder / "labels.json") if named else ()
    digest = corpus_shards.short_digest(fingerprint)
    # Two pictures may have the same caption, so equal captions are not a leak.
    leaks = _find_leaks(source, columns) if columns and "picture" not in columns else []
    notes = (*source.notes(), *(leak.sentence for leak in leaks))
    return PreparedData(tokenizer, splits, digest, labels, notes, tuple(leaks))


def _read_labels(file: Path) -> tuple[str, ...]:
    try:
        return tuple(kept_json.read(file, list[str]))
    except (OSError, ValueError) as error:
        raise DataError(f"{file} is damaged ({error}); delete {file.parent}, and it is made again") from None


def load_or_train_tokenizer(
    data: DataSpec,
    source: Source,
    progress: Progress = lambda what, share: None,
    specials: tuple[str, ...] = (),
    columns: tuple[str, ...] = (),
) -> Tokenizer:
    """The tokenizer that a data spec names: from its file, from the cache, or trained on the training documents only."""
    if data.tokenizer_file:
        return tokenizers.load(data.tokenizer_file)
    text_columns = tuple(column for column in document_columns.TEXTS if column in columns)
    limit = _sample_limit(source)
    path = _tokenizer_file(data, source, specials, text_columns)
    if path.exists():
        return tokenizers.load(path)
    tokenizer_class = catalogue.find("tokenizer", data.tokenizer, "data.tokenizer")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with lock.wait_for(path.with_name(".lock")):
            if not path.exists():
                tokenizer_class.train(
                    _tokenizer_text(source, text_columns, limit, progress),
                    data.vocabulary,
                    pattern=data.pattern,
                    specials=(END_OF_TEXT, *specials),
                    progress=progress,
                ).save(path)
    except OSError as error:
        raise DataError(
            f"cannot write the tokenizer to {path}: {error.strerror}; free some space, or set GLASSHOUSE_CACHE"
        ) from None
    return tokenizers.load(path)


def _sample_limit(source: Source) -> int | None:
    """The number of bytes of a sample for the tokenizer; None if all of the text is used."""
    # Only the user's own files can be so large, and only they know their size without being read again.
    return SAMPLE_BYTES if isinstance(source, UserText) and source.bytes("train") > SAMPLE_BYTES else None


def _tokenizer_file(data: DataSpec, source: Source, specials: tuple[str, ...], text_columns: tuple[str, ...] = ()) -> Path:
    """Where the tokenizer that is trained on a source is kept."""
    limit = _sample_limit(source)
    settings = (data.tokenizer, data.vocabulary, data.pattern, *specials, *text_columns)
    key = _cache_key(source.fingerprint(), *settings, *([limit] if limit else []))
    return cache_folder() / "tokenizers" / key / "tokenizer.json"


def _tokenizer_text(source: Source, text_columns: tuple[str, ...], limit: int | None, progress: Progress) -> Iterator[str]:
    """The text that a tokenizer is trained on: all training documents, or evenly spaced chunks up to a limit in bytes."""
    total = max(source.bytes("train"), 1)
    share = limit / total if limit else 1.0
    read = used = 0
    gap = False
    for document in source.tokenizer_documents():
        size = len(document.text.encode())
        read += size
        if limit and used + size > read * share + text_files.CHUNK_BYTES:
            gap = True
            continue
        if gap or not document.continues:
            yield END_OF_TEXT
        gap = False
        yield document.text
        for column in text_columns:
            yield END_OF_TEXT
            yield document.fields[column]
        used += size
        progress("reading text", read / total)


def corpus_shards_of(
    data: DataSpec,
    specials: tuple[str, ...] = (),
    output: Path | None = None,
    progress: Progress = lambda what, share: None,
) -> CorpusShards:
    """The shards of the user's own text, to be made part by part: in a folder of the user's choice, or in the cache.

    The tokenizer is loaded, or trained if no process has trained it yet.
    """
    source = UserText(data)
    source.progress = progress
    progress("reading text", 0.0)
    source.fingerprint()  # checks every file
    if output:
        corpus_shards.check_folder(output)
    return _corpus_shards(data, source, specials, output, progress)


def known_corpus_shards(data: DataSpec, specials: tuple[str, ...] = (), output: Path | None = None) -> CorpusShards | None:
    """The shards of the user's own text, if they are known without reading a large file or training a tokenizer."""
    source = UserText(data)
    if not all(map(file_summaries.is_cheap, source.files)):
        return None
    if not data.tokenizer_file and not _tokenizer_file(data, source, specials).exists():
        return None
    return _corpus_shards(data, source, specials, output)


def _corpus_shards(
    data: DataSpec,
    source: UserText,
    specials: tuple[str, ...],
    output: Path | None,
    progress: Progress = lambda what, share: None,
) -> CorpusShards:
    tokenizer = load_or_train_tokenizer(data, source, progress, specials)
    folder = output or _shards_folder(source.fingerprint(), tokenizer)
    return CorpusShards(source, tokenizer, folder, prepared_folder.settings_of(data, specials), cached=output is None)


def _shards_folder(fingerprint: str, tokenizer: Tokenizer, columns: tuple[str, ...] = ()) -> Path:
    return cache_folder() / "shards" / _cache_key(fingerprint, tokenizer.digest(), *columns)


def _cached_shards(
    data: DataSpec,
    source: Source,
    tokenizer: Tokenizer,
    progress: Progress,
    columns: tuple[str, ...],
    specials: tuple[str, ...],
) -> Path:
    """The folder of the shards in the cache. They are written if they are not there yet."""
    folder = _shards_folder(source.fingerprint(), tokenizer, columns)
    if folder.exists():
        return folder
    if isinstance(source, UserText) and not columns and corpus_shards.is_large(source):
        corpus = CorpusShards(source, tokenizer, folder, prepared_folder.settings_of(data, specials))
        corpus.plan(progress)
        corpus.finish(progress)
        return folder
    try:
        with atomic_files.folder(folder) as temporary:
            names = document_columns.class_names(
                (document for split in source.splits for document in source.documents(split)), columns
            )
            for split in source.splits:
                total = max(source.bytes(split), 1)
                document_columns.write(
                    temporary,
                    split,
                    partial(source.documents, split),
                    tokenizer,
                    columns,
                    names,
                    lambda done, split=split, total=total: progress(f"encoding {split} text", done / total),  # type: ignore[misc]
                )
            if set(document_columns.NAMED) & set(columns):
                atomic_files.write_text(temporary / "labels.json", json.dumps(names))
    except FileExistsError:
        if not folder.is_dir():  # If it is a folder, another process has written the same shards in the meantime.
            raise DataError(
                f"cannot write token shards to {folder}: part of the path is a file; set GLASSHOUSE_CACHE to a folder"
            ) from None
    except OSError as error:
        raise DataError(
            f"cannot write token shards to {folder}: {error}; free some space, or set GLASSHOUSE_CACHE"
        ) from None
    return folder


def _find_leaks(source: Source, columns: tuple[str, ...]) -> list[Leak]:
    """The held-out splits that share texts with the training split. A model that memorises these scores too well."""

    def read(split: str) -> list[tuple[str, str]]:
        """The texts of a split, each with the second text of its pair."""
        documents = source.documents(split)
        return [(document.text, document.fields["second"] if "second" in columns else "") for document in documents]

    training_texts = set(read("train"))
    leaks = []
    for split in source.splits[1:]:
        texts = read(split)
        if shared := sum(text in training_texts for text in texts):
            leaks.append(Leak(split, shared, len(texts)))
    return leaks


def _cache_key(*inputs: Any) -> str:
    return hashlib.blake2b(json.dumps([FORMAT, *inputs]).encode(), digest_size=12).hexdigest()
