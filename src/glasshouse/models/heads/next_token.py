"""Next-token head: logits of the next token at each position.

Axes: B batch, T time, D width, V vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from glasshouse.models.heads.base import Head, output_weight
from glasshouse.parts.linear import Linear, linear
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.spec_fields import setting


class NextTokenHead(Head):
    """W x (+ b), where W may be tied to the token embedding (Press and Wolf, Using the Output Embedding, 2017).

    With `softcap` = c the logits are c tanh((W x + b) / c), so that none is beyond c (Gemma 2, 2024).

    With `future_tokens` = n, training also predicts the n tokens after the next, the k-th from x + W_k x by the same W
    (Gloeckle et al., Better & Faster Large Language Models via Multi-token Prediction, 2024). Nothing else uses W_k.
    """

    @dataclass(frozen=True)
    class Settings:
        bias: bool = setting(False, "add an output bias for every token of the vocabulary")
        softcap: float = setting(0.0, "a soft limit of the size of logits; 0 means no limit", minimum=0, rare=True)
        future_tokens: int = setting(0, "tokens after the next that training predicts too", minimum=0, maximum=8, rare=True)
        future_weight: float = setting(
            0.3, "weight of the mean loss of these tokens; that of the next token is 1", minimum=0, maximum=1, rare=True
        )

    predicts = "next"
    # Whether training in bfloat16 on CUDA computes the products of this head in 8 bits.
    fp8 = False

    def __init__(self, sizes: Sizes, settings: Settings = Settings()) -> None:
        super().__init__()
        self.width, self.vocabulary, self.softcap = sizes.width, sizes.vocabulary, settings.softcap
        self.weight = output_weight(sizes)
        self.bias = nn.Parameter(torch.zeros(sizes.vocabulary)) if settings.bias else None
        self.future_tokens, self.future_weight = settings.future_tokens, settings.future_weight
        self.future = nn.ModuleList(Linear(sizes.width, sizes.width, bias=False) for _ in range(settings.future_tokens))

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        return self.capped(linear(features_BTD, self.matrix(embedding_VD), self.bias))

    def future_features(self, features_BTD: Tensor, distance: int) -> Tensor:
        """The features from which `forward` predicts the token that comes `distance` after the next; 1 is the first."""
        return features_BTD + self.future[distance - 1](features_BTD)

    def capped(self, logits: Tensor) -> Tensor:
        """The logits with their soft limit, if there is one."""
        return self.softcap * torch.tanh(logits / self.softcap) if self.softcap else logits

    def matrix(self, embedding_VD: Tensor) -> Tensor:
        """The output matrix W: the head's weight, or the embedding if the head is tied."""
        return embedding_VD if self.weight is None else self.weight

    def future_flops(self, tokens: int) -> int:
        distances = range(1, self.future_tokens + 1)
        return sum(2 * max(tokens - distance, 0) * self.width * (self.width + self.vocabulary) for distance in distances)

    def flops(self, tokens: int) -> int:
        return 2 * tokens * self.width * self.vocabulary
