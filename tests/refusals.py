"""How tests hold an error: by its code, and by values that its message must name. The words may change."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from glasshouse.specs.errors import GlasshouseError


@contextmanager
def refused(code: str, *values: str) -> Iterator[pytest.ExceptionInfo[GlasshouseError]]:
    """The block raises the error of this code; its message names each of these values (a field, a file, a number)."""
    with pytest.raises(GlasshouseError) as caught:
        yield caught
    assert caught.value.code == code, f"{caught.value.code}: {caught.value}"
    for value in values:
        assert value in str(caught.value), f"{value!r} is not in: {caught.value}"
