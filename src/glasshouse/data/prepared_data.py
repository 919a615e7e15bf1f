"""From a data spec to a tokenizer and token shards. Both are cached until the text or the spec changes."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from glasshouse import tokenizers
from glasshouse.data import corpus_shards, document_columns, shards, text_files
from glasshouse.data.corpus_shards import CorpusShards
from glasshouse.data.documents import SPLITS, Source
from glasshouse.data.sources.remote_files import cache_folder, writing
from glasshouse.data.user_files import text
from glasshouse.data.user_files.pictures import UserPictures
from glasshouse.data.user_files.rows import UserRows
from glasshouse.data.user_files.text import UserText
from glasshouse.records import atomic_files, lock
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.base import END_OF_TEXT, Progress

# The version of the cache. It is raised when the same text would give other tokens or another file layout.
FORMAT = 2
# A tokenizer is trained on at most about this much text: chunks from the whole of it, evenly spaced.
SAMPLE_BYTES = 1 << 30
LABELS = "labels.json"


@dataclass(frozen=True)
class PreparedData:
    """The input of training and evaluation: a tokenizer and a shard for each split; and a sentence on each data leak."""

    tokenizer: Tokenizer
    splits: dict[str, shards.Shard]
    fingerprint: str
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()


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
            raise DataError(f"has no {column}; choose {', '.join(suitable)} or your own file", "data.source", data.source)
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
    if folder := corpus_shards.folder_of(data):
        tokenizer, digest = corpus_shards.check_spec(folder, data, tokenizer, columns, specials)
        return PreparedData(tokenizer, {split: shards.open_shard(folder, split) for split in SPLITS}, digest)
    source = find_source(data, columns)
    preparation = Preparation(data, source, columns, specials, progress)
    tokenizer = tokenizer or preparation.tokenizer()
    folder = preparation.shards(tokenizer)
    # Two pictures may have the same caption, so equal captions are not a leak.
    leaks = _find_leaks(source, columns) if columns and "picture" not in columns else []
    return PreparedData(
        tokenizer,
        {split: shards.open_shard(folder, split) for split in source.splits},
        corpus_shards.short_digest(preparation.fingerprint),
        tuple(shards.read_strings(folder / LABELS)) if preparation.has_names else (),
        (*source.notes(), *leaks),
        tuple(leaks),
    )


class Preparation:
    """The way from a source to a tokenizer and to token shards in the cache."""

    def __init__(
        self,
        data: DataSpec,
        source: Source,
        columns: tuple[str, ...] = (),
        specials: tuple[str, ...] = (),
        progress: Progress = lambda what, share: None,
    ) -> None:
        self.data, self.source, self.columns, self.specials, self.progress = data, source, columns, specials, progress
        source.progress = progress
        self.has_names = bool(set(document_columns.NAMED) & set(columns))
        self.text_columns = tuple(column for column in document_columns.TEXTS if column in columns)

    @cached_property
    def fingerprint(self) -> str:
        return self.source.fingerprint()

    @cached_property
    def sample_bytes(self) -> int | None:
        """The size of a sample for the tokenizer; None if all of the text is used."""
        # Only the user's own files can be so large, and only they know their size without being read again.
        large = isinstance(self.source, UserText) and self.source.bytes("train") > SAMPLE_BYTES
        return SAMPLE_BYTES if large else None

    @cached_property
    def tokenizer_file(self) -> Path:
        data = self.data
        settings = (data.tokenizer, data.vocabulary, data.pattern, *self.specials, *self.text_columns)
        key = _cache_key(self.fingerprint, *settings, *([self.sample_bytes] if self.sample_bytes else []))
        return cache_folder() / "tokenizers" / key / "tokenizer.json"

    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the spec names: from its file, from the cache, or trained on the training documents only."""
        data = self.data
        if data.tokenizer_file:
            return tokenizers.load(data.tokenizer_file)
        path = self.tokenizer_file
        if path.exists():
            return tokenizers.load(path)
        tokenizer_class = catalogue.find("tokenizer", data.tokenizer, "data.tokenizer")
        with writing("the tokenizer", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with lock.wait_for(path.with_name(".lock")):
                if not path.exists():
                    tokenizer_class.train(
                        _tokenizer_text(self.source, self.text_columns, self.sample_bytes, self.progress),
                        data.vocabulary,
                        pattern=data.pattern,
                        specials=(END_OF_TEXT, *self.specials),
                        progress=self.progress,
                    ).save(path)
        return tokenizers.load(path)

    def corpus(self, source: UserText, tokenizer: Tokenizer | None = None, output: Path | None = None) -> CorpusShards:
        """The shards of the user's own text, to be made part by part: in a folder of the user's choice, or in the cache."""
        self.fingerprint  # noqa: B018 (checks every file)
        if output:
            corpus_shards.check_folder(output)
        tokenizer = tokenizer or self.tokenizer()
        settings = corpus_shards.settings_of(self.data, self.specials)
        return CorpusShards(source, tokenizer, output or self._folder(tokenizer), settings, cached=output is None)

    def shards(self, tokenizer: Tokenizer) -> Path:
        """The folder of the shards in the cache. They are written if they are not there yet."""
        folder, source = self._folder(tokenizer), self.source
        if folder.exists():
            return folder
        if isinstance(source, UserText) and sum(summary.bytes for summary in source.summaries.values()) > text.PART_BYTES:
            corpus = self.corpus(source, tokenizer)
            corpus.plan(self.progress)
            corpus.finish(self.progress)
            return folder
        with writing("token shards", folder):
            try:
                self._write(folder, tokenizer)
            except FileExistsError:
                if not folder.is_dir():  # If it is a folder, another process has written the same shards in the meantime.
                    raise
        return folder

    def _folder(self, tokenizer: Tokenizer) -> Path:
        return cache_folder() / "shards" / _cache_key(self.fingerprint, tokenizer.digest(), *self.columns)

    def _write(self, folder: Path, tokenizer: Tokenizer) -> None:
        source = self.source
        with atomic_files.folder(folder) as temporary:
            documents = (document for split in source.splits for document in source.documents(split))
            names = document_columns.class_names(documents, self.columns)
            for split in source.splits:

                def show(done: int, what: str = f"encoding {split} text", total: int = max(source.bytes(split), 1)) -> None:
                    self.progress(what, done / total)

                read = partial(source.documents, split)
                document_columns.write(temporary, split, read, tokenizer, self.columns, names, show)
            if self.has_names:
                atomic_files.write_text(temporary / LABELS, json.dumps(names))


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


def _find_leaks(source: Source, columns: tuple[str, ...]) -> list[str]:
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
            leaks.append(f"{shared} of {len(texts)} {split} texts also occur word for word in the training data")
    return leaks


def _cache_key(*inputs: Any) -> str:
    return hashlib.blake2b(json.dumps([FORMAT, *inputs]).encode(), digest_size=12).hexdigest()
