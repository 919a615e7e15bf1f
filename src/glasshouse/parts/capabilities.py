"""The laws that parts obey. Each part says which it refuses, and why; models refuse to be built against a refusal.

The battery in the tests holds every part to the laws it does not refuse, and to its refusals.
"""

from typing import Final

from glasshouse.specs.errors import SpecError

CAPABILITIES: Final = {
    "causal": "under a causal mask no output depends on a later token",
    "rows": "it has weights to show, and each row of them sums to one",
    "tokens": "its rows are over tokens: one weight for each query and key",
    "bias": "a position may add to its scores",
    "rotation": "a position may turn its queries and keys",
    "cross": "its keys and values may come from another sequence",
    "cache": "keys and values kept from earlier calls give the same as computing them again",
    "longer": "it runs beyond the length it was built for",
    "batch": "what else is in a batch changes nothing, also in training",
    "blocks": "it may stand in a Transformer block",
}

Unsupported = dict[str, str]


def require(part: type, law: str, what: str) -> None:
    """Raise SpecError, with the part's reason, where it refuses a law that `what` (a setting) rests on."""
    reason = getattr(part, "refuses", {}).get(law)
    if reason is not None:
        raise SpecError(f"{what}: {reason}")
