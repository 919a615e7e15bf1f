"""The capabilities of parts. A part lists the ones it lacks, with the reason; a model that needs one refuses to be built.

The battery in the tests holds every part to the capabilities that it does not list, and to those that it does.
"""

from typing import Any, Final

from glasshouse.specs.errors import SpecError

CAPABILITIES: Final = {
    "causal": "under a causal mask no output depends on a later token",
    "rows": "it forms attention weights, and each row of them sums to one",
    "tokens": "its attention weights are over tokens: one for each query and key",
    "bias": "a position may add a bias to its scores",
    "rotation": "a position may rotate its queries and keys",
    "cross": "its keys and values may come from another sequence (cross-attention)",
    "cache": "cached states of earlier tokens give the same result as computing them again",
    "longer": "it runs on sequences longer than the context it was built for",
    "batch": "the other sequences of a batch change nothing, in training too",
    "blocks": "it may stand in a Transformer block",
}

Unsupported = dict[str, str]


def require(part: Any, capability: str, what: str) -> None:
    """Refuse a part that lacks a capability; `what` is the setting that needs it."""
    reason = getattr(part, "unsupported", {}).get(capability)
    if reason is not None:
        raise SpecError("lacks-capability", f"{what}: {reason}")
