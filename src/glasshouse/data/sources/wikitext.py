"""WikiText-2: two million words of Wikipedia, with the published validation and test splits."""

import json
from collections.abc import Iterator
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.remote_files import RemoteFile

FILES = {
    "train": RemoteFile("wikitext2/wiki.train.tokens.gz"),
    "validation": RemoteFile("wikitext2/wiki.valid.tokens.gz"),
    "test": RemoteFile("wikitext2/wiki.test.tokens.gz"),
}


class WikiText2(Source):
    """Each split is one long document, tokenised as published (`<unk>`, `@-@`)."""

    about = "WikiText-2: Wikipedia articles, 13 MB, tokenised as published"
    origin = "Merity et al. 2016; pytorch/examples on GitHub, word_language_model/data/wikitext-2"
    licence = "CC BY-SA 3.0"
    files: ClassVar[tuple[RemoteFile, ...]] = tuple(FILES.values())

    def documents(self, split: str) -> Iterator[Document]:
        for index, chunk in enumerate(text_files.read_chunks(FILES[split].locate("wikitext-2"))):
            yield Document(chunk, continues=index > 0)

    def fingerprint(self) -> str:
        return json.dumps([text_files.summarise(file.locate("wikitext-2")).digest for file in FILES.values()])
