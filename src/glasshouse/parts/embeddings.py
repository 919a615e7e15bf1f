"""Embeddings: a learned vector for each token of the vocabulary, and for n-grams.

Axes: B batch, T time, D width.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.specs.spec_fields import setting

# A large prime, so that the hash depends on the order of the tokens.
MULTIPLIER = 1_000_003
# A prime that is no power of the multiplier, so that the hash depends on all tokens. Times the multiplier it is below 2^63.
MODULUS = 2**42 - 11


@dataclass(frozen=True)
class EmbeddingSettings:
    """The default suits a model with norms and a tied head, whose logits grow with the embeddings.

    Without norms the attention scores of small embeddings are all near zero, and training is slow: there, 1 is usual.
    """

    embedding_deviation: float = setting(
        0.0, "standard deviation of initial embeddings; 0 means initialisation / sqrt(width)", minimum=0
    )


class TokenEmbedding(nn.Embedding):
    """E[token]: a learned vector for each token of the vocabulary."""

    Settings = EmbeddingSettings

    def __init__(self, vocabulary: int, width: int, embedding_deviation: float = 0.0) -> None:
        super().__init__(vocabulary, width)
        # `models.initialise` reads it; 0 means the rule for all matrices.
        self.initial_deviation = embedding_deviation


def ngram_hashes(tokens_BT: Tensor, max_ngram: int) -> Iterator[Tensor]:
    """(B, T) for each length from 1 to `max_ngram`: a hash of the n-gram that ends at each token."""
    ngram = tokens_BT + 1
    yield ngram
    for offset in range(1, max_ngram):
        # Tokens count from 1 here, so that 0 can stand for "before the start of the text".
        earlier = F.pad(tokens_BT + 1, (offset, 0))[:, : tokens_BT.shape[1]]
        ngram = (ngram * MULTIPLIER + earlier) % MODULUS
        yield ngram + offset


class NgramEmbedding(nn.Embedding):
    """E[token] + sum over n = 2..N of B[hash(n-gram that ends at the token) mod buckets].

    A token's vector plus the vectors of the n-grams that end at it (Joulin et al., Bag of Tricks for Efficient Text
    Classification, 2017). There are too many n-grams to give each its own vector. Each n-gram is hashed into a bucket; all
    n-grams of a bucket share one vector.
    """

    @dataclass(frozen=True)
    class Settings(EmbeddingSettings):
        max_ngram: int = setting(2, "maximum n-gram length; 1 turns n-grams off", minimum=1, maximum=64)
        ngram_buckets: int = setting(16384, "number of hash buckets that n-grams share", minimum=1, maximum=100_000_000)

    unsupported: ClassVar[dict[str, str]] = {
        "cache": "an n-gram embedding needs the earlier tokens, which a cache does not keep; "
        "choose model.embedding=token, or model.kind=encoder"
    }

    def __init__(
        self, vocabulary: int, width: int, max_ngram: int, ngram_buckets: int, embedding_deviation: float = 0.0
    ) -> None:
        super().__init__(vocabulary, width)
        self.initial_deviation = embedding_deviation
        self.max_ngram = max_ngram
        # The n-gram vectors. The attribute name is a tensor name in checkpoints.
        self.runs = nn.Embedding(ngram_buckets, width)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        embedded = super().forward(tokens_BT)
        for ngram in islice(ngram_hashes(tokens_BT, self.max_ngram), 1, None):
            embedded = embedded + self.runs(ngram % self.runs.num_embeddings)
        return embedded
