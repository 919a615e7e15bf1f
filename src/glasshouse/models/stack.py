"""A tower: embeddings with order in them, a stack of blocks, a last norm. Encoders and decoders are towers under a mask.

Axes: B batch, T time, D width.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.parts.cache import Cache
from glasshouse.parts.masks import Mask
from glasshouse.parts.memory import Memory
from glasshouse.parts.positions.base import NoPosition, Position
from glasshouse.parts.probe import Probe
from glasshouse.specs.errors import GlasshouseError, SpecError


class SequenceTooLong(GlasshouseError):
    """A sequence that is longer than a part of the model can take; `reason` says which part and why."""

    def __init__(self, reason: str) -> None:
        super().__init__("too-long", f"{reason}; give fewer, or train with a longer data.context or other parts")
        self.reason = reason


class TransformerStack(nn.Module):
    """Tokens (or whatever `embedding` takes; without one, vectors) to features (B, T, D)."""

    def __init__(
        self,
        embedding: nn.Module | None,
        blocks: Sequence[nn.Module],
        final_norm: nn.Module | None = None,
        position: Position | None = None,
        segments: nn.Embedding | None = None,
        embedding_norm: nn.Module | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = embedding or nn.Identity()
        self.position = position or NoPosition()
        if self.position.acts in ("rotation", "bias"):
            raise SpecError(
                "position-in-wrong-place",
                f"{type(self.position).__name__} acts in each attention and would do nothing at the embeddings; "
                "give it to the attentions",
            )
        self.segments = segments
        self.embedding_norm = embedding_norm or nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.embedded = Probe()
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = final_norm or nn.Identity()

    def run(
        self,
        inputs: Tensor,
        mask: Mask,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        memory: Memory | None = None,
        segments: Tensor | None = None,
    ) -> Tensor:
        """The last hidden states. Positions (B, T) go with a cache; without one they run from 0."""
        x = self.embedding(inputs)
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)
        check_length([self.position, *(block.attention for block in self.blocks)], x.shape[1])
        if self.segments is not None:
            x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        x = self.embedding_norm(self.position.embed(x, positions))
        x = self.embedded(self.dropout(x))
        for index, block in enumerate(self.blocks):
            x = block(x, mask, positions, cache.layers[index] if cache else None, memory)
        return self.final_norm(x)

    def tower_flops(self, tokens: int, causal: bool, source: int = 0) -> int:
        """Multiplications and additions of the blocks' matrix products for one sequence, forward."""
        return sum(block.flops(tokens, tokens, causal, source) for block in self.blocks)  # type: ignore[operator]


def check_length(parts: Iterable[Any], length: int) -> None:
    """Raise for the first of these parts that has no answer for so many tokens."""
    for part in parts:
        if (limit := part.limit()) is not None and length > limit:
            kind = type(part)
            raise SequenceTooLong(
                f"{kind.__name__} ends at {limit} tokens and {length} were given: {kind.unsupported['longer']}"
            )
