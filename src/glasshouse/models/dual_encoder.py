"""The dual encoder: texts and pictures in one space, where what belongs together is close.

Axes: N texts, T time, M pictures, C channels, S pixels, D width.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from glasshouse.models.heads.contrastive import ContrastiveHead
from glasshouse.models.heads.pooling import pool
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.masks import Everything, over
from glasshouse.parts.patch_embedding import Patches
from glasshouse.parts.probe import Probe
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class DualEncoder(nn.Module):
    """A tower over tokens, a tower over the patches of a picture, and a head that compares their pooled features."""

    @dataclass(frozen=True)
    class Settings:
        causal: bool = setting(False, "each text token sees only the tokens before it")
        image_size: int = setting(32, "side length of a picture in pixels", minimum=1)
        image_channels: int = setting(3, "colour channels of a picture", minimum=1)
        patch_size: int = setting(8, "side length of a patch in pixels; must divide image_size", minimum=1)
        image_width: int = setting(0, "width of the picture side; 0 means width", minimum=0)
        image_layers: int = setting(0, "blocks of the picture side; 0 means layers", minimum=0)
        image_heads: int = setting(0, "attention heads of the picture side; 0 means heads", minimum=0)
        image_feed_forward: int = setting(0, "inner feed-forward size of the picture side; 0 as on the text side", minimum=0)
        image_norm: bool = setting(False, "normalise embedded patches before the first block")

    default_head: ClassVar[str] = "contrastive"
    # Settings that count blocks.
    layer_counts: ClassVar[tuple[str, ...]] = ("image_layers",)

    def __init__(
        self,
        text: TransformerStack,
        image: TransformerStack,
        head: ContrastiveHead,
        pooling: str = "last",
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.text, self.image, self.head = text, image, head
        self.pooling, self.causal = pooling, causal
        self.text_features, self.image_features, self.logits = Probe(), Probe(), Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "DualEncoder":
        """The dual encoder that a spec describes."""
        if spec.head.kind not in ("", cls.default_head):
            raise SpecError(
                "head-does-not-fit",
                f"model.head.kind={spec.head.kind!r} does not go with model.kind='dual-encoder': use {cls.default_head!r}",
            )
        settings, head = settings_of(cls, spec.own), settings_of(ContrastiveHead, spec.head.own)
        if settings.image_size % settings.patch_size:
            raise SpecError(
                "patch-divides-image",
                f"model.patch_size={settings.patch_size} does not divide model.image_size={settings.image_size}",
            )
        image_spec = replace(
            spec,
            width=settings.image_width or spec.width,
            layers=settings.image_layers or spec.layers,
            heads=settings.image_heads or spec.heads,
            feed_forward=settings.image_feed_forward or (spec.feed_forward if not settings.image_width else 0),
            embedding_norm=spec.embedding_norm or settings.image_norm,
        )
        if image_spec.width % image_spec.heads and not spec.head_width:
            raise SpecError(
                "heads-divide-width",
                f"model.image_heads={image_spec.heads} does not divide model.image_width={image_spec.width}",
            )
        patches = Patches(settings.image_size, settings.patch_size, settings.image_channels, image_spec.width)
        reading = factory.under(settings.causal)
        seeing = PartFactory.of(image_spec, patches.count + 1).under(causal=False)
        embedding = reading.embedding(vocabulary, cached=False)
        text = TransformerStack(embedding, reading.blocks(spec.layers), **reading.around_blocks())
        image = TransformerStack(patches, seeing.blocks(image_spec.layers), **seeing.around_blocks())
        compare = ContrastiveHead(spec.width, image_spec.width, head.width or spec.width)
        return cls(text, image, compare, head.pooling, settings.causal)

    @property
    def vocabulary(self) -> int:
        return self.text.embedding.num_embeddings  # type: ignore[return-value]

    def forward(self, tokens_NT: Tensor, pictures_MCSS: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Scores (N, M) of every text with every picture."""
        texts, pictures = self.of_text(tokens_NT, lengths), self.of_pictures(pictures_MCSS)
        return self.logits(self.head(texts, pictures))

    def of_text(self, tokens_NT: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Pooled features (N, D) of texts, before the head."""
        features = self.text.run(tokens_NT, over(lengths, self.causal))
        return self.text_features(pool(features, self.pooling, lengths))

    def of_pictures(self, pictures_MCSS: Tensor) -> Tensor:
        """Features (M, D) of pictures, before the head: those of the vector that stands before the patches."""
        return self.image_features(self.image.run(pictures_MCSS, Everything())[:, 0])

    def flops(self, tokens: int) -> int:
        """Multiplications and additions of the matrix products for one text and one picture, forward."""
        patches: Patches = self.image.embedding  # type: ignore[assignment]
        towers = self.text.tower_flops(tokens, self.causal) + self.image.tower_flops(patches.count + 1, causal=False)
        head = 2 * (self.head.text.weight.numel() + self.head.image.weight.numel() + len(self.head.text.weight))
        return towers + patches.flops() + head

    def example(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random inputs of the right shapes, by the names that `forward` gives them."""
        patches: Patches = self.image.embedding  # type: ignore[assignment]
        channels = patches.projection.in_channels
        return {
            "tokens_NT": torch.randint(0, self.vocabulary, (batch, length), generator=generator),
            "pictures_MCSS": torch.randn(batch, channels, patches.size, patches.size, generator=generator),
        }
