"""The Pig Latin word lists of a course assignment. The generated lists in `pig_latin` stand in for them.

The assignment divides each list at random, so its large list trains on words that its small list holds out. Here both lists
hold out the same words of the small list. So models trained on either can be compared on one validation and one test set.
"""

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.pig_latin import HELD_OUT
from glasshouse.data.sources.remote_files import RemoteFile
from glasshouse.data.splits import assign_splits
from glasshouse.specs.errors import DataError

SMALL_LIST = RemoteFile("piglatin/pig_latin_small.txt")
LARGE_LIST = RemoteFile("piglatin/pig_latin_large.txt")
# The assignment keeps only words of these characters.
_PLAIN = re.compile("[a-z-]+")


class CoursePigLatinWords(Source):
    """Each document is a word; its target is the published translation. A few words of the large list have two."""

    origin = "University of Toronto CSC413/CSC2516, assignment 3, data/"
    licence = "none stated; not shipped"
    columns: ClassVar[tuple[str, ...]] = ("target",)
    name: ClassVar[str]
    # The list with the training words. The small list, which has the held-out words, is always among `files`.
    training_list: ClassVar[RemoteFile]
    files: ClassVar[tuple[RemoteFile, ...]]

    def documents(self, split: str) -> Iterator[Document]:
        pairs = self._read_pairs(self.training_list if split == "train" else SMALL_LIST)
        # The order of a digest: neighbours of an alphabetical list are alike.
        for word in assign_splits(pairs, 0, 0):
            if self._small_list_splits.get(word, "train") == split:
                for translation in pairs[word]:
                    yield Document(word, fields={"target": translation})

    def fingerprint(self) -> str:
        digests = [text_files.summarise(file.locate(self.name)).digest for file in self.files]
        return json.dumps([self.name, HELD_OUT, *digests])

    @cached_property
    def _small_list_splits(self) -> dict[str, str]:
        return assign_splits(self._read_pairs(SMALL_LIST), HELD_OUT, HELD_OUT)

    def _read_pairs(self, file: RemoteFile) -> dict[str, list[str]]:
        """Word -> its translations, without repeated pairs and without words of other characters."""
        path = file.locate(self.name)
        pairs: dict[str, list[str]] = {}
        for line in text_files.read_lines(path):
            fields = line.split()
            if len(fields) == 2 and all(map(_PLAIN.fullmatch, fields)):
                word, translation = fields
                if translation not in pairs.setdefault(word, []):
                    pairs[word].append(translation)
        if not pairs:
            raise DataError(
                f"{path}: no line is a word, a space and its translation in lower-case letters; "
                "replace the file with the published one"
            )
        return pairs


class CoursePigLatin(CoursePigLatinWords):
    """The large list without the held-out words."""

    about = "words and their Pig Latin, the large list of a course assignment"
    name = "course-pig-latin"
    training_list = LARGE_LIST
    files = (LARGE_LIST, SMALL_LIST)


class CoursePigLatinSmall(CoursePigLatinWords):
    """The small list, with the same validation and test words as the large list."""

    about = "words and their Pig Latin, the small list of a course assignment; it holds out the same words as the large list"
    name = "course-pig-latin-small"
    training_list = SMALL_LIST
    files = (SMALL_LIST,)
