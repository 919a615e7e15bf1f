"""Published data sets with their published splits: WikiText-2, tiny Shakespeare, Multi30k, SICK and TweetEval."""

import csv
import json
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import SPLITS, Document
from glasshouse.data.sources.remote_files import PublishedSource, RemoteFile
from glasshouse.data.user_files.text import UserText
from glasshouse.specs.spec import DataSpec

SICK = RemoteFile("nli/SICK.txt.gz")
SICK_SPLITS = {"train": "TRAIN", "validation": "TRIAL", "test": "TEST"}
SICK_COLUMNS = ("sentence_A", "sentence_B", "entailment_label", "relatedness_score", "SemEval_set")


class WikiText2(PublishedSource):
    """Each split is one long document, tokenised as published (`<unk>`, `@-@`)."""

    name = "wikitext-2"
    about = "WikiText-2: Wikipedia articles, 13 MB, tokenised as published"
    origin = "Merity et al. 2016; pytorch/examples on GitHub, word_language_model/data/wikitext-2"
    licence = "CC BY-SA 3.0"
    files = tuple(RemoteFile(f"wikitext2/wiki.{name}.tokens.gz") for name in ("train", "valid", "test"))

    def documents(self, split: str) -> Iterator[Document]:
        path = self.files[SPLITS.index(split)].locate(self.name)
        for index, chunk in enumerate(text_files.read_chunks(path)):
            yield Document(chunk, continues=index > 0)


class Shakespeare(PublishedSource):
    """The last tenth of the text is for validation, as is usual with this file. It has no test split."""

    name = "shakespeare"
    about = "tiny Shakespeare: plays as one text of 1.1 MB"
    origin = "karpathy/char-rnn on GitHub, data/tinyshakespeare/input.txt"
    licence = "public domain"
    files = (
        RemoteFile(
            "shakespeare/input.txt",
            "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
            "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
        ),
    )

    def documents(self, split: str) -> Iterator[Document]:
        return self._text.documents(split)

    def fingerprint(self) -> str:
        return self._text.fingerprint()

    @cached_property
    def _text(self) -> UserText:
        return UserText(DataSpec(files=(str(self.files[0].locate(self.name)),), validation=0.1, test=0.0))


class Multi30k(PublishedSource):
    """Each document is an English caption; its target is the German translation."""

    name = "multi30k"
    about = "Multi30k: captions of photographs, English to German"
    origin = "Elliott et al. 2016; multi30k/dataset on GitHub, data/task1/raw"
    licence = "not stated (captions derive from Flickr30k); not shipped"
    files = tuple(
        RemoteFile(f"multi30k/{split}.{language}.gz")
        for split in ("train", "val", "test_2016_flickr")
        for language in ("en", "de")
    )
    columns: ClassVar[tuple[str, ...]] = ("target",)

    def documents(self, split: str) -> Iterator[Document]:
        first = 2 * SPLITS.index(split)
        english, german = (file.locate(self.name) for file in self.files[first : first + 2])
        for source, target in text_files.read_parallel_lines(english, german):
            yield Document(source, fields={"target": target})


class Sick(PublishedSource):
    """Does the first sentence entail the second, contradict it, or neither? Both are one document, on two lines."""

    name = "sick"
    about = "SICK: pairs of sentences, labelled entailment, contradiction or neutral"
    origin = "Marelli et al. 2014; kkalouli/SICK-processing on GitHub, SICK.txt"
    licence = "CC BY-NC-SA 3.0; not shipped"
    files = (SICK,)
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        for row in self.rows(split):
            text = f"{row['sentence_A']}\n{row['sentence_B']}"
            yield Document(text, fields={"label": row["entailment_label"].lower()})

    def fingerprint(self) -> str:
        return self.digests()[0]

    def rows(self, split: str) -> Iterator[dict[str, str]]:
        path = SICK.locate(self.name)
        lines = (line.rstrip("\r") for line in text_files.read_lines(path))
        reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        self.check_columns(path, SICK_COLUMNS, reader.fieldnames)
        return (row for row in reader if row["SemEval_set"] == SICK_SPLITS[split])


class SickPairs(Sick):
    """Each document is a premise with a hypothesis as its second text, a label, and how related both are, from 1 to 5."""

    name = "sick-pairs"
    about = "SICK as pairs of texts (data.second=second), with a label and a relatedness from 1 to 5 as their value"
    columns: ClassVar[tuple[str, ...]] = ("label", "value", "second")

    def documents(self, split: str) -> Iterator[Document]:
        for row in self.rows(split):
            fields = {
                "label": row["entailment_label"].lower(),
                "value": row["relatedness_score"],
                "second": row["sentence_B"],
            }
            yield Document(row["sentence_A"], fields=fields)

    def fingerprint(self) -> str:
        return f"pairs {super().fingerprint()}"


def _tweet_files(task: str) -> tuple[RemoteFile, ...]:
    """The files of one task of TweetEval: the class names, then the texts and labels of each split."""
    names = [f"{split}_{kind}.txt" for split in ("train", "val", "test") for kind in ("text", "labels")]
    return tuple(RemoteFile(f"tweeteval/{task}/{name}") for name in ("mapping.txt", *names))


class TweetEval(PublishedSource):
    """Each document is a tweet, labelled by the name of its class."""

    origin = "Barbieri et al. 2020; cardiffnlp/tweeteval on GitHub, datasets/"
    licence = "those of the original sets and of Twitter; not shipped"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        mapping, *pairs = (file.locate(self.name) for file in self.files)
        class_names = dict(line.split()[:2] for line in text_files.read_lines(mapping) if len(line.split()) > 1)
        texts, labels = pairs[2 * SPLITS.index(split) :][:2]
        for text, label in text_files.read_parallel_lines(texts, labels):
            yield Document(text, fields={"label": self.known(label, class_names, labels)})


class TweetEmotion(TweetEval):
    name = "tweet-emotion"
    about = "tweets, labelled anger, joy, optimism or sadness"
    files = _tweet_files("emotion")


class TweetIrony(TweetEval):
    name = "tweet-irony"
    about = "tweets, labelled irony or non_irony"
    files = _tweet_files("irony")


class Tweets(PublishedSource):
    """The tweets of both sets without their labels. A tweet that occurs in several splits is only in the first of them."""

    name = "tweets"
    about = "tweets as plain text, for pretraining: those of tweet-emotion and tweet-irony"
    origin = TweetEval.origin
    licence = TweetEval.licence
    files = (*TweetEmotion.files, *TweetIrony.files)

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
