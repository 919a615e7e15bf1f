"""The dual encoder: texts and pictures in one space, where what belongs together is close.

Axes: N texts, T time, M pictures, C channels, S pixels, D width.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from glasshouse.models.heads.contrastive import ContrastiveHead
from glasshouse.models.heads.pooling import pool
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.masks import Everything, over
from glasshouse.parts.patch_embedding import Patches
from glasshouse.parts.probe import Probe
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec


class DualEncoder(nn.Module):
    """A tower over tokens, a tower over the patches of a picture, and a head that compares their pooled features."""

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
    def assemble(cls, workshop: PartFactory, spec: ModelSpec, vocabulary: int) -> "DualEncoder":
        """The dual encoder that a spec describes."""
        if spec.head.kind not in ("", "contrastive"):
            raise SpecError(
                f"model.head.kind={spec.head.kind!r} does not go with model.kind='dual-encoder': use 'contrastive'"
            )
        side = spec.image
        if side.size % side.patch:
            raise SpecError(f"model.image.patch={side.patch} does not divide model.image.size={side.size}")
        image_spec = replace(
            spec,
            width=side.width or spec.width,
            layers=side.layers or spec.layers,
            heads=side.heads or spec.heads,
            feed_forward=side.feed_forward or (spec.feed_forward if not side.width else 0),
            segments=0,
            embedding_norm=spec.embedding_norm or side.norm,
        )
        if image_spec.width % image_spec.heads and not spec.head_width:
            raise SpecError(f"model.image.heads={image_spec.heads} does not divide model.image.width={image_spec.width}")
        patches = Patches(side.size, side.patch, side.channels, image_spec.width)
        reading, seeing = workshop.under(spec.causal), PartFactory.of(image_spec, patches.count + 1).under(causal=False)
        text = TransformerStack(reading.embedding(vocabulary), reading.blocks(spec.layers), **reading.around())
        image = TransformerStack(patches, seeing.blocks(image_spec.layers), **seeing.around())
        head = ContrastiveHead(spec.width, image_spec.width, spec.head.width or spec.width)
        return cls(text, image, head, spec.head.pooling, spec.causal)

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
