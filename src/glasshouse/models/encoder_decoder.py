"""The encoder-decoder: an encoder reads a source; a decoder writes a target and attends to the encoder's output.

Axes: B batch, S source tokens, T target tokens, D width, V vocabulary.
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
from glasshouse.parts.cross_block import CrossBlock
from glasshouse.parts.masks import Causal, sequence_mask
from glasshouse.parts.memory import Memory
from glasshouse.parts.probe import Probe
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_fields import setting


class EncoderDecoder(nn.Module):
    """Two stacks that share one vocabulary and embedding, as in the original Transformer (Vaswani et al. 2017)."""

    @dataclass(frozen=True)
    class Settings:
        encoder_layers: int = setting(0, "number of encoder blocks; 0 means the same as layers", minimum=0, maximum=1000)

    default_head: ClassVar[str] = "next-token"
    # The settings that are numbers of blocks.
    layer_counts: ClassVar[tuple[str, ...]] = ("encoder_layers",)

    def __init__(self, embedding: nn.Embedding, encoder: TransformerStack, decoder: TransformerStack, head: Head) -> None:
        super().__init__()
        for block in decoder.blocks:
            if not isinstance(block, CrossBlock):
                raise SpecError(
                    f"the decoder of an encoder-decoder needs blocks with cross-attention, but has {type(block).__name__}; "
                    "use CrossBlock"
                )
        head.check(embedding.embedding_dim, embedding.num_embeddings)
        self.embedding, self.encoder, self.decoder, self.head = embedding, encoder, decoder, head
        self.logits = Probe()

    @classmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> "EncoderDecoder":
        """Build the encoder-decoder that a spec describes."""
        layers = settings_of(cls, spec.own).encoder_layers or spec.layers
        encoder_factory, decoder_factory = factory.with_causal(False), factory.with_causal(True)
        encoder = TransformerStack(None, encoder_factory.blocks(layers), **encoder_factory.stack_options())
        decoder = TransformerStack(None, decoder_factory.cross_blocks(spec.layers), **decoder_factory.stack_options())
        head = decoder_factory.head(cls.default_head, vocabulary, predicts=("next",))
        return cls(factory.embedding(vocabulary, cached=True), encoder, decoder, head)

    @property
    def vocabulary(self) -> int:
        return self.embedding.num_embeddings

    def forward(self, source_BS: Tensor, target_BT: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Logits (B, T, V) for the token after each target token. `lengths` (B) are the lengths of the sources."""
        return self.condition_on(source_BS, lengths)(target_BT)

    def condition_on(self, source_BS: Tensor, lengths: Tensor | None = None) -> "ConditionedDecoder":
        """Encode the sources once; return the decoder that attends to them."""
        states = self.encoder.hidden_states(self.embedding(source_BS), sequence_mask(lengths))
        return ConditionedDecoder(self, Memory(states, lengths))

    def flops(self, tokens: int, source: int | None = None) -> int:
        """FLOPs of the matrix products in the forward pass of one source and its target."""
        source = tokens if source is None else source
        encoder = self.encoder.block_flops(source, causal=False)
        return encoder + self.decoder.block_flops(tokens, True, source) + self.head.flops(tokens)

    def random_inputs(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random keyword arguments for `forward`."""
        draws = [torch.randint(0, self.vocabulary, (batch, length), generator=generator) for _ in range(2)]
        return {"source_BS": draws[0], "target_BT": draws[1]}


class ConditionedDecoder:
    """The decoder of an encoder-decoder with one batch of encoded sources. Generation uses it like a `Decoder`."""

    def __init__(self, model: Any, memory: Memory) -> None:
        self.model, self.memory = model, memory

    def __call__(self, target_BT: Tensor) -> Tensor:
        return self.project(self.features(target_BT))

    def features(self, target_BT: Tensor, positions: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        """The last hidden states (B, T, D). With a cache, the decoder attends to the memory of the cache."""
        memory = self.memory if cache is None else cache.memory
        return self.model.decoder.hidden_states(self.model.embedding(target_BT), Causal(), positions, cache, memory)

    def project(self, features_BTD: Tensor) -> Tensor:
        """Logits for these hidden states."""
        return self.model.logits(self.model.head(features_BTD, self.model.embedding.weight))

    def empty_cache(self, batch: int, slots: int) -> Cache:
        """An empty cache for the target. It holds the keys and values of the source for each layer."""
        blocks: Any = self.model.decoder.blocks
        sources = [block.cross_attention.keys_and_values(self.memory) for block in blocks]
        layers = empty_layer_caches(self.model.decoder, batch, slots, self.model.embedding.weight, sources)
        return Cache(layers, self.memory)

    def parameters(self) -> Any:
        return self.model.parameters()

    def modules(self) -> Any:
        return self.model.modules()

    def eval(self) -> "ConditionedDecoder":
        self.model.eval()
        return self
