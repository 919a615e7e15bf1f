"""The encoder: every token sees every other (or, where it is causal, those before it).

Axes: B batch, T time, D width, V vocabulary.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.masks import over
from glasshouse.parts.probe import Probe
from glasshouse.specs.declared import settings_of
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class Encoder(TransformerStack):
    """Embedding, positions, blocks under a mask of padding, a last norm, and a head."""

    @dataclass(frozen=True)
    class Settings:
        causal: bool = setting(False, "each token sees only the tokens before it")
        segments: int = setting(0, "number of segment types (BERT's token types); 0 means none", minimum=0)

    default_head: ClassVar[str] = "masked-token"
    # Without blocks it is a bag of its embeddings.
    fewest_layers: ClassVar[int] = 0
    embedding: nn.Embedding

    def __init__(self, embedding: nn.Embedding, blocks: list[Any], head: Head, causal: bool = False, **tower: Any) -> None:
        super().__init__(embedding, blocks, **tower)
        self.head, self.causal = head, causal
        head.check(embedding.embedding_dim, embedding.num_embeddings)
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "Encoder":
        """The encoder that a spec describes."""
        settings = settings_of(cls, spec.own)
        factory = factory.under(settings.causal)
        head = factory.head(cls.default_head, vocabulary, ("own", "whole", *(("next",) if settings.causal else ())))
        segments = nn.Embedding(settings.segments, spec.width) if settings.segments else None
        embedding, blocks = factory.embedding(vocabulary, cached=False), factory.blocks(spec.layers)
        return cls(embedding, blocks, head, settings.causal, segments=segments, **factory.around_blocks())

    @property
    def vocabulary(self) -> int:
        return self.embedding.num_embeddings

    def forward(self, tokens_BT: Tensor, lengths: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """The head's answer. Only the first `lengths` (B) tokens of each row are real; by default all are."""
        answer = self.head(self.features(tokens_BT, lengths, segments), self.embedding.weight, lengths)
        return self.logits(self.head.with_tokens(answer, tokens_BT, lengths))

    def features(self, tokens_BT: Tensor, lengths: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """The last hidden states (B, T, D)."""
        return self.run(tokens_BT, over(lengths, self.causal), segments=segments)

    def project(self, features_BTD: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The head's answer from hidden states."""
        return self.logits(self.head(features_BTD, self.embedding.weight, lengths))

    def flops(self, tokens: int) -> int:
        """Multiplications and additions of the matrix products for one sequence, forward."""
        return self.tower_flops(tokens, self.causal) + self.head.flops(tokens)

    def example(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random inputs of the right shapes, by the names that `forward` gives them."""
        return {"tokens_BT": torch.randint(0, self.vocabulary, (batch, length), generator=generator)}
