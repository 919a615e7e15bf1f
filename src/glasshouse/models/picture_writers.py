"""Models that write a text about a picture. A decoder reads the picture's patches as a prefix, or attends to an encoder's.

Axes: B batch, C channels, S pixels, P vectors of the prefix, T target tokens, D width, V vocabulary.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from glasshouse.models.encoder_decoder import ConditionedDecoder, EncoderDecoder, WritingModel
from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.cache import Cache, Memory
from glasshouse.parts.masks import Causal, Everything, Mask, Prefix
from glasshouse.parts.patch_embedding import Patches, PictureSettings
from glasshouse.parts.probe import Probe
from glasshouse.specs.declared import settings_of
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class PictureWriter(WritingModel):
    """A model that reads a picture as patches, and writes a text about it."""

    reads = "picture"

    @property
    @abstractmethod
    def picture_embedding(self) -> Patches: ...

    def forward(self, pictures_BCSS: Tensor, target_BT: Tensor) -> Tensor:
        return self.condition_on(pictures_BCSS)(target_BT)

    def random_inputs(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        tokens = torch.randint(0, self.vocabulary, (batch, length), generator=generator)
        return {"pictures_BCSS": self.picture_embedding.random_pictures(batch, generator), "target_BT": tokens}


class PictureEncoderDecoder(PictureWriter):
    """As an encoder-decoder, but the source is a picture: an encoder reads its patches, and a decoder attends to them."""

    @dataclass(frozen=True)
    class Settings(PictureSettings, EncoderDecoder.Settings):
        pass

    layer_counts = ("encoder_layers",)

    def __init__(self, embedding: nn.Embedding, encoder: TransformerStack, decoder: TransformerStack, head: Head) -> None:
        super().__init__()
        self.embedding, self.encoder, self.decoder, self.head = embedding, encoder, decoder, head
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "PictureEncoderDecoder":
        settings = settings_of(cls, spec.own)
        patches = factory.patches(settings)
        picture_factory = PartFactory.from_spec(spec, patches.length).with_causal(False)
        text_factory = factory.with_causal(True)
        encoder = picture_factory.stack(patches, settings.encoder_layers or spec.layers)
        decoder = text_factory.stack(None, spec.layers, cross=True)
        head = text_factory.head(cls.default_head, vocabulary, predicts=("next",))
        return cls(factory.embedding(vocabulary, cached=True), encoder, decoder, head)

    @property
    def picture_embedding(self) -> Patches:
        return cast(Patches, self.encoder.embedding)

    def condition_on(self, source: Tensor) -> ConditionedDecoder:
        return ConditionedDecoder(self, Memory(self.encoder.hidden_states(source, Everything())))

    def flops(self, tokens: int) -> int:
        length = self.picture_embedding.length
        encoder = self.picture_embedding.flops() + self.encoder.block_flops(length, causal=False)
        return encoder + self.decoder.block_flops(tokens, True, length) + self.head.flops(tokens)


class PictureDecoder(PictureWriter):
    """A decoder whose sequence begins with the embedded patches of a picture. It continues them with a text."""

    @dataclass(frozen=True)
    class Settings(PictureSettings):
        whole_prefix: bool = setting(False, "patches attend to all patches, also to later ones (a prefix language model)")

    def __init__(
        self, patches: Patches, embedding: nn.Embedding, decoder: TransformerStack, head: Head, whole_prefix: bool = False
    ) -> None:
        super().__init__()
        self.patches, self.embedding, self.decoder, self.head = patches, embedding, decoder, head
        self.whole_prefix = whole_prefix
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "PictureDecoder":
        settings = settings_of(cls, spec.own)
        patches = factory.patches(settings)
        # The prefix takes up positions before those of the text.
        factory = PartFactory.from_spec(spec, patches.length + factory.sizes.context).with_causal(True)
        head = factory.head(cls.default_head, vocabulary, predicts=("next",))
        embedding, decoder = factory.embedding(vocabulary, cached=True), factory.stack(None, spec.layers)
        return cls(patches, embedding, decoder, head, settings.whole_prefix)

    @property
    def picture_embedding(self) -> Patches:
        return self.patches

    def condition_on(self, source: Tensor) -> "PrefixedDecoder":
        return PrefixedDecoder(self, self.patches(source))

    def flops(self, tokens: int) -> int:
        blocks = self.decoder.block_flops(self.patches.length + tokens, causal=True)
        return self.patches.flops() + blocks + self.head.flops(tokens)


class PrefixedDecoder(ConditionedDecoder):
    """The decoder with one batch of embedded prefixes (B, P, D)."""

    def __init__(self, model: PictureDecoder, prefix_BPD: Tensor) -> None:
        super().__init__(model, memory=None)
        self.prefix, self.whole_prefix = prefix_BPD, model.whole_prefix

    def features(self, target_BT: Tensor, positions: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        """The last hidden states (B, T, D) of the target. Its positions are counted without the prefix."""
        embedded, length = self.model.embedding(target_BT), self.prefix.shape[1]
        if cache is not None:
            assert positions is not None
            return self.model.decoder.hidden_states(embedded, self._mask(len(embedded)), positions + length, cache)
        whole = torch.cat([self.prefix.to(embedded.dtype), embedded], dim=1)
        return self.model.decoder.hidden_states(whole, self._mask(len(embedded)))[:, length:]

    def empty_cache(self, batch: int, slots: int) -> Cache:
        """A cache that holds the prefix and has empty slots for the target."""
        length = self.prefix.shape[1]
        layers = self.model.decoder.empty_layer_caches(batch, length + slots, self.model.embedding.weight)
        cache = Cache(layers, prefix=length)
        positions = torch.arange(length, device=self.prefix.device).expand(batch, length)
        self.model.decoder.hidden_states(self.prefix, self._mask(batch), positions, cache)
        return cache

    def _mask(self, batch: int) -> Mask:
        if not self.whole_prefix:
            return Causal()
        return Causal() | Prefix(torch.full((batch,), self.prefix.shape[1], device=self.prefix.device))
