"""The columns of documents in shards: what a task needs of each document besides its text, as numbers on disk.

A task names its columns in `Task.columns`. Classes and tags become numbers: their places among `names`.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from glasshouse.data import shards
from glasshouse.data.documents import Document
from glasshouse.data.shards import Shard, ShardWriter
from glasshouse.data.tables.class_labels import LABEL_SEPARATOR
from glasshouse.specs.errors import DataError
from glasshouse.tokenizers import Tokenizer

# The columns that hold names of classes or tags.
NAMED = ("label", "labels", "tags")
# The columns that hold further text.
TEXTS = ("target", "second")


def class_names(documents: Iterable[Document], columns: Sequence[str]) -> tuple[str, ...]:
    """The names of all classes or tags of the documents, sorted; empty if the columns hold none."""
    if not (named := [column for column in NAMED if column in columns]):
        return ()
    return tuple(sorted({name for document in documents for column in named for name in _names(document, column)}))


def write(
    folder: Path,
    split: str,
    documents: Callable[[], Iterator[Document]],
    tokenizer: Tokenizer,
    columns: Sequence[str],
    names: Sequence[str] = (),
    progress: Callable[[int], None] = lambda done: None,
) -> Shard:
    """Write the text of documents and all `columns`. `documents` is called once for every file that is written."""
    numbers, path = _Numbers({name: number for number, name in enumerate(names)}), folder / split
    if "tags" in columns:
        shard = _write_tagged(folder, split, documents(), tokenizer, numbers, progress)
    else:
        shard = shards.write(folder, split, documents(), tokenizer, progress, keep_empty=bool(columns))
    if "label" in columns:
        classes = [numbers[document.fields["label"]] for document in documents()]
        np.array(classes, dtype="<i4").tofile(f"{path}.labels")
    if "labels" in columns:
        sets = (sorted({numbers[name] for name in _names(document, "labels")}) for document in documents())
        shards.write_lists(folder, f"{split}.label-sets", sets)
    if "value" in columns:
        np.array(list(map(_value, documents())), dtype="<f8").tofile(f"{path}.values")
    for column in TEXTS:
        if column in columns:
            texts = (Document(document.fields[column]) for document in documents())
            shards.write(folder, f"{split}.{column}", texts, tokenizer, keep_empty=True)
    if "target" in columns:
        pairs = [(document.text, document.fields["target"]) for document in documents()]
        for name, originals in ((split, [text for text, _ in pairs]), (f"{split}.target", [target for _, target in pairs])):
            (folder / f"{name}.originals.json").write_text(json.dumps(originals, ensure_ascii=False), encoding="utf-8")
    if "picture" in columns:
        pictures = [document.picture for document in documents() if document.picture is not None]
        np.save(f"{path}.pictures.npy", np.stack(pictures) if pictures else np.zeros((0, 1, 1, 3), np.uint8))
    return shard


class _Numbers(dict[str, int]):
    """From the name of a class to its number."""

    def __missing__(self, name: str) -> int:
        known = f"was not in the training data, whose labels are: {', '.join(self)}"
        raise DataError(f"the label {name!r} {known}; correct it, or leave out its rows")


def _names(document: Document, column: str) -> list[str]:
    """The names in a column of a document: one class, several classes, or a tag for each word."""
    text = document.fields[column]
    if column == "label":
        return [text]
    return text.split() if column == "tags" else [name for name in map(str.strip, text.split(LABEL_SEPARATOR)) if name]


def _value(document: Document) -> float:
    text = document.fields["value"]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"the value {text!r} of the text {_shortened(document.text)!r} is not a finite number such as 3.5")
    return value


class WordEncoder:
    """Encodes a text word by word, so that the first token of each word is known, and remembers the words it has met.

    Words are what spaces separate. Most tokenizers give a text the same tokens in one piece and word by word; where they do
    not, the tokens of the single words are used.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._space = _space_before_words(tokenizer)
        self._known: dict[str, tuple[list[int], int | None]] = {}

    def encode(self, words: list[str]) -> tuple[np.ndarray, list[int]]:
        """(the tokens of the text, the position of each word's first token, or -1 for a word without a token)."""
        ids: list[int] = []
        first_tokens: list[int] = []
        for index, word in enumerate(words):
            tokens, first = self._encode_word(self._space + word if index else word)
            first_tokens.append(-1 if first is None else len(ids) + first)
            ids += tokens
        return np.array(ids, np.int32), first_tokens

    def _encode_word(self, text: str) -> tuple[list[int], int | None]:
        """The tokens of a word, and which of them is the first that is not blank."""
        if text not in self._known:
            tokens = self.tokenizer.encode(text, specials=False).tolist()
            visible = [index for index, token in enumerate(tokens) if self.tokenizer.token_bytes(token).strip()]
            self._known[text] = tokens, next(iter(visible), 0 if tokens else None)
        return self._known[text]


def _space_before_words(tokenizer: Tokenizer) -> str:
    """What stands before a word within a text: a space if the tokenizer keeps it, else nothing."""
    whole = tokenizer.encode("a b", specials=False).tolist()
    first = tokenizer.encode("a", specials=False).tolist()
    return "" if whole == first + tokenizer.encode("b", specials=False).tolist() else " "


def _write_tagged(
    folder: Path,
    split: str,
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    numbers: _Numbers,
    progress: Callable[[int], None],
) -> Shard:
    """Write texts word by word, with the tag and the first token of each word."""
    encoder = WordEncoder(tokenizer)
    tags: list[list[int]] = []
    first_tokens: list[list[int]] = []
    with closing(ShardWriter(folder, split, tokenizer)) as writer:
        for document in documents:
            words, names_of_words = document.text.split(), _names(document, "tags")
            if len(words) != len(names_of_words):
                counts = f"{len(words)} words and {len(names_of_words)} tags"
                raise DataError(f"the text {_shortened(document.text)!r} has {counts}; write one tag for each word")
            ids, places = encoder.encode(words)
            writer.add_tokens(ids, document.text, starts_document=True)
            tags.append([numbers[name] for name in names_of_words])
            first_tokens.append(places)
            progress(writer.bytes)
        shards.write_lists(folder, f"{split}.tags", tags)
        shards.write_lists(folder, f"{split}.first-tokens", first_tokens)
        return writer.finish()


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
