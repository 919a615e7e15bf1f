"""The sizes that a part receives when it is built from a spec. A part's own settings are declared on its class."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """What every part and every head is built with.

    `context` is the longest sequence in training. `causal` means that a token sees only itself and earlier tokens.
    `embedding_deviation` is the standard deviation of initial embeddings; 0 means the rule for all matrices.
    `vocabulary` and `tied` are for heads: a tied one has the weights of the token embedding.
    """

    width: int
    heads: int = 1
    context: int = 1
    feed_forward: int = 1
    bias: bool = False
    dropout: float = 0.0
    causal: bool = True
    head_width: int = 0
    epsilon: float = 1e-5
    embedding_deviation: float = 0.0
    vocabulary: int = 0
    tied: bool = True

    def __post_init__(self) -> None:
        if not self.head_width:
            object.__setattr__(self, "head_width", self.width // self.heads)
