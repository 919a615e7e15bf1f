"""`glasshouse parts`."""

from glasshouse.specs.errors import GlasshouseError

from .program import (
    call,
    refused,
    worked,
)


def test_parts() -> None:
    assert "performer" in worked(call("parts")).out
    out = worked(call("parts", "attention")).out
    assert "softmax" in out
    assert "lacks causal (under a causal mask" in out
    refused(call("parts", "atention"), GlasshouseError)
