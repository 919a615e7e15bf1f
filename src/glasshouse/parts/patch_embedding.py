"""Patch embedding: a picture as a sequence of square patches (Dosovitskiy et al., An Image Is Worth 16x16 Words, 2021).

Axes: B batch, C channels, S pixels, P patches, D width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting


@dataclass(frozen=True)
class PictureSettings:
    """The settings of models that read a picture as patches."""

    image_size: int = setting(32, "side length of a picture in pixels", minimum=1, maximum=4096)
    image_channels: int = setting(3, "colour channels of a picture", minimum=1, maximum=1024)
    patch_size: int = setting(8, "side length of a patch in pixels; must divide image_size", minimum=1, maximum=4096)


class Patches(nn.Module):
    """A linear projection of each patch. A learned class token comes first; it represents the whole picture.

    The projections are multiplied by `scale`. Without it they begin much larger than the embeddings of tokens.
    """

    def __init__(self, size: int, patch: int, channels: int, width: int, scale: float = 1.0) -> None:
        super().__init__()
        if size % patch:
            raise SpecError(f"does not divide model.image_size={size}; choose a divisor", "model.patch_size", patch)
        self.scale = scale
        self.size, self.count = size, (size // patch) ** 2
        self.projection = nn.Conv2d(channels, width, patch, stride=patch, bias=False)
        self.first = nn.Parameter(torch.zeros(1, width))

    def forward(self, pictures_BCSS: Tensor) -> Tensor:
        patches_BPD = self.projection(pictures_BCSS).flatten(2).transpose(1, 2)
        if self.scale != 1:
            patches_BPD = patches_BPD * self.scale
        return torch.cat([self.first.expand(len(patches_BPD), 1, -1), patches_BPD], dim=1)

    @property
    def length(self) -> int:
        return self.count + 1

    def random_pictures(self, batch: int, generator: torch.Generator | None = None) -> Tensor:
        return torch.randn(batch, self.projection.in_channels, self.size, self.size, generator=generator)

    def flops(self) -> int:
        return 2 * self.count * self.projection.weight.numel()
