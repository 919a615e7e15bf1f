"""The encoder: every token sees every other (or, where it is causal, those before it).

Axes: B batch, T time, D width, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.masks import over
from glasshouse.parts.probe import Probe
from glasshouse.specs.spec import ModelSpec


class Encoder(TransformerStack):
    """Embedding, positions, blocks under a mask of padding, a last norm, and a head."""

    embedding: nn.Embedding

    def __init__(self, embedding: nn.Embedding, blocks: list[Any], head: Head, causal: bool = False, **tower: Any) -> None:
        super().__init__(embedding, blocks, **tower)
        self.head, self.causal = head, causal
        head.check(embedding.embedding_dim, embedding.num_embeddings)
        self.logits = Probe()

    @classmethod
    def assemble(cls, workshop: PartFactory, spec: ModelSpec, vocabulary: int) -> "Encoder":
        """The encoder that a spec describes."""
        workshop = workshop.under(spec.causal)
        answers = ("own", "whole", *(("next",) if spec.causal else ()))
        head = workshop.head("masked-token", vocabulary, answers)
        return cls(workshop.embedding(vocabulary), workshop.blocks(spec.layers), head, spec.causal, **workshop.around())

    @property
    def vocabulary(self) -> int:
        return self.embedding.num_embeddings

    def forward(self, tokens_BT: Tensor, lengths: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """What the head says. Only the first `lengths` (B) tokens of each row are real; by default all are."""
        return self.project(self.features(tokens_BT, lengths, segments), lengths, tokens_BT)

    def features(self, tokens_BT: Tensor, lengths: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """The last hidden states (B, T, D)."""
        return self.run(tokens_BT, over(lengths, self.causal), segments=segments)

    def project(self, features_BTD: Tensor, lengths: Tensor | None = None, tokens_BT: Tensor | None = None) -> Tensor:
        """The head's answer from hidden states, and from the tokens where they are given."""
        answer = self.head(features_BTD, self.embedding.weight, lengths)
        return self.logits(answer if tokens_BT is None else self.head.informed(answer, tokens_BT, lengths))

    def flops(self, tokens: int) -> int:
        """Multiplications and additions of the matrix products for one sequence, forward."""
        return self.tower_flops(tokens, self.causal) + self.head.flops(tokens)

    def example(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random inputs of the right shapes, by the names that `forward` gives them."""
        return {"tokens_BT": torch.randint(0, self.vocabulary, (batch, length), generator=generator)}
