"""Token shards: the tokens of one split in a file that is mapped into memory instead of being read as a whole.

Every document starts with the tokenizer's document-start token, so that its first token has a predecessor; the last document
is followed by one as well. Our own tokenizers use the end-of-text token for this. The files of a shard are:

- `NAME.tokens`: the tokens;
- `NAME.starts`: where each document starts;
- `NAME.json`: counts;
- `NAME.labels`: the class of each document, for labelled data;
- `NAME.values`: the number of each document, for regression;
- `NAME.label-sets.*`, `NAME.tags.*`: lists of numbers, for texts with several classes and for texts with tagged words;
- `NAME.second.*`: a second shard with the second text of each document, for pairs of texts;
- `NAME.pictures.npy`: the picture of each document, for captioned pictures;
- `NAME.target.*`: a second shard with the translation of each document, for translation pairs;
- `NAME.originals.json`, `NAME.target.originals.json`: the original texts of the pairs, since decoding may not restore them.
"""

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np

from glasshouse.data.documents import Document
from glasshouse.records import kept_json
from glasshouse.records.kept_schema import Between, Count, Step
from glasshouse.specs.errors import DataError
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.safe_boundaries import split_into_blocks

SHORT_TEXT = 1000
# Whether `str.split` divides at a character. U+3000 is the last one; any larger code point counts as the one after it.
_BLANKS = np.array([chr(code).isspace() for code in range(0x3002)])


