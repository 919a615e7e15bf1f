"""The decoder: tokens in, a score for every possible next token out, each position seeing only what came before.

Axes: B batch, T time, D width, V vocabulary.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.workshop import Workshop
from glasshouse.parts.block import Block
from glasshouse.parts.cache import KeyValueCache
from glasshouse.parts.mask import Causal
from glasshouse.parts.positions.base import NoPosition, Position
from glasshouse.parts.probe import Probe
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import Model


class Decoder(nn.Module):
    """Embedding, positions, blocks, a last norm, and a head that may share the embedding's matrix."""

    def __init__(
        self,
        embedding: nn.Embedding,
        blocks: list[Block],
        final_norm: nn.Module,
        position: Position | None = None,
        head: nn.Linear | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.position = position or NoPosition()
        self.dropout = nn.Dropout(dropout)
        self.embedded = Probe()
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = final_norm
        self.head = head
        self.logits = Probe()

    @classmethod
    def assemble(cls, workshop: Workshop, spec: Model, vocabulary: int) -> "Decoder":
        """The decoder that a spec describes."""
        return cls(
            embedding=nn.Embedding(vocabulary, spec.width),
            blocks=[workshop.block() for _ in range(spec.layers)],
            final_norm=workshop.norm(),
            position=workshop.position(at_embedding=True),
            head=None if spec.tied else nn.Linear(spec.width, vocabulary, bias=False),
            dropout=spec.dropout,
        )

    @property
    def vocabulary(self) -> int:
        return self.embedding.num_embeddings

    def forward(self, tokens_BT: Tensor, positions: Tensor | None = None, cache: KeyValueCache | None = None) -> Tensor:
        """Logits (B, T, V). Positions (B, T) go with a cache; without one they run from 0."""
        return self.project(self.features(tokens_BT, positions, cache))

    def features(self, tokens_BT: Tensor, positions: Tensor | None = None, cache: KeyValueCache | None = None) -> Tensor:
        """The last hidden states (B, T, D), from which the head makes logits."""
        if positions is None:
            positions = torch.arange(tokens_BT.shape[1], device=tokens_BT.device)
        self._check_length(tokens_BT.shape[1])
        x = self.position.embed(self.embedding(tokens_BT), positions)
        x = self.embedded(self.dropout(x))
        mask = Causal()
        for index, block in enumerate(self.blocks):
            x = block(x, mask, positions, cache.layers[index] if cache else None)
        return self.final_norm(x)

    def project(self, features_BTD: Tensor) -> Tensor:
        """Logits from hidden states."""
        if self.head is None:
            return self.logits(F.linear(features_BTD, self.embedding.weight))
        return self.logits(self.head(features_BTD))

    def flops(self, tokens: int) -> int:
        """Multiplications and additions of the matrix products for one sequence, forward."""
        blocks = sum(block.flops(tokens, tokens) for block in self.blocks)  # type: ignore[operator]
        return blocks + 2 * tokens * self.embedding.embedding_dim * self.vocabulary

    def empty_cache(self, batch: int, slots: int) -> KeyValueCache:
        """A key-value cache of this model's shape."""
        attention = self.blocks[0].attention
        heads: int = attention.heads  # type: ignore[assignment, union-attr]
        weight = self.embedding.weight
        return KeyValueCache.empty(
            len(self.blocks), batch, heads, slots, weight.shape[1] // heads, weight.device, weight.dtype
        )

    def _check_length(self, length: int) -> None:
        limit = self.position.limit()
        if limit is not None and length > limit:
            raise GlasshouseError(
                f"{type(self.position).__name__.lower()} positions end at {limit} and {length} tokens were given; "
                "give fewer, or train with a longer data.context or another model.position"
            )
