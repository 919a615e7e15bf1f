"""Pooling: one vector per sequence, from the vectors of its tokens without padding; and heads that compare such vectors.

Axes: B batch, T time, D width, N texts, M pictures.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.heads.base import Head
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting

POOLINGS = ("mean", "first", "last", "max")


def pool(features_BTD: Tensor, kind: str, lengths_B: Tensor | None = None) -> Tensor:
    """(B, D): the mean or maximum over the tokens, or the vector of the first or last token. An empty row gives zeros."""
    batch, time = features_BTD.shape[:2]
    positions = torch.arange(time, device=features_BTD.device)
    lengths = torch.full((batch,), time, device=features_BTD.device) if lengths_B is None else lengths_B
    real = (positions < lengths[:, None])[..., None]
    if kind == "mean":
        return (features_BTD * real).sum(1) / lengths.clamp(min=1)[:, None].to(features_BTD.dtype)
    if kind == "max":
        largest = features_BTD.masked_fill(~real, float("-inf")).amax(1)
        return largest.masked_fill(lengths[:, None] == 0, 0.0)
    if kind not in POOLINGS:
        raise SpecError(f"is not one of: {', '.join(POOLINGS)}", "pooling", kind)
    index = torch.zeros_like(lengths) if kind == "first" else (lengths - 1).clamp(min=0)
    chosen = features_BTD[torch.arange(batch, device=features_BTD.device), index]
    return chosen * (lengths > 0)[:, None]


class PooledHead(Head):
    """pool(x): one vector per sequence, for search and comparison. Has no weights."""

    @dataclass(frozen=True)
    class Settings:
        pooling: str = setting("mean", "how the token vectors are pooled to one", choices=POOLINGS)

    def __init__(self, sizes: Sizes, settings: Settings) -> None:
        super().__init__()
        self.width, self.pooling = sizes.width, settings.pooling

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        return pool(features_BTD, self.pooling, lengths_B)


class ContrastiveHead(Head):
    """The similarity of each text to each picture, exp(s) cos(A text, B picture) (Radford et al., CLIP, 2021).

    The logit scale s is learned and starts at ln(1 / 0.07).
    """

    @dataclass(frozen=True)
    class Settings:
        pooling: str = setting("mean", "how the token vectors are pooled to one", choices=POOLINGS)
        width: int = setting(0, "width of the shared space; 0 means the model's width", minimum=0, maximum=100_000)

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
        return super().flops(1) + 2 * self.width
