"""Patch embedding: a picture as a sequence of square patches (Dosovitskiy et al., An Image Is Worth 16x16 Words, 2021).

Axes: B batch, C channels, S pixels, P patches, D width.
"""

import torch
from torch import Tensor, nn


class Patches(nn.Module):
    """A linear projection of each patch. A learned class token comes first; it represents the whole picture."""

    def __init__(self, size: int, patch: int, channels: int, width: int) -> None:
        super().__init__()
        self.size, self.count = size, (size // patch) ** 2
        self.projection = nn.Conv2d(channels, width, patch, stride=patch, bias=False)
        self.first = nn.Parameter(torch.zeros(1, width))

    def forward(self, pictures_BCSS: Tensor) -> Tensor:
        patches_BPD = self.projection(pictures_BCSS).flatten(2).transpose(1, 2)
        return torch.cat([self.first.expand(len(patches_BPD), 1, -1), patches_BPD], dim=1)

    def flops(self) -> int:
        return 2 * self.count * self.projection.weight.numel()
