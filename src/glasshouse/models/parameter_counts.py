"""Parameter counts by part, and the FLOPs of a training step: two for each multiplication of its matrix products."""

from torch import nn


def parameters(model: nn.Module) -> int:
    """The number of parameters; a shared parameter counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def parameters_by_part(model: nn.Module) -> dict[str, int]:
    """The number of parameters of each part. Parts of blocks are summed over the blocks."""
    counts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        words = name.split(".")
        part = f"blocks: {words[2].removesuffix('_connection')}" if words[0] == "blocks" else words[0]
        if "_connection" in name:
            part = "blocks: norms"
        counts[part.replace("_", " ")] = counts.get(part.replace("_", " "), 0) + parameter.numel()
    return counts


def training_flops(forward: int) -> int:
    """FLOPs of forward and backward pass. The backward pass has two products for each forward product: the gradients of the
    input and of the weight."""
    return 3 * forward
