"""The decoder: predicts the next token at each position, from this token and earlier ones.

Axes: B batch, T time, D width.
"""

from typing import Any

from torch import Tensor, nn

from glasshouse.models.base import TextModel
from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.block import Block
from glasshouse.parts.cache import Cache
from glasshouse.parts.masks import Causal, Mask
from glasshouse.parts.probe import Probe
from glasshouse.specs.spec import ModelSpec


class Decoder(TransformerStack, TextModel):
    """Embedding, positional encoding, blocks, a final norm, and a head whose weights may be tied to the embedding."""

    keeps_cache = True
    embedding: nn.Embedding

    def __init__(self, embedding: nn.Embedding, blocks: list[Block], head: Head, **stack_options: Any) -> None:
        super().__init__(embedding, blocks, **stack_options)
        self.head = head
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "Decoder":
        factory = factory.with_causal(True)
        head = factory.head(cls.default_head, vocabulary, predicts=("next", "whole"))
        embedding = factory.embedding(vocabulary, cached=True)
        return cls(embedding, factory.blocks(spec.layers), head, **factory.stack_options())

    def features(
        self,
        tokens_BT: Tensor,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        mask: Mask | None = None,
        lengths: Tensor | None = None,
    ) -> Tensor:
        """The last hidden states (B, T, D). A causal mask needs no `lengths`: no token looks at padding behind a text."""
        return self.hidden_states(tokens_BT, mask or Causal(), positions, cache)

    def flops(self, tokens: int) -> int:
        return self.block_flops(tokens, causal=True) + self.head.flops(tokens)

    def empty_cache(self, batch: int, slots: int) -> Cache:
        return Cache(self.empty_layer_caches(batch, slots, self.embedding.weight))
