"""The capabilities of parts. A part lists what it lacks, with reasons; the test battery checks the rest."""

from typing import Any, Final

from glasshouse.specs.errors import SpecError

CAPABILITIES: Final = {
    "causal": "under a causal mask no output depends on a later token",
    "rows": "it forms attention weights, and each of their rows sums to one",
    "tokens": "its attention weights are over tokens: one weight for each query and key",
    "bias": "a position part can add a bias to its scores",
    "rotation": "a position part can rotate its queries and keys",
    "cross": "its keys and values can come from another sequence (cross-attention)",
    "cache": "with a cache of earlier tokens the output is the same as without",
    "longer": "it runs on sequences longer than the context it was built for",
    "batch": "the output for a sequence does not depend on the other sequences of its batch, in training too",
    "blocks": "it can be used in a Transformer block",
}


def require(part: Any, capability: str, needed_by: str) -> None:
    """Raise SpecError if a part lacks a capability. `needed_by` names the setting that needs it."""
    reason = getattr(part, "unsupported", {}).get(capability)
    if reason is not None:
        raise SpecError(f"{needed_by}: {reason}")
