"""Multi30k: captions of photographs in English and German, with the published validation and test parts."""

import json
from collections.abc import Iterator
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.remote_files import Remote
from glasshouse.data.user_files.pairs import lines

NAMES = {"train": "train", "validation": "val", "test": "test_2016_flickr"}
FILES = {split: tuple(Remote(f"multi30k/{name}.{end}.gz") for end in ("en", "de")) for split, name in NAMES.items()}


class Multi30k(Source):
    """A caption a document, its German translation as target."""

    about = "Multi30k: captions of photographs, English to German"
    origin = "Elliott et al. 2016; multi30k/dataset on GitHub, data/task1/raw"
    licence = "not stated (captions derive from Flickr30k); not shipped"
    files: ClassVar[tuple[Remote, ...]] = tuple(file for pair in FILES.values() for file in pair)
    columns: ClassVar[tuple[str, ...]] = ("target",)

    def documents(self, split: str) -> Iterator[Document]:
        english, german = (file.locate("multi30k") for file in FILES[split])
        for source, target in lines(english, german):
            yield Document(source, fields={"target": target})

    def fingerprint(self) -> str:
        return json.dumps([text_files.survey(file.locate("multi30k")).digest for file in self.files])
