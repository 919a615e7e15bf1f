"""TweetEval: tweets labelled by emotion or irony, with the published parts; and both together as plain text."""

import json
from collections.abc import Iterator
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.data.sources.remote_files import Remote
from glasshouse.data.user_files.pairs import lines
from glasshouse.specs.errors import DataError

NAMES = {"train": "train", "validation": "val", "test": "test"}


def files_of(part: str) -> tuple[Remote, ...]:
    """The files of a part of the benchmark: the names of its classes, then texts and labels by split."""
    paths = [f"{name}_{kind}.txt" for name in NAMES.values() for kind in ("text", "labels")]
    return tuple(Remote(f"tweeteval/{part}/{path}") for path in ("mapping.txt", *paths))


class TweetEval(Source):
    """A tweet a document, labelled by the name of its class."""

    origin = "Barbieri et al. 2020; cardiffnlp/tweeteval on GitHub, datasets/"
    licence = "those of the original sets and of Twitter; not shipped"
    columns: ClassVar[tuple[str, ...]] = ("label",)
    name: ClassVar[str]
    files: ClassVar[tuple[Remote, ...]]

    def documents(self, split: str) -> Iterator[Document]:
        mapping, *pairs = (file.locate(self.name) for file in self.files)
        names = dict(line.split()[:2] for line in text_files.lines(mapping) if len(line.split()) > 1)
        index = 2 * SPLITS.index(split)
        for text, label in lines(*pairs[index : index + 2]):
            if label not in names:
                known = ", ".join(names)
                raise DataError(
                    "unknown-label",
                    f"{pairs[index + 1]}: the label {label!r} is not in {mapping.name} (it has: {known}); mend it",
                )
            yield Document(text, fields={"label": names[label]})

    def fingerprint(self) -> str:
        return json.dumps([text_files.survey(file.locate(self.name)).digest for file in self.files])


class TweetEmotion(TweetEval):
    """Four emotions."""

    about = "tweets, labelled anger, joy, optimism or sadness"
    name = "tweet-emotion"
    files = files_of("emotion")


class TweetIrony(TweetEval):
    """Irony or not."""

    about = "tweets, labelled irony or non_irony"
    name = "tweet-irony"
    files = files_of("irony")


class Tweets(Source):
    """The tweets of both sets without their labels, each once, in the first split that has it."""

    about = "tweets as plain text, for pretraining: those of tweet-emotion and tweet-irony"
    origin = TweetEval.origin
    licence = TweetEval.licence
    files: ClassVar[tuple[Remote, ...]] = (*TweetEmotion.files, *TweetIrony.files)

    def documents(self, split: str) -> Iterator[Document]:
        known: set[str] = set()
        for each in SPLITS[: SPLITS.index(split) + 1]:
            for part in (TweetEmotion(), TweetIrony()):
                for document in part.documents(each):
                    if document.text not in known:
                        known.add(document.text)
                        if each == split:
                            yield Document(document.text)

    def fingerprint(self) -> str:
        return json.dumps([TweetEmotion().fingerprint(), TweetIrony().fingerprint()])
