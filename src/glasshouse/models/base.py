"""The interface of models: what a task, the training loop or an analysis may ask of any of them.

Axes: B batch, T time, D width, V vocabulary.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from glasshouse.models.heads.base import Head
from glasshouse.models.part_factory import PartFactory
from glasshouse.parts.cache import Cache
from glasshouse.parts.probe import Probe
from glasshouse.specs.spec import ModelSpec


class Model(nn.Module, ABC):
    """A whole model: what it reads, its stacks of layers, its head and its costs."""

    # A text; a source text, or a picture, and the text that is written about it; or texts and pictures that are compared.
    reads: ClassVar[Literal["text", "source", "picture", "texts and pictures"]] = "text"
    default_head: ClassVar[str] = "next-token"
    min_layers: ClassVar[int] = 1
    # The settings that are numbers of blocks.
    layer_counts: ClassVar[tuple[str, ...]] = ()
    # The families of parts that it does not use.
    omits: ClassVar[tuple[str, ...]] = ()
    # Whether it continues a text with a cache of earlier tokens, from `empty_cache`.
    keeps_cache: ClassVar[bool] = False
    # The stacks that read texts, by what the names of their modules begin with. The last one leads to the predictions.
    text_stacks: ClassVar[tuple[str, ...]] = ("",)
    head: Head
    logits: Probe

    @classmethod
    @abstractmethod
    def assemble(cls, factory: PartFactory, spec: ModelSpec, vocabulary: int) -> Self:
        """Build the modules of the model that a spec describes, with torch's default weights."""

    @property
    @abstractmethod
    def token_embedding(self) -> nn.Embedding: ...

    @property
    def vocabulary(self) -> int:
        return self.token_embedding.num_embeddings

    @abstractmethod
    def flops(self, tokens: int) -> int:
        """FLOPs of the matrix products in the forward pass of one sequence, with its source or picture."""

    @abstractmethod
    def random_inputs(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Random keyword arguments for `forward`."""

    def layer_outputs(self, stack: str) -> list[str]:
        """The names of the modules that give the states after each layer of a stack."""
        return [f"{stack}blocks.{index}.output" for index, _ in enumerate(self.get_submodule(f"{stack}blocks").children())]

    def final_norm_of(self, stream: Tensor) -> Tensor:
        """A state of the residual stream of the last text stack, normalised as the head reads it."""
        return self.get_submodule(f"{self.text_stacks[-1]}final_norm")(stream)


class TextModel(Model):
    """A model that reads one text, and has features for each of its tokens."""

    embedding: nn.Embedding

    @property
    def token_embedding(self) -> nn.Embedding:
        return self.embedding

    @abstractmethod
    def features(self, tokens_BT: Tensor, *, lengths: Tensor | None = None) -> Tensor:
        """The last hidden states (B, T, D), which are the input of the head. Those of padding have no meaning."""

    def forward(self, tokens_BT: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The output of the head. Only the first `lengths` (B) tokens of each row are real; by default all are."""
        return self.output(self.features(tokens_BT, lengths=lengths), tokens_BT, lengths)

    def output(self, features_BTD: Tensor, tokens_BT: Tensor, lengths: Tensor | None) -> Tensor:
        output = self.head(features_BTD, self.embedding.weight, lengths)
        return self.logits(self.head.add_token_evidence(output, tokens_BT, lengths))

    def project(self, features_BTD: Tensor, lengths: Tensor | None = None) -> Tensor:
        return self.logits(self.head(features_BTD, self.embedding.weight, lengths))

    def empty_cache(self, batch: int, slots: int) -> Cache:
        """An empty cache, of a model that keeps one."""
        raise NotImplementedError(f"{type(self).__name__} keeps no cache")

    def random_inputs(self, batch: int, length: int, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        return {"tokens_BT": torch.randint(0, self.vocabulary, (batch, length), generator=generator)}
