"""Contrastive head: the similarity of each text to each picture (Radford et al., CLIP, 2021).

Axes: N texts, M pictures, D width.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.heads.base import Head
from glasshouse.models.heads.pooling import POOLINGS
from glasshouse.specs.spec_fields import setting


class ContrastiveHead(Head):
    """exp(s) cos(A text, B picture). The logit scale s is learned and starts at ln(1 / 0.07)."""

    @dataclass(frozen=True)
    class Settings:
        pooling: str = setting("mean", "how the token vectors are pooled to one", choices=POOLINGS)
        width: int = setting(
            0, "width of the shared space of texts and pictures; 0 means the model's width", minimum=0, maximum=100_000
        )

    predicts = "pairs"

    def __init__(self, text_width: int, image_width: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.text = nn.Linear(text_width, width, bias=False)
        self.image = nn.Linear(image_width, width, bias=False)
        self.scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, text_ND: Tensor, image_MD: Tensor) -> Tensor:
        texts = F.normalize(self.text(text_ND), dim=-1)
        images = F.normalize(self.image(image_MD), dim=-1)
        return self.scale.exp() * texts @ images.T

    def flops(self, tokens: int) -> int:
        return 2 * (self.text.weight.numel() + self.image.weight.numel() + len(self.text.weight))
