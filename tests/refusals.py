"""How tests hold an error: by its class, and by values that its message must name. The words may change."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from glasshouse.specs.errors import GlasshouseError


@contextmanager
def refused(kind: type[GlasshouseError], *values: str) -> Iterator[pytest.ExceptionInfo[GlasshouseError]]:
    """The block raises an error of this class; its message names each of these values (a field, a file, a number)."""
    with pytest.raises(kind) as caught:
        yield caught
    for value in values:
        assert value in str(caught.value), f"{value!r} is not in: {caught.value}"
