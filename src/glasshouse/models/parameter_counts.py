"""What a model costs before it is run: parameters by part, and the FLOPs of its matrix products.

A multiplication and an addition are two FLOPs; elementwise work is not counted, nor is it by torch's own counter.
"""

from torch import nn


def parameters(model: nn.Module) -> int:
    """All parameters, a shared one counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


def parameters_by_part(model: nn.Module) -> dict[str, int]:
    """Parameters by what they belong to, the blocks' parts summed over the blocks; the values add up to all."""
    found: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        words = name.split(".")
        part = f"blocks: {words[2].removesuffix('_connection')}" if words[0] == "blocks" else words[0]
        if "_connection" in name:
            part = "blocks: norms"
        found[part.replace("_", " ")] = found.get(part.replace("_", " "), 0) + parameter.numel()
    return found


def training_flops(forward: int) -> int:
    """A step's FLOPs from those of its forward pass: backward has two products for each (input and weight)."""
    return 3 * forward
