"""The encoder: each token attends to all tokens, or with a causal mask to itself and earlier ones.

Axes: B batch, T time, D width.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor, nn

from glasshouse.models import packing
from glasshouse.models.base import TextModel
from glasshouse.models.heads.base import Head
from glasshouse.models.packing import Packing
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.block import Block
from glasshouse.parts.embeddings import TokenEmbedding
from glasshouse.parts.masks import sequence_mask
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
        if lengths is None or not packs or not packing.is_faster(tokens_BT, lengths, self.embedding):
            return self.hidden_states(tokens_BT, sequence_mask(lengths, self.causal), segments=segments)
        texts = Packing(lengths, tokens_BT.shape[1])
        segments = None if segments is None else texts.packed(segments)
        return texts.padded(self.hidden_states(texts.packed(tokens_BT), texts.mask, texts.positions_1N, segments=segments))

    @cached_property
    def _packs_texts(self) -> bool:
        return not self.causal and packing.is_possible(self)

    def flops(self, tokens: int) -> int:
        return self.block_flops(tokens, self.causal) + self.head.flops(tokens)
