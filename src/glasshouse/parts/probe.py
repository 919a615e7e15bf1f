"""Probes: named points in a model where an activation can be read or replaced.

A probe is the identity function. Its name is its path in the model (`blocks.2.attention.weights`). A forward hook on the
probe reads or replaces the activation. Without a hook a probe costs nothing, and no model needs to change to be inspected.
"""

from torch import Tensor, nn


class Probe(nn.Module):
    """The identity, at a named point of a model."""

    @property
    def hooked(self) -> bool:
        """Whether a forward hook is attached. Attention uses this, because its fused kernel never forms the weights."""
        return bool(self._forward_hooks)

    def forward(self, value: Tensor) -> Tensor:
        return value
