"""N-gram embedding: a token's vector plus the vectors of the n-grams that end at it (Joulin et al., Bag of Tricks for
Efficient Text Classification, 2017).

There are too many n-grams to give each its own vector. Each n-gram is hashed into a bucket; all n-grams of a bucket share
one vector.

Axes: B batch, T time, D width.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts.capabilities import Unsupported
from glasshouse.parts.sizes import Sizes
from glasshouse.parts.token_embedding import EmbeddingSettings
from glasshouse.specs.spec_fields import setting

# A large prime, so that the hash depends on the order of the tokens.
MULTIPLIER = 1_000_003


class NgramEmbedding(nn.Embedding):
    """E[token] + sum over n = 2..N of B[hash(n-gram that ends at the token) mod buckets]."""

    @dataclass(frozen=True)
    class Settings(EmbeddingSettings):
        max_ngram: int = setting(2, "maximum n-gram length; 1 turns n-grams off", minimum=1)
        ngram_buckets: int = setting(16384, "number of hash buckets that n-grams share", minimum=1)

    unsupported: ClassVar[Unsupported] = {
        "cache": "an n-gram embedding needs the earlier tokens, which a cache does not keep; "
        "choose model.embedding=token, or model.kind=encoder"
    }

    def __init__(self, vocabulary: int, width: int, max_ngram: int, buckets: int, initial_deviation: float = 0.0) -> None:
        super().__init__(vocabulary, width)
        self.initial_deviation = initial_deviation
        self.max_ngram = max_ngram
        # The n-gram vectors. The attribute name is a tensor name in checkpoints.
        self.runs = nn.Embedding(buckets, width)

    @classmethod
    def build(cls, sizes: Sizes, settings: Settings, vocabulary: int) -> "NgramEmbedding":
        return cls(vocabulary, sizes.width, settings.max_ngram, settings.ngram_buckets, settings.embedding_deviation)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        embedded, ngram = super().forward(tokens_BT), tokens_BT + 1
        for offset in range(1, self.max_ngram):
            # Tokens count from 1 here, so that 0 can stand for "before the start of the text".
            earlier = F.pad(tokens_BT + 1, (offset, 0))[:, : tokens_BT.shape[1]]
            ngram = (ngram * MULTIPLIER + earlier) % (MULTIPLIER * MULTIPLIER)
            embedded = embedded + self.runs((ngram + offset) % self.runs.num_embeddings)
        return embedded
