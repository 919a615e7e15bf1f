"""The decoder: tokens in, a score for every possible next token out, each position seeing only what came before.

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
    """Embedding, positions, blocks, a last norm, and a head that may share the embedding's matrix."""

    default_head: ClassVar[str] = "next-token"
    embedding: nn.Embedding

    def __init__(self, embedding: nn.Embedding, blocks: list[Any], head: Head, **tower: Any) -> None:
        super().__init__(embedding, blocks, **tower)
        self.head = head
        head.check(embedding.embedding_dim, embedding.num_embeddings)
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "Decoder":
        """The decoder that a spec describes."""
        factory = factory.under(causal=True)
        head = factory.head(cls.default_head, vocabulary, predicts=("next", "whole"))
        embedding = factory.embedding(vocabulary, cached=True)
        return cls(embedding, factory.blocks(spec.layers), head, **factory.around_blocks())

    @property
    def vocabulary(self) -> int:
        return self.embedding.num_embeddings

    def forward(self, tokens_BT: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Logits (B, T, V). Tokens after the first `lengths` of a row are padding, which no real token sees."""
        answer = self.head(self.features(tokens_BT), self.embedding.weight, lengths)
        return self.logits(self.head.with_tokens(answer, tokens_BT, lengths))

    def features(
        self, tokens_BT: Tensor, positions: Tensor | None = None, cache: Cache | None = None, mask: Mask | None = None
    ) -> Tensor:
        """The last hidden states (B, T, D), from which the head makes logits.

        Another mask than the causal one, such as `Causal() | Prefix(lengths)`, makes it a prefix language model.
        """
        return self.run(tokens_BT, mask or Causal(), positions, cache)

    def project(self, features_BTD: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Logits from hidden states."""
        return self.logits(self.head(features_BTD, self.embedding.weight, lengths))

    def flops(self, tokens: int) -> int:
        """Multiplications and additions of the matrix products for one sequence, forward."""
        return self.tower_flops(tokens, causal=True) + self.head.flops(tokens)

    def empty_cache(self, batch: int, slots: int) -> Cache:
        """A cache of this model's shape."""
        return Cache(empty_layers(self, batch, slots, self.embedding.weight))

    def example(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random inputs of the right shapes, by the names that `forward` gives them."""
        return {"tokens_BT": torch.randint(0, self.vocabulary, (batch, length), generator=generator)}


def empty_layers(
    tower: TransformerStack, batch: int, slots: int, like: Tensor, sources: list[Any] | None = None
) -> list[LayerCache]:
    """A cache for each block's attention, with what each keeps of a source."""
    layers = []
    for index, block in enumerate(tower.blocks):
        attention: Any = block.attention
        source = sources[index] if sources else None
        layers.append(LayerCache.empty(batch, attention.key_value_heads, slots, attention.head_width, like, source))
    return layers
