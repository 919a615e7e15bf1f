"""From a data spec to a tokenizer and token shards, made once and kept in the cache until their text or spec changes."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasshouse import tokenizers
from glasshouse.data import shards
from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.remote_files import cache
from glasshouse.data.user_files.labelled import UserLabelled
from glasshouse.data.user_files.pairs import UserPairs
from glasshouse.data.user_files.pictures import UserPictures
from glasshouse.data.user_files.text import UserText
from glasshouse.records import atomic_files
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.base import END_OF_TEXT

# Raised whenever the same text would become other tokens or another layout, so that old caches are not read.
FORMAT = 2

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Leak:
    """Held-out texts that also stand, word for word, in the training data."""

    split: str
    shared: int
    texts: int

    @property
    def sentence(self) -> str:
        return f"{self.shared} of {self.texts} {self.split} texts stand word for word in the training data too"


@dataclass(frozen=True)
class PreparedData:
    """What training and evaluation read."""

    tokenizer: Tokenizer
    splits: dict[str, shards.Shard]
    fingerprint: str
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    leaks: tuple[Leak, ...] = ()


def source_of(data: DataSpec, columns: tuple[str, ...] = ()) -> Source:
    """Where a spec's documents come from; `columns` are what each must have besides its text."""
    if data.files:
        if "target" in columns:
            return UserPairs(data.files, data.field, data.target, data.validation, data.test)
        if "picture" in columns:
            return UserPictures(data.files, data.picture_size, data.validation, data.test)
        if columns:
            return UserLabelled(data.files, data.field, data.label, data.validation, data.test)
        return UserText(data.files, data.field, data.validation, data.test)
    source = catalogue.find("source", data.source, "data.source")
    for column in columns:
        if column not in source.columns:
            able = [name for name in catalogue.names("source") if column in catalogue.find("source", name).columns]
            raise DataError(
                "source-lacks-column",
                f"data.source={data.source!r} has no {column} for each text; choose one that has ({', '.join(able)}), "
                "or give your own: data.files=mine.tsv",
            )
    return source.of(data)


def prepare(
    data: DataSpec,
    tokenizer: Tokenizer | None = None,
    progress: Progress = lambda what, share: None,
    columns: tuple[str, ...] = (),
    specials: tuple[str, ...] = (),
) -> PreparedData:
    """The tokenizer (trained, read from a file, or given) and the shards of every split.

    `columns` are what a task needs of each document besides its text, `specials` the tokens it needs of a tokenizer.
    """
    source = source_of(data, columns)
    fingerprint = source.fingerprint()
    tokenizer = tokenizer or tokenizer_for(data, source, progress, specials, columns)
    folder = _shards(source, fingerprint, tokenizer, progress, columns)
    splits = {split: shards.open_shard(folder, split) for split in source.splits}
    labels = tuple(json.loads((folder / "labels.json").read_text(encoding="utf-8"))) if "label" in columns else ()
    made = hashlib.blake2b(fingerprint.encode(), digest_size=16).hexdigest()
    # Pictures are drawn or read anew each time, and their captions may repeat.
    leaks = _leaks(source) if columns and "picture" not in columns else []
    notes = (*source.notes(), *(leak.sentence for leak in leaks))
    return PreparedData(tokenizer, splits, made, labels, notes, tuple(leaks))


def tokenizer_for(
    data: DataSpec,
    source: Source,
    progress: Progress = lambda what, share: None,
    specials: tuple[str, ...] = (),
    columns: tuple[str, ...] = (),
) -> Tokenizer:
    """The tokenizer that a data spec names, trained on the training documents alone."""
    if data.tokenizer_file:
        return tokenizers.load(data.tokenizer_file)
    both = ("target",) if "target" in columns else ()
    key = _key(source.fingerprint(), data.tokenizer, data.vocabulary, data.pattern, *specials, *both)
    path = cache() / "tokenizers" / key / "tokenizer.json"
    if not path.exists():
        total = source.bytes("train")
        cls = catalogue.find("tokenizer", data.tokenizer, "data.tokenizer")

        def chunks() -> Iterator[str]:
            done = 0
            for document in source.lexicon():
                if not document.continues:
                    yield END_OF_TEXT
                yield document.text
                for column in both:
                    yield END_OF_TEXT
                    yield document.fields[column]
                done += len(document.text.encode())
                progress("reading text", done / max(total, 1))

        marks = (END_OF_TEXT, *specials)
        trained = cls.train(chunks(), data.vocabulary, pattern=data.pattern, specials=marks, progress=progress)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            trained.save(path)
        except OSError as error:
            raise DataError(
                "cannot-write-cache",
                f"cannot write the tokenizer to {path}: {error.strerror}; free some space or set GLASSHOUSE_CACHE",
            ) from None
    return tokenizers.load(path)


def _shards(source: Source, fingerprint: str, tokenizer: Tokenizer, progress: Progress, columns: tuple[str, ...]) -> Path:
    folder = cache() / "shards" / _key(fingerprint, tokenizer.digest(), *columns)
    if not folder.exists():
        try:
            with atomic_files.folder(folder) as temporary:
                for split in source.splits:
                    total = max(source.bytes(split), 1)
                    name = f"encoding {split} text"
                    shards.write(
                        temporary,
                        split,
                        source.documents(split),
                        tokenizer,
                        lambda done, name=name, total=total: progress(name, done / total),  # type: ignore[misc]
                    )
                if "label" in columns:
                    _write_labels(temporary, source)
                for split in source.splits if "target" in columns else ():
                    write_targets(temporary, split, source.documents(split), tokenizer)
                for split in source.splits if "picture" in columns else ():
                    drawn = (document.picture for document in source.documents(split))
                    shards.write_pictures(temporary, split, (picture for picture in drawn if picture is not None))
        except FileExistsError:
            if not folder.is_dir():  # else another process made the same shards meanwhile
                raise DataError(
                    "cannot-write-cache", f"cannot write token shards to {folder}: set GLASSHOUSE_CACHE to a folder"
                ) from None
        except OSError as error:
            raise DataError(
                "cannot-write-cache",
                f"cannot write token shards to {folder}: {error}; free some space or set GLASSHOUSE_CACHE",
            ) from None
    return folder


def _leaks(source: Source) -> list[Leak]:
    """The held-out texts that are trained on too: memorising them flatters a model."""
    learned = {document.text for document in source.documents("train")}
    found = []
    for split in source.splits[1:]:
        texts = [document.text for document in source.documents(split)]
        if known := sum(text in learned for text in texts):
            found.append(Leak(split, known, len(texts)))
    return found


def _write_labels(folder: Path, source: Source) -> None:
    """The class of each document as a number, by the sorted names of all that occur."""
    found = {split: [document.fields["label"] for document in source.documents(split)] for split in source.splits}
    names = sorted({label for labels in found.values() for label in labels})
    for split, labels in found.items():
        shards.write_labels(folder, split, (names.index(label) for label in labels))
    atomic_files.write_text(folder / "labels.json", json.dumps(names))


def write_targets(folder: Path, split: str, documents: Iterable[Document], tokenizer: Tokenizer) -> None:
    """Each document's translation as a shard of its own, and both texts as they were."""
    pairs = [(document.text, document.fields["target"]) for document in documents]
    shards.write(folder, f"{split}.target", (Document(target) for _, target in pairs), tokenizer)
    shards.write_originals(folder, split, (text for text, _ in pairs))
    shards.write_originals(folder, f"{split}.target", (target for _, target in pairs))


def _key(*what: Any) -> str:
    return hashlib.blake2b(json.dumps([FORMAT, *what]).encode(), digest_size=12).hexdigest()
