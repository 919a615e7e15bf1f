"""N-gram embeddings: a vector for each token, and one for every n-gram that ends at it (Joulin et al., Bag of Tricks for
Efficient Text Classification, 2017).

There are too many n-grams for a vector each. An n-gram is hashed into a bucket, and the n-grams of a bucket share a vector.

Axes: B batch, T time, D width.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts.capabilities import Unsupported
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.spec_fields import setting

# A prime, so that the same tokens in another order hash to another bucket.
MULTIPLIER = 1_000_003


class NgramEmbedding(nn.Embedding):
    """E[token] + sum over n = 2..N of B[hash(the n-gram that ends there) mod buckets]."""

    @dataclass(frozen=True)
    class Settings:
        max_ngram: int = setting(2, "maximum n-gram length; 1 turns n-grams off", minimum=1)
        ngram_buckets: int = setting(16384, "number of hash buckets that n-grams share", minimum=1)

    unsupported: ClassVar[Unsupported] = {
        "cache": "an n-gram embedding reads the tokens before each token, which a cache does not keep; "
        "choose model.embedding=token, or an encoder"
    }

    def __init__(self, vocabulary: int, width: int, max_ngram: int, buckets: int) -> None:
        super().__init__(vocabulary, width)
        self.max_ngram = max_ngram
        self.runs = nn.Embedding(buckets, width)

    @classmethod
    def build(cls, sizes: Sizes, settings: Settings, vocabulary: int) -> "NgramEmbedding":
        return cls(vocabulary, sizes.width, settings.max_ngram, settings.ngram_buckets)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        embedded, ngram = super().forward(tokens_BT), tokens_BT + 1
        for back in range(1, self.max_ngram):
            # Before the text stands 0, which is no token's number here.
            earlier = F.pad(tokens_BT + 1, (back, 0))[:, : tokens_BT.shape[1]]
            ngram = (ngram * MULTIPLIER + earlier) % (MULTIPLIER * MULTIPLIER)
            embedded = embedded + self.runs((ngram + back) % self.runs.num_embeddings)
        return embedded
