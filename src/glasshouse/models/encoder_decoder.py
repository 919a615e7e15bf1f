"""The encoder-decoder: an encoder reads a source; a decoder writes a target and attends to the encoder's output.

Axes: B batch, S source tokens, T target tokens, D width, V vocabulary.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from glasshouse.models.base import Model
from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.models.stack import TransformerStack
from glasshouse.parts.cache import Cache, Memory
from glasshouse.parts.masks import Causal, sequence_mask
from glasshouse.parts.probe import Probe
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class WritingModel(Model):
    """A model whose decoder writes a text about something that the model reads first."""

    text_stacks: ClassVar[tuple[str, ...]] = ("decoder.",)
    embedding: nn.Embedding
    decoder: TransformerStack

    @property
    def token_embedding(self) -> nn.Embedding:
        return self.embedding

    @abstractmethod
    def condition_on(self, source: Tensor) -> "ConditionedDecoder":
        """Read the sources or the pictures once; return the decoder that writes about them."""


class ConditionedDecoder:
    """The decoder of a model with one batch of encoded sources. Generation uses it like a `Decoder`."""

    def __init__(self, model: WritingModel, memory: Memory | None) -> None:
        self.model, self.memory = model, memory

    def __call__(self, target_BT: Tensor) -> Tensor:
        return self.project(self.features(target_BT))

    def features(self, target_BT: Tensor, positions: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        """The last hidden states (B, T, D). With a cache, the decoder attends to the memory of the cache."""
        memory = self.memory if cache is None else cache.memory
        return self.model.decoder.hidden_states(self.model.embedding(target_BT), Causal(), positions, cache, memory)

    def project(self, features_BTD: Tensor) -> Tensor:
        return self.model.logits(self.model.head(features_BTD, self.model.embedding.weight))

    def empty_cache(self, batch: int, slots: int) -> Cache:
        """An empty cache for the target. It holds the keys and values of the source for each layer."""
        layers = self.model.decoder.empty_layer_caches(batch, slots, self.model.embedding.weight, self.memory)
        return Cache(layers, self.memory)

    def parameters(self) -> Iterator[nn.Parameter]:
        return self.model.parameters()

    def modules(self) -> Iterator[nn.Module]:
        return self.model.modules()

    def eval(self) -> Self:
        self.model.eval()
        return self


class EncoderDecoder(WritingModel):
    """Two stacks that share one vocabulary and embedding, as in the original Transformer (Vaswani et al. 2017)."""

    @dataclass(frozen=True)
    class Settings:
        encoder_layers: int = setting(0, "number of encoder blocks; 0 means the same as layers", minimum=0, maximum=1000)

    reads = "source"
    layer_counts = ("encoder_layers",)
    text_stacks = ("encoder.", "decoder.")

    def __init__(self, embedding: nn.Embedding, encoder: TransformerStack, decoder: TransformerStack, head: Head) -> None:
        super().__init__()
        if any(block.cross_attention is None for block in decoder.blocks):
            raise SpecError("the decoder reads the source; give every Block of it a cross_attention and a cross_connection")
        self.embedding, self.encoder, self.decoder, self.head = embedding, encoder, decoder, head
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "EncoderDecoder":
        layers = settings_of(cls, spec.own).encoder_layers or spec.layers
        encoder, factory = factory.with_causal(False).stack(None, layers), factory.with_causal(True)
        decoder = factory.stack(None, spec.layers, cross=True)
        head = factory.head(cls.default_head, vocabulary, predicts=("next",))
        return cls(factory.embedding(vocabulary, cached=True), encoder, decoder, head)

    def forward(self, source_BS: Tensor, target_BT: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Logits (B, T, V) for the token after each target token. `lengths` (B) are the lengths of the sources."""
        return self.condition_on(source_BS, lengths)(target_BT)

    def condition_on(self, source: Tensor, lengths: Tensor | None = None) -> ConditionedDecoder:
        states = self.encoder.hidden_states(self.embedding(source), sequence_mask(lengths))
        return ConditionedDecoder(self, Memory(states, lengths))

    def flops(self, tokens: int, source: int | None = None) -> int:
        source = tokens if source is None else source
        encoder = self.encoder.block_flops(source, causal=False)
        return encoder + self.decoder.block_flops(tokens, True, source) + self.head.flops(tokens)

    def random_inputs(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        draws = [torch.randint(0, self.vocabulary, (batch, length), generator=generator) for _ in range(2)]
        return {"source_BS": draws[0], "target_BT": draws[1]}
