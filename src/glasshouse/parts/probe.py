"""Probes: named places in a model where an activation can be read or replaced. Knows nothing of who looks.

A probe is the identity. Its name is its path in the model (`blocks.2.attention.weights`), and looking is a forward hook on
it, so a model that nobody watches pays nothing and a model never changes to be watched.
"""

from torch import Tensor, nn


class Probe(nn.Module):
    """The identity, at a place worth a name."""

    @property
    def watched(self) -> bool:
        """Whether anybody looks. Attention asks, because its fused kernel never forms the weights."""
        return bool(self._forward_hooks)

    def forward(self, value: Tensor) -> Tensor:
        return value
