"""The workshop: makes the parts that a model spec's words name, each as often as it is asked for."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from glasshouse.parts.block import Block
from glasshouse.parts.positions.base import NoPosition
from glasshouse.parts.sizes import Sizes
from glasshouse.specs import catalogue
from glasshouse.specs.spec import Model


@dataclass(frozen=True)
class Workshop:
    """Parts of one spec's kinds and sizes."""

    sizes: Sizes
    classes: dict[str, Any]

    @classmethod
    def of(cls, spec: Model, context: int) -> "Workshop":
        sizes = Sizes(
            width=spec.width,
            heads=spec.heads,
            context=context,
            feed_forward=spec.feed_forward or 4 * spec.width,
            layers=spec.layers,
            bias=spec.bias,
            dropout=spec.dropout,
        )
        words = {
            "attention": spec.attention,
            "position": spec.position,
            "norm": spec.norm,
            "connection": spec.connection,
            "feed_forward": spec.activation,
        }
        return cls(sizes, {family: catalogue.find(family, word) for family, word in words.items()})

    def norm(self) -> nn.Module:
        return self.classes["norm"].build(self.sizes)

    def position(self, at_embedding: bool) -> Any:
        """The position part, at the one of its two places where it acts; elsewhere none."""
        cls = self.classes["position"]
        return cls.build(self.sizes) if cls.at_embedding == at_embedding else NoPosition()

    def block(self) -> Block:
        classes, sizes = self.classes, self.sizes
        return Block(
            attention=classes["attention"].build(sizes, position=self.position(at_embedding=False)),
            feed_forward=classes["feed_forward"].build(sizes),
            attention_connection=classes["connection"](self.norm(), sizes.dropout),
            feed_forward_connection=classes["connection"](self.norm(), sizes.dropout),
        )
