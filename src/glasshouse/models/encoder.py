"""The encoder: each token attends to all tokens, or with a causal mask to itself and earlier ones.

Padded to the longest text of its batch, a text of a few words costs as much as that one. Training on a CPU packs texts where
every part of an encoder but its attention computes each token by itself: the tokens of all texts of a batch are in one row,
one text after another, under the mask `SameText`.

Axes: B batch, T time, D width, N tokens of all texts.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse import cpu_kernels
from glasshouse.models.base import TextModel
from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.attention import dot_product
from glasshouse.parts.block import Block
from glasshouse.parts.embeddings import TokenEmbedding
from glasshouse.parts.masks import SameText, sequence_mask
from glasshouse.parts.normalisation import BatchNorm
from glasshouse.parts.probe import Probe
from glasshouse.specs.declared import settings_of
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class Encoder(TransformerStack, TextModel):
    """Embedding, positional encoding, blocks under a padding mask, a final norm, and a head."""

    @dataclass(frozen=True)
    class Settings:
        causal: bool = setting(False, "causal mask: each token sees only itself and earlier tokens")
        segments: int = setting(0, "number of segment types (BERT's token types); 0 means none", minimum=0, maximum=10_000)

    default_head = "masked-token"
    min_layers = 0  # without blocks it is a bag-of-words model
    embedding: nn.Embedding

    def __init__(
        self, embedding: nn.Embedding, blocks: list[Block], head: Head, causal: bool = False, **stack_options: Any
    ) -> None:
        super().__init__(embedding, blocks, **stack_options)
        self.head, self.causal = head, causal
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "Encoder":
        settings = settings_of(cls, spec.own)
        factory = factory.with_causal(settings.causal)
        head = factory.head(cls.default_head, vocabulary, ("own", "whole", *(("next",) if settings.causal else ())))
        deviation = factory.sizes.embedding_deviation
        segments = TokenEmbedding(settings.segments, spec.width, deviation) if settings.segments else None
        embedding, blocks = factory.embedding(vocabulary, cached=False), factory.blocks(spec.layers)
        return cls(embedding, blocks, head, settings.causal, segments=segments, **factory.stack_options())

    def forward(self, tokens_BT: Tensor, lengths: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        return self.output(self.features(tokens_BT, lengths, segments), tokens_BT, lengths)

    def features(self, tokens_BT: Tensor, lengths: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        packs = lengths is not None and self.training and self._packs_texts
        if lengths is None or not packs or not packing_is_faster(tokens_BT, lengths, self.embedding):
            return self.hidden_states(tokens_BT, sequence_mask(lengths, self.causal), segments=segments)
        texts = Packing(lengths, tokens_BT.shape[1])
        segments = None if segments is None else texts.packed(segments)
        return texts.padded(self.hidden_states(texts.packed(tokens_BT), texts.mask, texts.positions_1N, segments=segments))

    @cached_property
    def _packs_texts(self) -> bool:
        return not self.causal and packing_is_possible(self)

    def flops(self, tokens: int) -> int:
        return self.block_flops(tokens, self.causal) + self.head.flops(tokens)


class Packing:
    """From padded texts of these lengths to packed ones and back."""

    def __init__(self, lengths_B: Tensor, longest: int) -> None:
        self.rows, self.longest = len(lengths_B), longest
        self.places_N = (torch.arange(longest) < lengths_B[:, None]).flatten().nonzero()[:, 0]
        self.positions_1N = (self.places_N % longest)[None]
        self.mask = SameText(F.pad(lengths_B.cumsum(0), (1, 0)), longest)

    def packed(self, tokens_BT: Tensor) -> Tensor:
        return tokens_BT.flatten()[self.places_N][None]

    def padded(self, features_1ND: Tensor) -> Tensor:
        """The features (B, T, D), with zeros as padding."""
        empty = features_1ND.new_zeros(self.rows * self.longest, features_1ND.shape[-1])
        return empty.index_copy(0, self.places_N, features_1ND[0]).unflatten(0, (self.rows, self.longest))


def packing_is_faster(tokens_BT: Tensor, lengths_B: Tensor, embedding: nn.Embedding) -> bool:
    """Whether this is training on a CPU, with a kernel for texts of this length and enough numbers to be worth it."""
    return (
        tokens_BT.shape[1] <= dot_product.SHORT
        and cpu_kernels.usable(embedding.weight)
        and int(lengths_B.sum()) * embedding.embedding_dim >= cpu_kernels.LEAST_NUMBERS
    )


def packing_is_possible(model: TransformerStack) -> bool:
    """Whether only attention reads other tokens, by dot products without a bias, and nothing draws random numbers."""
    attentions = model.attentions
    return (
        bool(attentions)
        and type(model.embedding) is TokenEmbedding
        and all(attention.mixes_by_dot_product and attention.position.mechanism != "bias" for attention in attentions)
        and not any(isinstance(module, BatchNorm) for module in model.modules())
        and not any(isinstance(module, nn.Dropout) and module.p for module in model.modules())
    )
