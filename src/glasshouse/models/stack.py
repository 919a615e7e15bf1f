"""The Transformer stack: embeddings with positions, blocks, and a final norm. Encoders and decoders are such stacks.

Axes: B batch, T time, D width.
"""

from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from glasshouse.parts.attention.base import Attention, FirstValues
from glasshouse.parts.attention.no_attention import NoAttention
from glasshouse.parts.block import Block
from glasshouse.parts.cache import Cache, LayerCache, Memory
from glasshouse.parts.masks import Mask
from glasshouse.parts.positions.base import NoPosition, Position
from glasshouse.parts.probe import Probe
from glasshouse.specs.errors import GlasshouseError, SpecError


class SequenceTooLong(GlasshouseError):
    """A sequence is longer than a part of the model accepts; `reason` names the part."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; use fewer tokens, or train with a longer data.context or with other parts")
        self.reason = reason


class TransformerStack(nn.Module):
    """From tokens to hidden states (B, T, D). Without an `embedding` the inputs are vectors (B, T, D)."""

    def __init__(
        self,
        embedding: nn.Module | None,
        blocks: Sequence[Block],
        final_norm: nn.Module | None = None,
        position: Position | None = None,
        segments: nn.Embedding | None = None,
        embedding_norm: nn.Module | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = embedding or nn.Identity()
        self.position = position or NoPosition()
        if self.position.mechanism in ("rotation", "bias"):
            raise SpecError(f"{type(self.position).__name__} acts in each attention; pass it to the attentions instead")
        self.segments = segments
        self.embedding_norm = embedding_norm or nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.embedded = Probe()
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = final_norm or nn.Identity()

    def hidden_states(
        self,
        inputs: Tensor,
        mask: Mask,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        memory: Memory | None = None,
        segments: Tensor | None = None,
    ) -> Tensor:
        """The last hidden states. A cache needs positions (B, T); the default positions are 0, 1, 2, ..."""
        x = self.embedding(inputs)
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)
        check_length([self.position, *self.attentions], mask.longest or x.shape[1])
        if self.segments is not None:
            x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        x = self.embedding_norm(self.position.embed(x, positions))
        x = self.embedded(self.dropout(x))
        first_values: FirstValues = []
        for index, block in enumerate(self.blocks):
            x = block(x, mask, positions, cache.layers[index] if cache else None, memory, first_values)
        return self.final_norm(x)

    @property
    def _blocks(self) -> Iterable[Block]:
        return cast(Iterable[Block], self.blocks)

    @property
    def attentions(self) -> list[Attention]:
        return [block.attention for block in self._blocks]

    def block_flops(self, tokens: int, causal: bool, source: int = 0) -> int:
        return sum(block.flops(tokens, tokens, causal, source) for block in self._blocks)

    def empty_layer_caches(self, batch: int, slots: int, like: Tensor, memory: Memory | None = None) -> list[LayerCache]:
        """An empty cache for the attention of each block, with the keys and values of its cross-attention to a memory."""
        return [block.empty_cache(batch, slots, like, memory) for block in self._blocks]


def check_length(parts: Iterable[Position | Attention | NoAttention], length: int) -> None:
    """Raise SequenceTooLong if a part cannot process a sequence of this length."""
    for part in parts:
        if (limit := part.max_length) is not None and length > limit:
            kind = type(part)
            raise SequenceTooLong(
                f"{kind.__name__} accepts at most {limit} tokens, not {length}, because {kind.unsupported['longer']}"
            )
