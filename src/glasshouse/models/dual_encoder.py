"""The dual encoder: maps texts and pictures to one space, in which matching pairs are close.

Axes: N texts, T time, M pictures, C channels, S pixels, D width.
"""

from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn

from glasshouse.models.base import Model
from glasshouse.models.heads.pooling import ContrastiveHead, pool
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.masks import Everything, sequence_mask
from glasshouse.parts.patch_embedding import Patches, PictureSettings
from glasshouse.parts.probe import Probe
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class DualEncoder(Model):
    """One stack for tokens, one for the patches of a picture, and a head that compares their pooled features."""

    @dataclass(frozen=True)
    class Settings(PictureSettings):
        causal: bool = setting(False, "causal mask: each text token sees only itself and earlier tokens")
        image_width: int = setting(0, "width of the picture encoder; 0 means width", minimum=0, maximum=100_000)
        image_layers: int = setting(0, "number of blocks of the picture encoder; 0 means layers", minimum=0, maximum=1000)
        image_heads: int = setting(0, "attention heads of the picture encoder; 0 means heads", minimum=0, maximum=10_000)
        image_feed_forward: int = setting(0, "feed-forward size for pictures; 0 as for texts", minimum=0, maximum=1_000_000)
        image_norm: bool = setting(False, "normalise the embedded patches before the first block")

    reads = "texts and pictures"
    default_head = "contrastive"
    layer_counts = ("image_layers",)
    text_stacks = ("text.",)
    head: ContrastiveHead

    def __init__(
        self, text: TransformerStack, image: TransformerStack, head: ContrastiveHead, pooling: str, causal: bool = False
    ) -> None:
        super().__init__()
        self.text, self.image, self.head = text, image, head
        self.pooling, self.causal = pooling, causal
        self.text_features, self.image_features, self.logits = Probe(), Probe(), Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "DualEncoder":
        if spec.head.kind not in ("", cls.default_head):
            reason = f"does not fit model.kind='dual-encoder'; choose {cls.default_head!r}"
            raise SpecError(reason, "model.head.kind", spec.head.kind)
        settings, head = settings_of(cls, spec.own), settings_of(ContrastiveHead, spec.head.own)
        image_spec = replace(
            spec,
            width=settings.image_width or spec.width,
            layers=settings.image_layers or spec.layers,
            heads=settings.image_heads or spec.heads,
            feed_forward=settings.image_feed_forward or (spec.feed_forward if not settings.image_width else 0),
            embedding_norm=spec.embedding_norm or settings.image_norm,
        )
        if image_spec.width % image_spec.heads and not spec.head_width:
            reason = f"does not divide model.image_width={image_spec.width}; choose a divisor"
            raise SpecError(reason, "model.image_heads", image_spec.heads)
        patches = Patches(settings.image_size, settings.patch_size, settings.image_channels, image_spec.width)
        text_factory = factory.with_causal(settings.causal)
        image_factory = PartFactory.from_spec(image_spec, patches.length).with_causal(False)
        # The deviation of the embeddings of tokens is not that of patches.
        image_factory = replace(image_factory, sizes=replace(image_factory.sizes, embedding_deviation=0.0))
        embedding = text_factory.embedding(vocabulary, cached=False)
        text, image = text_factory.stack(embedding, spec.layers), image_factory.stack(patches, image_spec.layers)
        contrastive = ContrastiveHead(spec.width, image_spec.width, head.width or spec.width)
        return cls(text, image, contrastive, head.pooling, settings.causal)

    @property
    def token_embedding(self) -> nn.Embedding:
        return cast(nn.Embedding, self.text.embedding)

    @property
    def patches(self) -> Patches:
        return cast(Patches, self.image.embedding)

    def forward(self, tokens_NT: Tensor, pictures_MCSS: Tensor, lengths: Tensor | None = None) -> Tensor:
        texts, pictures = self.encode_text(tokens_NT, lengths), self.encode_pictures(pictures_MCSS)
        return self.logits(self.head(texts, pictures))

    def encode_text(self, tokens_NT: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Pooled features (N, D) of texts, before the head."""
        features = self.text.hidden_states(tokens_NT, sequence_mask(lengths, self.causal))
        return self.text_features(pool(features, self.pooling, lengths))

    def encode_pictures(self, pictures_MCSS: Tensor) -> Tensor:
        """Features (M, D) of pictures, before the head: the hidden state of the class token."""
        return self.image_features(self.image.hidden_states(pictures_MCSS, Everything())[:, 0])

    def flops(self, tokens: int) -> int:
        blocks = self.text.block_flops(tokens, self.causal) + self.image.block_flops(self.patches.length, causal=False)
        return blocks + self.patches.flops() + self.head.flops(tokens)

    def random_inputs(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        return {
            "tokens_NT": torch.randint(0, self.vocabulary, (batch, length), generator=generator),
            "pictures_MCSS": self.patches.random_pictures(batch, generator),
        }
