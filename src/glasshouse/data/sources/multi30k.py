"""Multi30k: captions of photographs in English and German, with the published validation and test splits."""

import json
from collections.abc import Iterator
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.remote_files import RemoteFile
from glasshouse.data.text_files import read_parallel_lines

FILE_NAMES = {"train": "train", "validation": "val", "test": "test_2016_flickr"}
FILES = {
    split: tuple(RemoteFile(f"multi30k/{name}.{language}.gz") for language in ("en", "de"))
    for split, name in FILE_NAMES.items()
}


class Multi30k(Source):
    """Each document is an English caption; its target is the German translation."""

    about = "Multi30k: captions of photographs, English to German"
    origin = "Elliott et al. 2016; multi30k/dataset on GitHub, data/task1/raw"
    licence = "not stated (captions derive from Flickr30k); not shipped"
    files: ClassVar[tuple[RemoteFile, ...]] = tuple(file for pair in FILES.values() for file in pair)
    columns: ClassVar[tuple[str, ...]] = ("target",)

    def documents(self, split: str) -> Iterator[Document]:
        english, german = (file.locate("multi30k") for file in FILES[split])
        for source, target in read_parallel_lines(english, german):
            yield Document(source, fields={"target": target})

    def fingerprint(self) -> str:
        return json.dumps([text_files.summarise(file.locate("multi30k")).digest for file in self.files])
