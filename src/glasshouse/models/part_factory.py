"""The part factory: builds the parts that a model spec names, with the sizes and settings of the spec."""

from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from glasshouse.models.heads.base import Head
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.block import Block, CrossAttention
from glasshouse.parts.capabilities import require
from glasshouse.parts.connection import Connection
from glasshouse.parts.patch_embedding import Patches, PictureSettings
from glasshouse.parts.positions.base import NoPosition
from glasshouse.parts.sizes import Sizes
from glasshouse.specs import catalogue
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec

# Family of parts -> the field of a model spec that names a part of the family.
FIELDS = {
    "embedding": "embedding",
    "attention": "attention",
    "position": "position",
    "norm": "norm",
    "connection": "connection",
    "feed_forward": "activation",
}


@dataclass(frozen=True)
class PartFactory:
    """Builds the parts of one spec. `classes` maps each family to the class that the spec names."""

    spec: ModelSpec
    sizes: Sizes
    classes: dict[str, Any]

    @classmethod
    def from_spec(cls, spec: ModelSpec, context: int) -> "PartFactory":
        classes = {family: catalogue.find(family, getattr(spec, name), f"model.{name}") for family, name in FIELDS.items()}
        sizes = Sizes(
            width=spec.width,
            heads=spec.heads,
            context=context,
            feed_forward=spec.feed_forward or 4 * spec.width,
            bias=spec.bias,
            dropout=spec.dropout,
            head_width=spec.head_width,
            epsilon=spec.epsilon,
            embedding_deviation=getattr(settings_of(classes["embedding"], spec.own), "embedding_deviation", 0.0),
        )
        return cls(spec, sizes, classes)

    def with_causal(self, causal: bool) -> "PartFactory":
        return replace(self, sizes=replace(self.sizes, causal=causal))

    def build(self, family: str, **parts: Any) -> Any:
        cls = self.classes[family]
        return self.sizes.build(cls, settings_of(cls, self.spec.own), **parts)

    def position(self, at_embedding: bool) -> Any:
        """The positional encoding for the embeddings or for each attention; `NoPosition` if it acts in the other place."""
        acts_here = (self.classes["position"].mechanism == "embedding") == at_embedding
        return self.build("position") if acts_here else NoPosition()

    def attention(self, cross: bool = False) -> Any:
        """The attention with its positional encoding. Raises SpecError if the two do not fit together."""
        cls, position = self.classes["attention"], self.classes["position"]
        setting = f"model.attention={self.spec.attention!r}"
        if self.sizes.causal and not cross:
            require(cls, "causal", f"{setting} in a model that predicts the next token")
        if position.mechanism in ("bias", "rotation") and not cross:
            require(cls, position.mechanism, f"{setting} with model.position={self.spec.position!r}")
        return self.build("attention", position=NoPosition() if cross else self.position(at_embedding=False))

    def connection(self) -> Connection:
        return self.build("connection", norm=self.build("norm"))

    def block(self, cross: bool) -> Block:
        """A block; with `cross`, one that attends to the output of an encoder too."""
        require(self.classes["attention"], "blocks", f"model.kind={self.spec.kind!r}")
        if cross:
            require(self.classes["attention"], "cross", f"model.attention={self.spec.attention!r}")
        if cross and self.spec.own.get("value_residual"):
            reason = f"does not fit model.kind={self.spec.kind!r}, which has cross-attention; choose false"
            raise SpecError(reason, "model.value_residual", True)
        return Block(
            attention=self.attention(),
            feed_forward=self.build("feed_forward"),
            attention_connection=self.connection(),
            feed_forward_connection=self.connection(),
            cross_attention=CrossAttention(self.attention(cross=True)) if cross else None,
            cross_connection=self.connection() if cross else None,
        )

    def blocks(self, count: int, cross: bool = False) -> list[Block]:
        return [self.block(cross) for _ in range(count)]

    def stack(self, embedding: nn.Module | None, layers: int, cross: bool = False) -> TransformerStack:
        return TransformerStack(embedding, self.blocks(layers, cross), **self.stack_options())

    def embedding(self, vocabulary: int, cached: bool) -> nn.Embedding:
        """The embedding. `cached` means that the model generates text with a cache."""
        if cached:
            setting = f"model.embedding={self.spec.embedding!r} in a model of kind {self.spec.kind!r}"
            require(self.classes["embedding"], "cache", setting)
        return self.build("embedding", vocabulary=vocabulary)

    def patches(self, settings: PictureSettings) -> Patches:
        """The embedding of the patches of a picture, which begins as large as the embeddings of tokens."""
        deviation, of_matrices = self.sizes.embedding_deviation, self.spec.initialisation
        scale = deviation / of_matrices if deviation and of_matrices else self.spec.width**-0.5
        return Patches(settings.image_size, settings.patch_size, settings.image_channels, self.spec.width, scale)

    def stack_options(self) -> dict[str, Any]:
        """The arguments of a `TransformerStack` besides its embedding and blocks."""
        return {
            "final_norm": self.build("norm") if self.classes["connection"].final_norm else None,
            "position": self.position(at_embedding=True),
            "embedding_norm": self.build("norm") if self.spec.embedding_norm else None,
            "dropout": self.spec.dropout,
        }

    def head(self, default: str, vocabulary: int, predicts: tuple[str, ...]) -> Head:
        """The head that the spec names, or the default head. `predicts` lists the values of `Head.predicts` that fit."""
        spec = self.spec
        kind = spec.head.kind or default
        cls = catalogue.find("head", kind, "model.head.kind")
        if cls.predicts not in predicts:
            fitting = [name for name, head in catalogue.loadable("head").items() if head.predicts in predicts]
            reason = f"does not fit model.kind={spec.kind!r}; choose one of: {', '.join(fitting)}"
            raise SpecError(reason, "model.head.kind", kind)
        return cls(replace(self.sizes, vocabulary=vocabulary, tied=spec.tied), settings_of(cls, spec.head.own))
