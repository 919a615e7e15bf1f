"""The workshop: makes the parts that a model spec's words name, each as often as it is asked for."""

from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from glasshouse.models.heads.base import Head, Shape
from glasshouse.parts.attention.cross import CrossAttention
from glasshouse.parts.block import Block
from glasshouse.parts.capabilities import require
from glasshouse.parts.cross_block import CrossBlock
from glasshouse.parts.ngram_embedding import NgramEmbedding
from glasshouse.parts.positions.base import NoPosition
from glasshouse.parts.sizes import Sizes
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec


@dataclass(frozen=True)
class PartFactory:
    """Parts of one spec's kinds and sizes."""

    spec: ModelSpec
    sizes: Sizes
    classes: dict[str, Any]

    @classmethod
    def of(cls, spec: ModelSpec, context: int) -> "PartFactory":
        sizes = Sizes(
            width=spec.width,
            heads=spec.heads,
            context=context,
            feed_forward=spec.feed_forward or 4 * spec.width,
            feed_forward_layers=spec.feed_forward_layers,
            bias=spec.bias,
            dropout=spec.dropout,
            head_width=spec.head_width,
            key_value_heads=spec.key_value_heads,
            window=spec.window,
            rank=spec.rank,
            rotary_base=spec.rotary_base,
            epsilon=spec.epsilon,
        )
        words = {
            "attention": spec.attention,
            "position": spec.position,
            "norm": spec.norm,
            "connection": spec.connection,
            "feed_forward": spec.activation,
        }
        return cls(spec, sizes, {family: catalogue.find(family, word) for family, word in words.items()})

    def under(self, causal: bool) -> "PartFactory":
        """The workshop of a tower whose tokens see only those before them, or all."""
        return replace(self, sizes=replace(self.sizes, causal=causal))

    def norm(self) -> nn.Module:
        return self.classes["norm"].build(self.sizes)

    def position(self, at_embedding: bool) -> Any:
        """The position part, at the one of its two places where it acts; elsewhere none."""
        cls = self.classes["position"]
        return cls.build(self.sizes) if (cls.acts == "embedding") == at_embedding else NoPosition()

    def attention(self, cross: bool = False) -> nn.Module:
        """The attention part with the position that acts in it, or a reason why they do not go together."""
        cls, position = self.classes["attention"], self.classes["position"]
        what = f"model.attention={self.spec.attention!r}"
        if self.sizes.causal and not cross:
            require(cls, "causal", f"{what} in a model that predicts the next token")
        if position.acts in ("bias", "rotation") and not cross:
            require(cls, position.acts, f"{what} with model.position={self.spec.position!r}")
        return cls.build(self.sizes, position=NoPosition() if cross else self.position(at_embedding=False))

    def connection(self) -> nn.Module:
        return self.classes["connection"](self.norm(), self.sizes.dropout)

    def block(self) -> Block:
        require(self.classes["attention"], "blocks", f"model.kind={self.spec.kind!r}")
        return Block(
            attention=self.attention(),
            feed_forward=self.classes["feed_forward"].build(self.sizes),
            attention_connection=self.connection(),
            feed_forward_connection=self.connection(),
        )

    def cross_block(self) -> CrossBlock:
        require(self.classes["attention"], "blocks", f"model.kind={self.spec.kind!r}")
        require(self.classes["attention"], "cross", f"model.attention={self.spec.attention!r}")
        return CrossBlock(
            attention=self.attention(),
            cross_attention=CrossAttention(self.attention(cross=True)),  # type: ignore[arg-type]
            feed_forward=self.classes["feed_forward"].build(self.sizes),
            attention_connection=self.connection(),
            cross_connection=self.connection(),
            feed_forward_connection=self.connection(),
        )

    def blocks(self, count: int) -> list[Block]:
        return [self.block() for _ in range(count)]

    def cross_blocks(self, count: int) -> list[CrossBlock]:
        return [self.cross_block() for _ in range(count)]

    def embedding(self, vocabulary: int) -> nn.Embedding:
        spec = self.spec
        if spec.ngrams > 1:
            return NgramEmbedding(vocabulary, spec.width, spec.ngrams, spec.ngram_buckets)
        return nn.Embedding(vocabulary, spec.width)

    def around(self) -> dict[str, Any]:
        """What stands around a tower's blocks, by the names that a tower gives it."""
        spec = self.spec
        return {
            "final_norm": self.norm() if self.classes["connection"].final_norm else None,
            "position": self.position(at_embedding=True),
            "segments": nn.Embedding(spec.segments, spec.width) if spec.segments else None,
            "embedding_norm": self.norm() if spec.embedding_norm else None,
            "dropout": spec.dropout,
        }

    def head(self, usual: str, vocabulary: int, answers: tuple[str, ...]) -> Head:
        """The head a spec names, or the usual one; `answers` are the kinds of question that such a model can answer."""
        spec = self.spec
        kind = spec.head.kind or usual
        own = catalogue.find("head", kind, "model.head.kind")
        if getattr(own, "asks", "") not in answers:
            fitting = [
                name for name in catalogue.names("head") if getattr(catalogue.find("head", name), "asks", "") in answers
            ]
            raise SpecError(
                f"model.head.kind={kind!r} does not go with model.kind={spec.kind!r}; choose one of: {', '.join(fitting)}"
            )
        return own.build(
            Shape(
                width=spec.width,
                vocabulary=vocabulary,
                tied=spec.tied,
                dropout=spec.dropout,
                epsilon=spec.epsilon,
                settings=spec.head,
            )
        )
