"""The encoder: each token attends to all tokens, or with a causal mask to itself and earlier ones.

Axes: B batch, T time, D width, V vocabulary.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glasshouse.models import packing
from glasshouse.models.heads.base import Head
from glasshouse.models.packing import Packing
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.masks import sequence_mask
from glasshouse.parts.probe import Probe
from glasshouse.parts.token_embedding import TokenEmbedding
from glasshouse.specs.declared import settings_of
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class Encoder(TransformerStack):
    """Embedding, positional encoding, blocks under a padding mask, a final norm, and a head."""

    @dataclass(frozen=True)
    class Settings:
        causal: bool = setting(False, "causal mask: each token sees only itself and earlier tokens")
        segments: int = setting(0, "number of segment types (BERT's token types); 0 means none", minimum=0, maximum=10_000)

    default_head: ClassVar[str] = "masked-token"
    # Without blocks it is a bag-of-words model.
    min_layers: ClassVar[int] = 0
    embedding: nn.Embedding

    def __init__(
        self, embedding: nn.Embedding, blocks: list[Any], head: Head, causal: bool = False, **stack_options: Any
    ) -> None:
        super().__init__(embedding, blocks, **stack_options)
        self.head, self.causal = head, causal
        head.check(embedding.embedding_dim, embedding.num_embeddings)
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "Encoder":
        """Build the encoder that a spec describes."""
        settings = settings_of(cls, spec.own)
        factory = factory.with_causal(settings.causal)
        head = factory.head(cls.default_head, vocabulary, ("own", "whole", *(("next",) if settings.causal else ())))
        deviation = factory.sizes.embedding_deviation
        segments = TokenEmbedding(settings.segments, spec.width, deviation) if settings.segments else None
        embedding, blocks = factory.embedding(vocabulary, cached=False), factory.blocks(spec.layers)
        return cls(embedding, blocks, head, settings.causal, segments=segments, **factory.stack_options())

    @property
    def vocabulary(self) -> int:
        return self.embedding.num_embeddings

    def forward(self, tokens_BT: Tensor, lengths: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """The output of the head. Only the first `lengths` (B) tokens of each row are real; by default all are."""
        output = self.head(self.features(tokens_BT, lengths, segments), self.embedding.weight, lengths)
        return self.logits(self.head.add_token_evidence(output, tokens_BT, lengths))

    def features(self, tokens_BT: Tensor, lengths: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """The last hidden states (B, T, D). Those of padding have no meaning."""
        if (
            lengths is not None
            and self.training
            and self._packs_texts
            and packing.is_faster(tokens_BT, lengths, self.embedding)
        ):
            texts = Packing(lengths, tokens_BT.shape[1])
            segments = None if segments is None else texts.packed(segments)
            return texts.padded(
                self.hidden_states(texts.packed(tokens_BT), texts.mask, texts.positions_1N, segments=segments)
            )
        return self.hidden_states(tokens_BT, sequence_mask(lengths, self.causal), segments=segments)

    @cached_property
    def _packs_texts(self) -> bool:
        return not self.causal and packing.is_possible(self)

    def project(self, features_BTD: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The output of the head for these hidden states."""
        return self.logits(self.head(features_BTD, self.embedding.weight, lengths))

    def flops(self, tokens: int) -> int:
        """FLOPs of the matrix products in the forward pass of one sequence."""
        return self.block_flops(tokens, self.causal) + self.head.flops(tokens)

    def random_inputs(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random keyword arguments for `forward`."""
        return {"tokens_BT": torch.randint(0, self.vocabulary, (batch, length), generator=generator)}
