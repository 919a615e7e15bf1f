"""Tiny Shakespeare: one megabyte of plays, a common small benchmark. It is fetched on request."""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.remote_files import RemoteFile
from glasshouse.data.user_files.text import UserText
from glasshouse.specs.spec import DataSpec


class Shakespeare(Source):
    """The last tenth of the text is for validation, as is usual with this file. It has no test split."""

    about = "tiny Shakespeare: plays as one text of 1.1 MB"
    origin = "karpathy/char-rnn on GitHub, data/tinyshakespeare/input.txt"
    licence = "public domain"
    files: ClassVar[tuple[RemoteFile, ...]] = (
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
        path = self.files[0].locate("shakespeare")
        return UserText(DataSpec(files=(str(path),), validation=0.1, test=0.0))
