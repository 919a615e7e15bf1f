"""Token embedding: a learned vector for each token of the vocabulary."""

from torch import nn

from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings


class TokenEmbedding(nn.Embedding):
    """E[token]."""

    @classmethod
    def build(cls, sizes: Sizes, settings: NoSettings, vocabulary: int) -> "TokenEmbedding":
        return cls(vocabulary, sizes.width)
