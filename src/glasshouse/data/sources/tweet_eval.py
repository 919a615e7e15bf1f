"""TweetEval: tweets labelled by emotion or by irony, with the published splits, and both sets together as plain text."""

import json
from collections.abc import Iterator
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.data.sources.remote_files import RemoteFile
from glasshouse.data.text_files import read_parallel_lines
from glasshouse.specs.errors import DataError

FILE_NAMES = {"train": "train", "validation": "val", "test": "test"}


def _task_files(task: str) -> tuple[RemoteFile, ...]:
    """The files of one task of the benchmark: the class names, then the texts and labels of each split."""
    names = [f"{name}_{kind}.txt" for name in FILE_NAMES.values() for kind in ("text", "labels")]
    return tuple(RemoteFile(f"tweeteval/{task}/{name}") for name in ("mapping.txt", *names))


class TweetEval(Source):
    """Each document is a tweet, labelled by the name of its class."""

    origin = "Barbieri et al. 2020; cardiffnlp/tweeteval on GitHub, datasets/"
    licence = "those of the original sets and of Twitter; not shipped"
    columns: ClassVar[tuple[str, ...]] = ("label",)
    name: ClassVar[str]
    files: ClassVar[tuple[RemoteFile, ...]]

    def documents(self, split: str) -> Iterator[Document]:
        mapping, *pairs = (file.locate(self.name) for file in self.files)
        class_names = dict(line.split()[:2] for line in text_files.read_lines(mapping) if len(line.split()) > 1)
        index = 2 * SPLITS.index(split)
        for text, label in read_parallel_lines(*pairs[index : index + 2]):
            if label not in class_names:
                known = ", ".join(class_names)
                raise DataError(
                    f"{pairs[index + 1]}: the label {label!r} is not in {mapping.name} (which has: {known}); "
                    "replace the files with the published ones"
                )
            yield Document(text, fields={"label": class_names[label]})

    def fingerprint(self) -> str:
        return json.dumps([text_files.summarise(file.locate(self.name)).digest for file in self.files])


class TweetEmotion(TweetEval):
    """Four emotions."""

    about = "tweets, labelled anger, joy, optimism or sadness"
    name = "tweet-emotion"
    files = _task_files("emotion")


class TweetIrony(TweetEval):
    """Irony or not."""

    about = "tweets, labelled irony or non_irony"
    name = "tweet-irony"
    files = _task_files("irony")


class Tweets(Source):
    """The tweets of both sets without their labels. A tweet that occurs in several splits is only in the first of them."""

    about = "tweets as plain text, for pretraining: those of tweet-emotion and tweet-irony"
    origin = TweetEval.origin
    licence = TweetEval.licence
    files: ClassVar[tuple[RemoteFile, ...]] = (*TweetEmotion.files, *TweetIrony.files)

    def documents(self, split: str) -> Iterator[Document]:
        seen: set[str] = set()
        for current_split in SPLITS[: SPLITS.index(split) + 1]:
            for task in (TweetEmotion(), TweetIrony()):
                for document in task.documents(current_split):
                    if document.text not in seen:
                        seen.add(document.text)
                        if current_split == split:
                            yield Document(document.text)

    def fingerprint(self) -> str:
        return json.dumps([TweetEmotion().fingerprint(), TweetIrony().fingerprint()])
