"""The recurrent model: a state is passed from token to token, in one direction or both, with or without attention.

Axes: B batch, T time, D width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from glasshouse.models.base import TextModel
from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import check_length
from glasshouse.parts import linear
from glasshouse.parts.attention.base import Attention
from glasshouse.parts.attention.no_attention import NoAttention
from glasshouse.parts.cache import Cache, LayerCache
from glasshouse.parts.capabilities import require
from glasshouse.parts.masks import sequence_mask
from glasshouse.parts.positions.base import NoPosition, Position
from glasshouse.parts.probe import Probe
from glasshouse.parts.recurrence import Recurrence
from glasshouse.specs import catalogue
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class Recurrent(TextModel):
    """A stack of recurrent layers; x + attention(x) over the states of the last layer; and a head."""

    @dataclass(frozen=True)
    class Settings:
        cell: str = setting("lstm", "the recurrent cell", family="cell")
        bidirectional: bool = setting(False, "read the sequence in both directions")

    omits = ("feed_forward", "connection", "norm")
    keeps_cache = True

    def __init__(
        self,
        embedding: nn.Embedding,
        layers: list[Recurrence],
        attention: Attention | NoAttention,
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
        settings = settings_of(cls, spec.own)
        if settings.bidirectional and spec.width % 2:
            reason = f"gives half of model.width={spec.width} to each direction; choose an even width"
            raise SpecError(reason, "model.bidirectional", True)
        if settings.bidirectional and spec.head.kind in ("", "next-token"):
            reason = "sees later tokens, so it cannot predict the next; choose model.head.kind=classifier or masked-token"
            raise SpecError(reason, "model.bidirectional", True)
        causal = not settings.bidirectional
        if causal:
            require(factory.classes["attention"], "causal", f"model.attention={spec.attention!r} in a recurrent model")
        factory = factory.with_causal(causal)
        cell = catalogue.find("cell", settings.cell, "model.cell")
        sizes = spec.width, spec.width if causal else spec.width // 2
        layers = [Recurrence(cell(*sizes), None if causal else cell(*sizes)) for _ in range(spec.layers)]
        head = factory.head(cls.default_head, vocabulary, predicts=("next", "own", "whole"))
        embedding, attention = factory.embedding(vocabulary, cached=True), factory.attention()
        return cls(embedding, layers, attention, head, factory.position(at_embedding=True), spec.dropout)

    def features(
        self, tokens_BT: Tensor, positions: Tensor | None = None, cache: Cache | None = None, lengths: Tensor | None = None
    ) -> Tensor:
        """The states (B, T, D) of the last layer plus the output of the attention. A cache needs positions (B, T)."""
        check_length([self.position, self.attention], tokens_BT.shape[1])
        cache_positions = positions
        if positions is None:
            positions = torch.arange(tokens_BT.shape[1], device=tokens_BT.device)
        x = self.embedded(self.dropout(self.position.embed(self.embedding(tokens_BT), positions)))
        for index, layer in enumerate(self._recurrences):
            if cache is None:
                x = self.dropout(layer(x, lengths))
            else:
                assert cache_positions is not None
                x = self.dropout(layer.continued(x, cache.layers[index], cache_positions))
        x = self.states(x)
        attention_cache = cache.layers[-1] if cache is not None else None
        return x + self.attention(x, sequence_mask(lengths, not self.bidirectional), positions, attention_cache)

    @property
    def _recurrences(self) -> list[Recurrence]:
        return [layer for layer in self.layers if isinstance(layer, Recurrence)]

    def layer_outputs(self, stack: str) -> list[str]:
        return [f"layers.{index}" for index in range(len(self.layers))]

    def final_norm_of(self, stream: Tensor) -> Tensor:
        return stream

    def flops(self, tokens: int) -> int:
        attention = self.attention.flops(tokens, tokens, not self.bidirectional)
        return linear.flops(self.layers, tokens) + attention + self.head.flops(tokens)

    def empty_cache(self, batch: int, slots: int) -> Cache:
        """Slots for the states of each layer, and for the keys and values of the attention."""
        like = self.embedding.weight
        cells = [LayerCache.empty(like, (batch, 1, slots, layer.forwards.state)) for layer in self._recurrences]
        return Cache([*cells, self.attention.empty_cache(batch, slots, like)])
