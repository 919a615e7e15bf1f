"""Parameter counts of a model, as a whole and by part."""

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
