"""Embeddings of tokens and of the runs of tokens that end at each (Joulin et al., Bag of Tricks for Efficient Text
Classification, 2017).

There are too many runs for a vector each, so a run's vector is that of the bucket that its hash falls into: some share one.

Axes: B batch, T time, D width.
"""

import torch.nn.functional as F
from torch import Tensor, nn

# A prime, so that runs of the same tokens in another order fall elsewhere.
SPREAD = 1_000_003


class NgramEmbedding(nn.Embedding):
    """The vector of each token, plus that of every run of 2 to `longest` tokens that ends there."""

    def __init__(self, vocabulary: int, width: int, longest: int, buckets: int) -> None:
        super().__init__(vocabulary, width)
        self.longest = longest
        self.runs = nn.Embedding(buckets, width)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        found, run = super().forward(tokens_BT), tokens_BT + 1
        for back in range(1, self.longest):
            # Before the text there is 0, which is no token's number here.
            earlier = F.pad(tokens_BT + 1, (back, 0))[:, : tokens_BT.shape[1]]
            run = (run * SPREAD + earlier) % (SPREAD * SPREAD)
            found = found + self.runs((run + back) % self.runs.num_embeddings)
        return found
