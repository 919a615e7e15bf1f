"""The wide part of a classifier: a linear model over n-grams, beside the deep network (Cheng et al., Wide & Deep Learning
for Recommender Systems, 2016).

Its features are the TF-IDF weights of n-grams of tokens and of n-grams of bytes, hashed into buckets. Its weights are
fitted before training and are no parameters.

Axes: B batch, T tokens, L bytes of a token, S bytes of a text, F n-grams of a text, K buckets, V vocabulary, C classes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts.ngram_embedding import ngram_hashes

# Further bytes of a token are ignored.
TOKEN_BYTES = 16
# Byte n-grams begin with this length.
LEAST_BYTES = 2
# Added to the hashes of byte n-grams, which are not those of token n-grams.
BYTE_SALT = 7919


class WidePart(nn.Module):
    """logits = bias + sum over n-grams of weight[n-gram] idf[n-gram] / norm.

    The norm is that of the idf values of all token n-grams of the text, or of all its byte n-grams.
    """

    bytes_VL: Tensor
    byte_counts_V: Tensor
    idf_K: Tensor
    weight_KC: Tensor
    bias_C: Tensor

    def __init__(self, vocabulary: int, classes: int, max_tokens: int, max_bytes: int, buckets: int) -> None:
        super().__init__()
        self.max_tokens, self.max_bytes, self.buckets = max_tokens, max_bytes, buckets
        self.register_buffer("bytes_VL", torch.zeros(vocabulary, TOKEN_BYTES, dtype=torch.uint8))
        self.register_buffer("byte_counts_V", torch.zeros(vocabulary, dtype=torch.int64))
        self.register_buffer("idf_K", torch.ones(buckets))
        self.register_buffer("weight_KC", torch.zeros(buckets, classes))
        self.register_buffer("bias_C", torch.zeros(classes))

    def set_token_bytes(self, tokens: list[bytes]) -> None:
        """Set the bytes of every token of the vocabulary."""
        for token, content in enumerate(tokens):
            kept = content[:TOKEN_BYTES]
            self.bytes_VL[token, : len(kept)] = torch.tensor(list(kept), dtype=torch.uint8)
            self.byte_counts_V[token] = len(kept)

    def forward(self, tokens_BT: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        buckets_BF, values_BF, _ = self.features(tokens_BT, lengths_B)
        return self.bias_C + torch.einsum("bf,bfc->bc", values_BF, F.embedding(buckets_BF, self.weight_KC))

    def token_logits(self, tokens_BT: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """(B, T, C): what the n-grams that end in each token add to the logits."""
        buckets_BF, values_BF, places_BF = self.features(tokens_BT, lengths_B)
        logits_BFC = F.embedding(buckets_BF, self.weight_KC) * values_BF[..., None]
        zeros_BTC = logits_BFC.new_zeros(*tokens_BT.shape, logits_BFC.shape[-1])
        return zeros_BTC.scatter_add(1, places_BF[..., None].expand_as(logits_BFC), logits_BFC)

    def features(self, tokens_BT: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Of each n-gram (B, F): its bucket, its TF-IDF weight, which is 0 for padding, and the token that it ends in."""
        batch, time = tokens_BT.shape
        lengths = torch.full((batch,), time, device=tokens_BT.device) if lengths_B is None else lengths_B
        places_BT = torch.arange(time, device=tokens_BT.device).expand(batch, time)
        real_BT = places_BT < lengths[:, None]
        groups = [self._weighted(list(ngram_hashes(tokens_BT, self.max_tokens)), real_BT, places_BT)]
        if self.max_bytes >= LEAST_BYTES:
            bytes_BS, real_BS, places_BS = self._byte_sequences(tokens_BT, real_BT)
            hashes = list(ngram_hashes(bytes_BS, self.max_bytes))[LEAST_BYTES - 1 :]
            groups.append(self._weighted([hashed + BYTE_SALT for hashed in hashes], real_BS, places_BS))
        buckets_BF, values_BF, places_BF = (torch.cat(parts, 1) for parts in zip(*groups, strict=True))
        return buckets_BF, values_BF, places_BF

    def _weighted(self, hashes: list[Tensor], real: Tensor, places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The buckets, TF-IDF weights of norm 1 and places of the n-grams of several lengths."""
        buckets_BF = torch.cat(hashes, 1) % self.buckets
        idf_BF = self.idf_K[buckets_BF] * real.repeat(1, len(hashes))
        norms_B1 = idf_BF.square().sum(1, keepdim=True).sqrt()
        return buckets_BF, idf_BF / norms_B1.clamp(min=1e-12), places.repeat(1, len(hashes))

    def _byte_sequences(self, tokens_BT: Tensor, real_BT: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The bytes of each text and a byte 0 at its end, which bytes are real, and the token that each is in (B, S)."""
        time = tokens_BT.shape[1]
        counts_BT = self.byte_counts_V[tokens_BT] * real_BT
        real_BS = (torch.arange(TOKEN_BYTES, device=tokens_BT.device) < counts_BT[..., None]).flatten(1)
        # Real bytes move to the front in their order. The shape depends on the number of tokens alone.
        order_BS = torch.argsort((~real_BS).to(torch.uint8), dim=1, stable=True)
        bytes_BS = self.bytes_VL[tokens_BT].flatten(1).long() * real_BS
        places_BS = (order_BS // TOKEN_BYTES).clamp(max=time - 1)
        ends_B = real_BS.sum(1, keepdim=True)
        real_BS = torch.arange(real_BS.shape[1], device=tokens_BT.device) <= ends_B
        return bytes_BS.gather(1, order_BS), real_BS, places_BS
