"""The picture decoder: one stack reads the patches of a picture as a prefix and continues it with a text.

Axes: B batch, C channels, S pixels, P vectors of the prefix, T target tokens, D width, V vocabulary.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glasshouse.models.decoder import empty_layer_caches
from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.cache import Cache
from glasshouse.parts.masks import Causal, Mask, Prefix
from glasshouse.parts.patch_embedding import Patches
from glasshouse.parts.probe import Probe
from glasshouse.specs.declared import settings_of
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class PictureDecoder(nn.Module):
    """A decoder whose sequence begins with embedded patches instead of tokens."""

    @dataclass(frozen=True)
    class Settings:
        image_size: int = setting(32, "side length of a picture in pixels", minimum=1, maximum=4096)
        image_channels: int = setting(3, "colour channels of a picture", minimum=1, maximum=1024)
        patch_size: int = setting(8, "side length of a patch in pixels; must divide image_size", minimum=1, maximum=4096)
        whole_prefix: bool = setting(False, "patches attend to all patches, also to later ones (a prefix language model)")

    default_head: ClassVar[str] = "next-token"

    def __init__(
        self, patches: Patches, embedding: nn.Embedding, decoder: TransformerStack, head: Head, whole_prefix: bool = False
    ) -> None:
        super().__init__()
        head.check(embedding.embedding_dim, embedding.num_embeddings)
        self.patches, self.embedding, self.decoder, self.head = patches, embedding, decoder, head
        self.whole_prefix = whole_prefix
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "PictureDecoder":
        """Build the model that a spec describes."""
        settings = settings_of(cls, spec.own)
        patches = factory.patches(settings.image_size, settings.patch_size, settings.image_channels)
        # The prefix takes up positions before those of the text.
        factory = PartFactory.from_spec(spec, patches.length + factory.sizes.context).with_causal(True)
        head = factory.head(cls.default_head, vocabulary, predicts=("next",))
        decoder = TransformerStack(None, factory.blocks(spec.layers), **factory.stack_options())
        return cls(patches, factory.embedding(vocabulary, cached=True), decoder, head, settings.whole_prefix)

    @property
    def vocabulary(self) -> int:
        return self.embedding.num_embeddings

    def forward(self, pictures_BCSS: Tensor, target_BT: Tensor) -> Tensor:
        """Logits (B, T, V) for the token after each target token."""
        return self.condition_on(pictures_BCSS)(target_BT)

    def condition_on(self, pictures_BCSS: Tensor) -> "PrefixedDecoder":
        """Embed the pictures; return the decoder that continues them."""
        return PrefixedDecoder(self, self.patches(pictures_BCSS))

    def flops(self, tokens: int) -> int:
        """FLOPs of the matrix products in the forward pass of one picture and its text."""
        blocks = self.decoder.block_flops(self.patches.length + tokens, causal=True)
        return self.patches.flops() + blocks + self.head.flops(tokens)

    def random_inputs(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random keyword arguments for `forward`."""
        tokens = torch.randint(0, self.vocabulary, (batch, length), generator=generator)
        return {"pictures_BCSS": self.patches.random_pictures(batch, generator), "target_BT": tokens}


class PrefixedDecoder:
    """The decoder with one batch of embedded prefixes (B, P, D). Generation uses it like a `Decoder`."""

    def __init__(self, model: PictureDecoder, prefix_BPD: Tensor) -> None:
        self.model, self.prefix = model, prefix_BPD

    def __call__(self, target_BT: Tensor) -> Tensor:
        return self.project(self.features(target_BT))

    def features(self, target_BT: Tensor, positions: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        """The last hidden states (B, T, D) of the target. Its positions are counted without the prefix."""
        embedded, length = self.model.embedding(target_BT), self.prefix.shape[1]
        if cache is not None:
            assert positions is not None
            return self.model.decoder.hidden_states(embedded, self._mask(len(embedded)), positions + length, cache)
        whole = torch.cat([self.prefix.to(embedded.dtype), embedded], dim=1)
        return self.model.decoder.hidden_states(whole, self._mask(len(embedded)))[:, length:]

    def project(self, features_BTD: Tensor) -> Tensor:
        """Logits for these hidden states."""
        return self.model.logits(self.model.head(features_BTD, self.model.embedding.weight))

    def empty_cache(self, batch: int, slots: int) -> Cache:
        """A cache that holds the prefix and has empty slots for the target."""
        length = self.prefix.shape[1]
        layers = empty_layer_caches(self.model.decoder, batch, length + slots, self.model.embedding.weight)
        cache = Cache(layers, prefix=length)
        positions = torch.arange(length, device=self.prefix.device).expand(batch, length)
        self.model.decoder.hidden_states(self.prefix, self._mask(batch), positions, cache)
        return cache

    def parameters(self) -> Any:
        return self.model.parameters()

    def modules(self) -> Any:
        return self.model.modules()

    def eval(self) -> "PrefixedDecoder":
        self.model.eval()
        return self

    def _mask(self, batch: int) -> Mask:
        if not self.model.whole_prefix:
            return Causal()
        return Causal() | Prefix(torch.full((batch,), self.prefix.shape[1], device=self.prefix.device))
