"""The decoder: predicts the next token at each position, from this token and earlier ones.

Axes: B batch, T time, D width, V vocabulary.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.cache import Cache, LayerCache
from glasshouse.parts.masks import Causal, Mask
from glasshouse.parts.probe import Probe
from glasshouse.specs.spec import ModelSpec


class Decoder(TransformerStack):
    """Embedding, positional encoding, blocks, a final norm, and a head whose weights may be tied to the embedding."""

    default_head: ClassVar[str] = "next-token"
    embedding: nn.Embedding

    def __init__(self, embedding: nn.Embedding, blocks: list[Any], head: Head, **stack_options: Any) -> None:
        super().__init__(embedding, blocks, **stack_options)
        self.head = head
        head.check(embedding.embedding_dim, embedding.num_embeddings)
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "Decoder":
        """Build the decoder that a spec describes."""
        factory = factory.with_causal(True)
        head = factory.head(cls.default_head, vocabulary, predicts=("next", "whole"))
        embedding = factory.embedding(vocabulary, cached=True)
        return cls(embedding, factory.blocks(spec.layers), head, **factory.stack_options())

    @property
    def vocabulary(self) -> int:
        return self.embedding.num_embeddings

    def forward(self, tokens_BT: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The output of the head: logits (B, T, V), or one row per sequence from a head that pools.

        Only the first `lengths` (B) tokens of each row are real; the others are padding. By default all are real.
        """
        output = self.head(self.features(tokens_BT), self.embedding.weight, lengths)
        return self.logits(self.head.add_token_evidence(output, tokens_BT, lengths))

    def features(
        self, tokens_BT: Tensor, positions: Tensor | None = None, cache: Cache | None = None, mask: Mask | None = None
    ) -> Tensor:
        """The last hidden states (B, T, D), which are the input of the head.

        The default mask is causal. With `Causal() | Prefix(lengths)` the decoder is a prefix language model.
        """
        return self.hidden_states(tokens_BT, mask or Causal(), positions, cache)

    def project(self, features_BTD: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The output of the head for these hidden states."""
        return self.logits(self.head(features_BTD, self.embedding.weight, lengths))

    def flops(self, tokens: int) -> int:
        """FLOPs of the matrix products in the forward pass of one sequence."""
        return self.block_flops(tokens, causal=True) + self.head.flops(tokens)

    def empty_cache(self, batch: int, slots: int) -> Cache:
        """An empty cache for this model."""
        return Cache(empty_layer_caches(self, batch, slots, self.embedding.weight))

    def random_inputs(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random keyword arguments for `forward`."""
        return {"tokens_BT": torch.randint(0, self.vocabulary, (batch, length), generator=generator)}


def empty_layer_caches(
    stack: TransformerStack, batch: int, slots: int, like: Tensor, sources: list[Any] | None = None
) -> list[LayerCache]:
    """An empty cache for the attention of each block; `sources` are the keys and values of its cross-attention."""
    caches = []
    for index, block in enumerate(stack.blocks):
        attention: Any = block.attention
        source = sources[index] if sources else None
        caches.append(LayerCache.empty(batch, attention.key_value_heads, slots, attention.head_width, like, source))
    return caches
