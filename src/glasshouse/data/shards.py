"""Token shards: the tokens of one split in a file that is mapped into memory, never read whole.

A document begins with the tokenizer's mark for that (ours have the end-of-text mark), so that its first token has something
before it, and the last one is followed by a mark too. `NAME.tokens` holds the tokens, `NAME.starts` where each document
begins, `NAME.json` the counts. Beside them may lie each document's class (`NAME.labels`), picture (`NAME.pictures.npy`), and
translation: a shard of its own, with the texts as they were (`NAME.target.originals.json`), which tokens may not give back.
"""

import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

import numpy as np

from glasshouse.data.documents import Document
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.safe_cuts import blocks


@dataclass(frozen=True)
class Shard:
    """The tokens of a split on disk."""

    folder: Path
    split: str
    tokens_count: int
    documents: int
    bytes: int
    words: int
    unknown: int
    mark: int | None
    dtype: str

    @property
    def marks(self) -> frozenset[int]:
        """The end-of-text token, which stands between documents and is no part of them."""
        return frozenset() if self.mark is None else frozenset([self.mark])

    @cached_property
    def tokens(self) -> np.ndarray:
        """All tokens, mapped: pages are read when touched and given back when memory is short."""
        if self.tokens_count == 0:
            return np.zeros(0, dtype=self.dtype)
        # As a plain array over the mapped file, of which slices are made in a third of the time.
        return np.asarray(np.memmap(self.folder / f"{self.split}.tokens", dtype=self.dtype, mode="r"))

    @cached_property
    def labels(self) -> np.ndarray:
        """The class of each document, where the data have classes."""
        return np.fromfile(self.folder / f"{self.split}.labels", dtype="<i4")

    @cached_property
    def target(self) -> "Shard":
        """The translation of each document, where the data have translations."""
        return open_shard(self.folder, f"{self.split}.target")

    @cached_property
    def originals(self) -> list[str]:
        """The texts as they were before they became tokens, where these were kept."""
        return json.loads((self.folder / f"{self.split}.originals.json").read_text(encoding="utf-8"))

    @cached_property
    def pictures(self) -> np.ndarray:
        """The picture (S, S, 3) of each document in bytes, where the data have pictures."""
        return np.load(self.folder / f"{self.split}.pictures.npy", mmap_mode="r")

    def document(self, index: int) -> np.ndarray:
        """The tokens of one document, without its mark."""
        begin, end = self.starts[index] + (self.mark is not None), self.starts[index + 1]
        return np.asarray(self.tokens[begin:end], dtype=np.int64)

    def texts(self, examples: np.ndarray) -> list[list[int]]:
        """The tokens of several documents, without their marks."""
        begins, ends = (self.starts[examples] + (self.mark is not None)).tolist(), self.starts[examples + 1].tolist()
        return [self.tokens[begin:end].tolist() for begin, end in zip(begins, ends, strict=True)]

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each document's mark stands, and one past the end."""
        return np.fromfile(self.folder / f"{self.split}.starts", dtype="<i8")


def write(
    folder: Path,
    split: str,
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    progress: Callable[[int], None] = lambda done: None,
) -> Shard:
    """Encode documents into a shard, holding one part of one document in memory at a time."""
    dtype = "<u2" if tokenizer.vocabulary <= 1 << 16 else "<u4"
    mark = [] if tokenizer.beginning is None else [tokenizer.beginning]
    starts = array("q")
    total = size = words = unknown = 0
    with open(folder / f"{split}.tokens", "wb") as file:
        for first, text in _pieces(documents):
            ids = tokenizer.encode(text, specials=False)
            if first:
                starts.append(total)
                ids = np.concatenate([np.array(mark, dtype=ids.dtype), ids])
            file.write(ids.astype(dtype).tobytes())
            total += len(ids)
            size += len(text.encode())
            words += len(text.split())
            if tokenizer.unknown is not None:
                unknown += int(np.count_nonzero(ids == tokenizer.unknown))
            progress(size)
        if starts:
            file.write(np.array(mark, dtype=dtype).tobytes())
            starts.append(total)
            total += len(mark)
    (folder / f"{split}.starts").write_bytes(np.frombuffer(starts, dtype="<i8").tobytes() if starts else b"")
    facts = {
        "tokens_count": total,
        "documents": max(len(starts) - 1, 0),
        "bytes": size,
        "words": words,
        "unknown": unknown,
        "mark": tokenizer.beginning,
        "dtype": dtype,
    }
    (folder / f"{split}.json").write_text(json.dumps(facts))
    return Shard(folder, split, **facts)  # type: ignore[arg-type]


def write_labels(folder: Path, split: str, labels: Iterable[int]) -> None:
    """The class of each document, beside its tokens."""
    np.array(list(labels), dtype="<i4").tofile(folder / f"{split}.labels")


def write_originals(folder: Path, split: str, texts: Iterable[str]) -> None:
    """The texts themselves, beside their tokens."""
    (folder / f"{split}.originals.json").write_text(json.dumps(list(texts), ensure_ascii=False), encoding="utf-8")


def write_pictures(folder: Path, split: str, pictures: Iterable[np.ndarray]) -> None:
    """The picture of each document, all of one size, beside its tokens."""
    found = list(pictures)
    np.save(folder / f"{split}.pictures.npy", np.stack(found) if found else np.zeros((0, 1, 1, 3), np.uint8))


def open_shard(folder: Path, split: str) -> Shard:
    """A shard written before."""
    return Shard(folder, split, **json.loads((folder / f"{split}.json").read_text()))


def _pieces(documents: Iterable[Document]) -> Iterator[tuple[bool, str]]:
    """(whether a document begins here, text), where a document that comes in parts is cut only between tokens."""
    number = 0

    def document_of(part: Document) -> int:
        nonlocal number
        number += not part.continues
        return number

    for _, parts in groupby(documents, document_of):
        for index, block in enumerate(blocks(part.text for part in parts)):
            yield index == 0, block
