"""Token embedding: a learned vector for each token of the vocabulary."""

from dataclasses import dataclass

from torch import nn

from glasshouse.parts.sizes import Sizes
from glasshouse.specs.spec_fields import setting


@dataclass(frozen=True)
class EmbeddingSettings:
    """The settings of every embedding.

    The default suits a model with norms, which make small embeddings as large as large ones, and a tied head, whose logits
    grow with the embeddings. Without norms the attention scores of small embeddings are all near zero, and training is slow:
    there, 1 is usual, as in torch.
    """

    embedding_deviation: float = setting(
        0.0, "standard deviation of initial embeddings; 0 means initialisation / sqrt(width)", minimum=0
    )


class TokenEmbedding(nn.Embedding):
    """E[token]."""

    Settings = EmbeddingSettings

    def __init__(self, vocabulary: int, width: int, initial_deviation: float = 0.0) -> None:
        super().__init__(vocabulary, width)
        # `models.initialise` reads it; 0 means the rule for all matrices.
        self.initial_deviation = initial_deviation

    @classmethod
    def build(cls, sizes: Sizes, settings: EmbeddingSettings, vocabulary: int) -> "TokenEmbedding":
        return cls(vocabulary, sizes.width, settings.embedding_deviation)