@dataclass(frozen=True)
class Lists:
    """A list of numbers for each document. List n is `values[starts[n]:starts[n + 1]]`."""

    values: np.ndarray
    starts: np.ndarray

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(np.fromfile(f"{path}.values", "<i4"), np.fromfile(f"{path}.starts", "<i8"))

    def __getitem__(self, index: int) -> np.ndarray:
        return self.values[self.starts[index] : self.starts[index + 1]]

    def of(self, examples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(row, value) of every number of some documents; a row is a place in `examples`."""
        counts = self.starts[examples + 1] - self.starts[examples]
        rows = np.repeat(np.arange(len(examples)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, self.values[self.starts[examples][rows] + within]


@dataclass(frozen=True)
class ShardHeader:
    """The JSON file of a shard. `mark` is the token that starts each document, if the tokenizer has one."""

    tokens_count: Step
    documents: Step
    bytes: Count
    words: Count
    unknown: Count
    mark: Annotated[int, Between(0, 2**31)] | None
    dtype: Literal["<u2", "<u4"]


@dataclass(frozen=True)
class Shard(ShardHeader):
    """The tokens of a split on disk."""

    folder: Path
    split: str

    @property
    def separators(self) -> frozenset[int]:
        """The tokens that separate documents and do not belong to any document."""
        return frozenset() if self.mark is None else frozenset([self.mark])

    @cached_property
    def tokens(self) -> np.ndarray:
        """All tokens, memory-mapped: the operating system reads pages on first access and may drop them again."""
        if self.tokens_count == 0:
            return np.zeros(0, dtype=self.dtype)
        # Slicing a plain array over the mapped file takes a third of the time of slicing a `memmap`.
        return np.asarray(np.memmap(self.file("tokens"), dtype=self.dtype, mode="r"))

    @cached_property
    def starts(self) -> np.ndarray:
        """The position of each document's separator, and the position after the last document."""
        return np.fromfile(self.file("starts"), dtype="<i8")

    def texts(self, examples: np.ndarray) -> list[list[int]]:
        """The tokens of several documents, without the separators."""
        begins = (self.starts[examples] + (self.mark is not None)).tolist()
        ends = self.starts[examples + 1].tolist()
        return [self.tokens[begin:end].tolist() for begin, end in zip(begins, ends, strict=True)]

    def file(self, ending: str) -> Path:
        return self.folder / f"{self.split}.{ending}"

    # What follows is only there if the data have such a column.
    labels = cached_property(lambda shard: np.fromfile(shard.file("labels"), "<i4"))
    values = cached_property(lambda shard: np.fromfile(shard.file("values"), "<f8"))
    label_sets = cached_property(lambda shard: Lists.read(shard.file("label-sets")))
    tags = cached_property(lambda shard: Lists.read(shard.file("tags")))
    # The position in its document of each tagged word's first token.
    first_tokens = cached_property(lambda shard: Lists.read(shard.file("first-tokens")))
    second = cached_property(lambda shard: open_shard(shard.folder, f"{shard.split}.second"))
    target = cached_property(lambda shard: open_shard(shard.folder, f"{shard.split}.target"))
    # The texts of translation pairs before tokenization.
    originals = cached_property(lambda shard: read_strings(shard.file("originals.json")))
    # (documents, S, S, 3) in uint8
    pictures = cached_property(lambda shard: np.load(shard.file("pictures.npy"), mmap_mode="r"))


class ShardWriter:
    """Encodes blocks of text into the token file of a shard, one block at a time."""

    def __init__(self, folder: Path, split: str, tokenizer: Tokenizer) -> None:
        self.folder, self.split, self.tokenizer = folder, split, tokenizer
        self.dtype = token_dtype(tokenizer)
        self.starts = array("q")
        self.tokens = self.bytes = self.words = self.unknown = 0
        self._file = open(folder / f"{split}.tokens", "wb")  # noqa: SIM115 (`close` closes it)

    def add(self, text: str, starts_document: bool) -> None:
        """Encode a block. Its boundaries must not change the tokens."""
        self.add_tokens(self.tokenizer.encode(text, specials=False), text, starts_document)

    def add_tokens(self, ids: np.ndarray, text: str, starts_document: bool) -> None:
        """Add a block that is already encoded."""
        if starts_document:
            self.starts.append(self.tokens)
            ids = np.concatenate([np.array(separator_tokens(self.tokenizer), dtype=ids.dtype), ids])
        self._file.write(ids.astype(self.dtype).tobytes())
        self.tokens += len(ids)
        self.bytes += len(text.encode())
        self.words += count_words(text)
        if self.tokenizer.unknown is not None:
            self.unknown += int(np.count_nonzero(ids == self.tokenizer.unknown))

    def finish_part(self) -> dict[str, Any]:
        """Write the starts, and leave the last document open: the next part may continue it. Returns the counts."""
        np.array(self.starts, dtype="<i8").tofile(self.folder / f"{self.split}.starts")
        self.close()
        counts = {name: getattr(self, name) for name in ("tokens", "bytes", "words", "unknown")}
        return {"documents": len(self.starts), **counts}

    def finish(self) -> Shard:
        """End the last document, write the starts and the counts, and open the shard."""
        return complete(self.folder, self.split, self.tokenizer, self.finish_part())

    def close(self) -> None:
        self._file.close()


def write(
    folder: Path,
    split: str,
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    progress: Callable[[int], None] = lambda done: None,
    keep_empty: bool = False,
) -> Shard:
    """Encode documents into a shard. Only one block of one document is in memory at a time.

    An empty document is left out, unless `keep_empty`: where documents have labels, a missing one would shift these.
    """
    with closing(ShardWriter(folder, split, tokenizer)) as writer:
        for is_start, text in _blocks(documents, keep_empty):
            writer.add(text, is_start)
            progress(writer.bytes)
        return writer.finish()


def complete(folder: Path, split: str, tokenizer: Tokenizer, counts: Mapping[str, Any]) -> Shard:
    """End the last document of a shard whose tokens and starts are written, and write its counts."""
    total, separator = counts["tokens"], separator_tokens(tokenizer)
    if counts["documents"]:
        with open(folder / f"{split}.tokens", "ab") as tokens, open(folder / f"{split}.starts", "ab") as starts:
            tokens.write(np.array(separator, dtype=token_dtype(tokenizer)).tobytes())
            starts.write(np.array([total], dtype="<i8").tobytes())
        total += len(separator)
    facts = {name: counts[name] for name in ("documents", "bytes", "words", "unknown")}
    facts |= {"tokens_count": total, "mark": tokenizer.document_start, "dtype": token_dtype(tokenizer)}
    (folder / f"{split}.json").write_text(json.dumps(facts))
    return Shard(**facts, folder=folder, split=split)


def token_dtype(tokenizer: Tokenizer) -> str:
    return "<u2" if tokenizer.vocabulary <= 1 << 16 else "<u4"


def separator_tokens(tokenizer: Tokenizer) -> list[int]:
    """The token that starts each document; nothing if the tokenizer has none."""
    return [] if tokenizer.document_start is None else [tokenizer.document_start]


def count_words(text: str) -> int:
    """`len(text.split())`. In a long text, the words are counted where they start, which is several times faster."""
    if len(text) < SHORT_TEXT:
        return len(text.split())
    blank = _BLANKS.take(np.frombuffer(text.encode("utf-32-le"), "<u4"), mode="clip")
    return int(np.count_nonzero(blank[:-1] > blank[1:])) + int(not blank[0])


def write_lists(folder: Path, name: str, lists: Iterable[Sequence[int]]) -> None:
    values, starts = array("i"), array("q", [0])
    for numbers in lists:
        values.extend(numbers)
        starts.append(len(values))
    np.array(values, dtype="<i4").tofile(folder / f"{name}.values")
    np.array(starts, dtype="<i8").tofile(folder / f"{name}.starts")


@contextmanager
def _made_again(file: Path) -> Iterator[None]:
    """Within the block, faults of a file say that its folder can be deleted."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise DataError(f"{file} is damaged ({error}); delete {file.parent}, and it is made again") from None


def read_strings(file: Path) -> list[str]:
    with _made_again(file):
        texts: list[str] = kept_json.read(file, list[str])
        return texts


def open_shard(folder: Path, split: str) -> Shard:
    """Open an existing shard. Its files must have the sizes that its header says."""
    file = folder / f"{split}.json"
    with _made_again(file):
        header = kept_json.read(file, ShardHeader)
        sizes = {
            "tokens": header.tokens_count * np.dtype(header.dtype).itemsize,
            "starts": 8 * (header.documents + 1) if header.documents else 0,
        }
        for suffix, expected in sizes.items():
            if (found := (folder / f"{split}.{suffix}").stat().st_size) != expected:
                raise ValueError(f"{split}.{suffix} has {found:,} bytes and should have {expected:,}")
    return Shard(**asdict(header), folder=folder, split=split)


def _blocks(documents: Iterable[Document], keep_empty: bool) -> Iterator[tuple[bool, str]]:
    """(whether a document starts here, text): documents in blocks whose boundaries do not change the tokens."""
    number = 0

    def document_number(part: Document) -> int:
        nonlocal number
        number += not part.continues
        return number

    for _, parts in groupby(documents, document_number):
        index = -1
        for index, block in enumerate(split_into_blocks(part.text for part in parts)):
            yield index == 0, block
        if keep_empty and index < 0:
            yield True, ""
