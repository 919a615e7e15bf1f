"""The encoder-decoder: an encoder reads a source, a decoder writes a target and looks at what was read.

Axes: B batch, S source tokens, T target tokens, D width, V vocabulary.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glasshouse.models.decoder import empty_layers
from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.cache import Cache
from glasshouse.parts.cross_block import CrossBlock
from glasshouse.parts.masks import Causal, over
from glasshouse.parts.memory import Memory
from glasshouse.parts.probe import Probe
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class EncoderDecoder(nn.Module):
    """Two towers over one vocabulary, as in the first Transformer (Vaswani et al. 2017)."""

    @dataclass(frozen=True)
    class Settings:
        encoder_layers: int = setting(0, "blocks of the encoder; 0 means as many as layers", minimum=0)

    default_head: ClassVar[str] = "next-token"
    # Settings that count blocks.
    layer_counts: ClassVar[tuple[str, ...]] = ("encoder_layers",)

    def __init__(self, embedding: nn.Embedding, encoder: TransformerStack, decoder: TransformerStack, head: Head) -> None:
        super().__init__()
        for block in decoder.blocks:
            if not isinstance(block, CrossBlock):
                raise SpecError(
                    "needs-cross-block",
                    f"a decoder's blocks must look at the source: give CrossBlock, not {type(block).__name__}",
                )
        head.check(embedding.embedding_dim, embedding.num_embeddings)
        self.embedding, self.encoder, self.decoder, self.head = embedding, encoder, decoder, head
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "EncoderDecoder":
        """The encoder-decoder that a spec describes."""
        layers = settings_of(cls, spec.own).encoder_layers or spec.layers
        reading, writing = factory.under(causal=False), factory.under(causal=True)
        encoder = TransformerStack(None, reading.blocks(layers), **reading.around_blocks())
        decoder = TransformerStack(None, writing.cross_blocks(spec.layers), **writing.around_blocks())
        head = writing.head(cls.default_head, vocabulary, predicts=("next",))
        return cls(factory.embedding(vocabulary, cached=True), encoder, decoder, head)

    @property
    def vocabulary(self) -> int:
        return self.embedding.num_embeddings

    def forward(self, source_BS: Tensor, target_BT: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Logits (B, T, V) of what follows each target token. `lengths` says how much of each source is real."""
        return self.given(source_BS, lengths)(target_BT)

    def given(self, source_BS: Tensor, lengths: Tensor | None = None) -> "Given":
        """The decoder, once the source is read."""
        return Given(self, Memory(self.encoder.run(self.embedding(source_BS), over(lengths)), lengths))

    def flops(self, tokens: int, source: int | None = None) -> int:
        """Multiplications and additions of the matrix products for one pair, forward."""
        source = tokens if source is None else source
        read = self.encoder.tower_flops(source, causal=False)
        return read + self.decoder.tower_flops(tokens, True, source) + self.head.flops(tokens)

    def example(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random inputs of the right shapes, by the names that `forward` gives them."""
        draws = [torch.randint(0, self.vocabulary, (batch, length), generator=generator) for _ in range(2)]
        return {"source_BS": draws[0], "target_BT": draws[1]}


class Given:
    """A decoder that looks at one batch of sources: what generation continues, as it would a decoder alone."""

    def __init__(self, model: EncoderDecoder, memory: Memory) -> None:
        self.model, self.memory = model, memory

    def __call__(self, target_BT: Tensor) -> Tensor:
        return self.project(self.features(target_BT))

    def features(self, target_BT: Tensor, positions: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        """The last hidden states (B, T, D); with a cache, of the rows that the cache has."""
        memory = self.memory if cache is None else cache.memory
        return self.model.decoder.run(self.model.embedding(target_BT), Causal(), positions, cache, memory)

    def project(self, features_BTD: Tensor) -> Tensor:
        """Logits from hidden states."""
        return self.model.logits(self.model.head(features_BTD, self.model.embedding.weight))

    def empty_cache(self, batch: int, slots: int) -> Cache:
        """A cache that holds each layer's keys and values of the source."""
        blocks: Any = self.model.decoder.blocks
        sources = [block.cross_attention.remember(self.memory) for block in blocks]
        return Cache(empty_layers(self.model.decoder, batch, slots, self.model.embedding.weight, sources), self.memory)

    def parameters(self) -> Any:
        return self.model.parameters()

    def eval(self) -> "Given":
        self.model.eval()
        return self
