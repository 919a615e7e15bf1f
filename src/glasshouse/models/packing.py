"""Texts without padding: the tokens of all texts of a batch in one row, one text after another, under the mask `SameText`.

Padded to the longest text of its batch, a text of a few words costs as much as that one. Training on a CPU packs texts where
every part of an encoder but its attention computes each token by itself.

Axes: B batch, T time, D width, N tokens of all texts.
"""

from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse import cpu_kernels
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.attention import dot_product
from glasshouse.parts.embeddings import TokenEmbedding
from glasshouse.parts.masks import SameText
from glasshouse.parts.normalisation import BatchNorm


class Packing:
    """From padded texts of these lengths to packed ones and back."""

    def __init__(self, lengths_B: Tensor, longest: int) -> None:
        self.rows, self.longest = len(lengths_B), longest
        self.places_N = (torch.arange(longest) < lengths_B[:, None]).flatten().nonzero()[:, 0]
        self.mask = SameText(F.pad(lengths_B.cumsum(0), (1, 0)), longest)

    @cached_property
    def positions_1N(self) -> Tensor:
        return (self.places_N % self.longest)[None]

    def packed(self, tokens_BT: Tensor) -> Tensor:
        """The real tokens (1, N)."""
        return tokens_BT.flatten()[self.places_N][None]

    def padded(self, features_1ND: Tensor) -> Tensor:
        """The features (B, T, D), with zeros as padding."""
        empty = features_1ND.new_zeros(self.rows * self.longest, features_1ND.shape[-1])
        return empty.index_copy(0, self.places_N, features_1ND[0]).unflatten(0, (self.rows, self.longest))


def is_faster(tokens_BT: Tensor, lengths_B: Tensor, embedding: nn.Embedding) -> bool:
    """Whether this is training on a CPU, with a kernel for texts of this length and enough numbers to be worth it."""
    return (
        tokens_BT.shape[1] <= dot_product.SHORT
        and cpu_kernels.usable(embedding.weight)
        and int(lengths_B.sum()) * embedding.embedding_dim >= cpu_kernels.LEAST_NUMBERS
    )


def is_possible(model: TransformerStack) -> bool:
    """Whether packed texts give the same features: only attention reads other tokens, by dot products without a bias.

    Dropout would draw other masks for the same seed.
    """
    attentions = model.attentions
    return (
        bool(attentions)
        and type(model.embedding) is TokenEmbedding
        and all(attention.mixes_by_dot_product and attention.position.mechanism != "bias" for attention in attentions)
        and not any(isinstance(module, BatchNorm) for module in model.modules())
        and not any(isinstance(module, nn.Dropout) and module.p for module in model.modules())
    )
