"""The picture encoder-decoder: an encoder reads the patches of a picture; a decoder writes a text and attends to them.

Axes: B batch, C channels, S pixels, T target tokens, D width, V vocabulary.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from glasshouse.models.encoder_decoder import ConditionedDecoder
from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.masks import Everything
from glasshouse.parts.memory import Memory
from glasshouse.parts.patch_embedding import Patches
from glasshouse.parts.probe import Probe
from glasshouse.specs.declared import settings_of
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class PictureEncoderDecoder(nn.Module):
    """As an encoder-decoder, but the source is a picture."""

    @dataclass(frozen=True)
    class Settings:
        encoder_layers: int = setting(0, "number of encoder blocks; 0 means the same as layers", minimum=0, maximum=1000)
        image_size: int = setting(32, "side length of a picture in pixels", minimum=1, maximum=4096)
        image_channels: int = setting(3, "colour channels of a picture", minimum=1, maximum=1024)
        patch_size: int = setting(8, "side length of a patch in pixels; must divide image_size", minimum=1, maximum=4096)

    default_head: ClassVar[str] = "next-token"
    # The settings that are numbers of blocks.
    layer_counts: ClassVar[tuple[str, ...]] = ("encoder_layers",)

    def __init__(self, embedding: nn.Embedding, encoder: TransformerStack, decoder: TransformerStack, head: Head) -> None:
        super().__init__()
        head.check(embedding.embedding_dim, embedding.num_embeddings)
        self.embedding, self.encoder, self.decoder, self.head = embedding, encoder, decoder, head
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "PictureEncoderDecoder":
        """Build the model that a spec describes."""
        settings = settings_of(cls, spec.own)
        patches = factory.patches(settings.image_size, settings.patch_size, settings.image_channels)
        picture_factory = PartFactory.from_spec(spec, patches.length).with_causal(False)
        text_factory = factory.with_causal(True)
        blocks = picture_factory.blocks(settings.encoder_layers or spec.layers)
        encoder = TransformerStack(patches, blocks, **picture_factory.stack_options())
        decoder = TransformerStack(None, text_factory.cross_blocks(spec.layers), **text_factory.stack_options())
        head = text_factory.head(cls.default_head, vocabulary, predicts=("next",))
        return cls(factory.embedding(vocabulary, cached=True), encoder, decoder, head)

    @property
    def vocabulary(self) -> int:
        return self.embedding.num_embeddings

    @property
    def patches(self) -> Patches:
        return self.encoder.embedding  # type: ignore[return-value]

    def forward(self, pictures_BCSS: Tensor, target_BT: Tensor) -> Tensor:
        """Logits (B, T, V) for the token after each target token."""
        return self.condition_on(pictures_BCSS)(target_BT)

    def condition_on(self, pictures_BCSS: Tensor) -> ConditionedDecoder:
        """Encode the pictures once; return the decoder that attends to them."""
        return ConditionedDecoder(self, Memory(self.encoder.hidden_states(pictures_BCSS, Everything())))

    def flops(self, tokens: int) -> int:
        """FLOPs of the matrix products in the forward pass of one picture and its text."""
        length = self.patches.length
        encoder = self.patches.flops() + self.encoder.block_flops(length, causal=False)
        return encoder + self.decoder.block_flops(tokens, True, length) + self.head.flops(tokens)

    def random_inputs(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random keyword arguments for `forward`."""
        tokens = torch.randint(0, self.vocabulary, (batch, length), generator=generator)
        return {"pictures_BCSS": self.patches.random_pictures(batch, generator), "target_BT": tokens}
