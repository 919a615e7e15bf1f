"""The recurrent model: a state carried from token to token, read from one end or both, with or without attention.

Axes: B batch, T time, D width, V vocabulary.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import check_length
from glasshouse.parts.cache import Cache, LayerCache
from glasshouse.parts.capabilities import require
from glasshouse.parts.masks import over
from glasshouse.parts.positions.base import NoPosition, Position
from glasshouse.parts.probe import Probe
from glasshouse.parts.recurrence import Recurrence
from glasshouse.specs import catalogue
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class Recurrent(nn.Module):
    """Layers of cells, each over the one below, then an attention over their states whose gathering is added to them."""

    @dataclass(frozen=True)
    class Settings:
        cell: str = setting("lstm", "the recurrent cell", family="cell")
        bidirectional: bool = setting(False, "read the sequence from both ends")

    default_head: ClassVar[str] = "next-token"
    # Families of parts that it has none of.
    omits: ClassVar[tuple[str, ...]] = ("feed_forward", "connection", "norm")

    def __init__(
        self,
        embedding: nn.Embedding,
        layers: list[Recurrence],
        attention: nn.Module,
        head: Head,
        position: Position | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding, self.position = embedding, position or NoPosition()
        self.layers = nn.ModuleList(layers)
        self.attention, self.head = attention, head
        self.dropout = nn.Dropout(dropout)
        self.bidirectional = layers[0].backwards is not None
        self.embedded, self.states, self.logits = Probe(), Probe(), Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "Recurrent":
        """The recurrent model that a spec describes."""
        settings = settings_of(cls, spec.own)
        if settings.bidirectional and spec.width % 2:
            raise SpecError(
                "odd-width", f"model.bidirectional halves the width, and model.width={spec.width} is odd; choose an even one"
            )
        if settings.bidirectional and spec.head.kind in ("", "next-token"):
            raise SpecError(
                "bidirectional-next-token",
                "model.bidirectional=true reads what comes later, so it cannot predict the next token; "
                "choose model.head.kind=classifier, masked-token or pooled",
            )
        causal = not settings.bidirectional
        if causal:
            require(factory.classes["attention"], "causal", f"model.attention={spec.attention!r} in a recurrent model")
        factory = factory.under(causal)
        cell = catalogue.find("cell", settings.cell, "model.cell")
        state = spec.width if causal else spec.width // 2
        layers = [
            Recurrence(cell(spec.width, state), None if causal else cell(spec.width, state)) for _ in range(spec.layers)
        ]
        head = factory.head(cls.default_head, vocabulary, predicts=("next", "own", "whole"))
        return cls(
            factory.embedding(vocabulary, cached=True),
            layers,
            factory.attention(),
            head,
            factory.position(at_embedding=True),
            spec.dropout,
        )

    @property
    def vocabulary(self) -> int:
        return self.embedding.num_embeddings

    def forward(self, tokens_BT: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The head's answer. Only the first `lengths` (B) tokens of each row are real; by default all are."""
        answer = self.head(self.features(tokens_BT, lengths=lengths), self.embedding.weight, lengths)
        return self.logits(self.head.with_tokens(answer, tokens_BT, lengths))

    def features(
        self,
        tokens_BT: Tensor,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        lengths: Tensor | None = None,
    ) -> Tensor:
        """The last states (B, T, D), with what attention gathered from the others."""
        check_length([self.position, self.attention], tokens_BT.shape[1])
        given = positions
        if positions is None:
            positions = torch.arange(tokens_BT.shape[1], device=tokens_BT.device)
        x = self.embedded(self.dropout(self.position.embed(self.embedding(tokens_BT), positions)))
        for index, layer in enumerate(self.layers):
            x = self.dropout(layer(x, lengths) if cache is None else _continued(layer, x, cache.layers[index], given))
        x = self.states(x)
        last = cache.layers[-1] if cache is not None else None
        return x + self.attention(x, over(lengths, not self.bidirectional), positions, last)

    def project(self, features_BTD: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The head's answer from states."""
        return self.logits(self.head(features_BTD, self.embedding.weight, lengths))

    def flops(self, tokens: int) -> int:
        """Multiplications and additions of the matrix products for one sequence, forward."""
        cells = sum(layer.flops(tokens) for layer in self.layers)  # type: ignore[operator]
        attention = self.attention.flops(tokens, tokens, not self.bidirectional)  # type: ignore[operator]
        return cells + attention + self.head.flops(tokens)

    def empty_cache(self, batch: int, slots: int) -> Cache:
        """A slot for the state after each token in each layer, and the attention's keys and values."""
        like = self.embedding.weight
        cells = [LayerCache.empty(batch, 1, slots, layer.forwards.state, like) for layer in self.layers]  # type: ignore[union-attr, arg-type]
        heads = getattr(self.attention, "key_value_heads", 1), getattr(self.attention, "head_width", 1)
        return Cache([*cells, LayerCache.empty(batch, heads[0], slots, heads[1], like)])

    def example(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random inputs of the right shapes, by the names that `forward` gives them."""
        return {"tokens_BT": torch.randint(0, self.vocabulary, (batch, length), generator=generator)}


def _continued(layer: Any, x_BTD: Tensor, cache: LayerCache, positions_BT: Tensor | None) -> Tensor:
    """The states after new tokens, from the state before them."""
    assert positions_BT is not None
    before = tuple(state[:, 0] for state in cache.before(positions_BT))
    first, second = layer.forwards(x_BTD, before)
    cache.extend(first[:, None], second[:, None], positions_BT)
    return first
