"""The wide part of a classifier: a linear model over n-grams, beside the deep network (Cheng et al., Wide & Deep Learning
for Recommender Systems, 2016).

Its features are the TF-IDF weights of n-grams of tokens and of bytes, and the counts of n-grams of tokens. They are hashed
into buckets, the counts into buckets of their own. The weights are fitted before training and are no parameters.

Axes: B batch, T tokens, L bytes of a token, S bytes of a text, F features of a text, K buckets, V vocabulary, C classes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.parts.embeddings import ngram_hashes

# Further bytes of a token are ignored.
TOKEN_BYTES = 16
# Byte n-grams begin with this length.
LEAST_BYTES = 2
SPACE = 32
# Added to the hashes of byte n-grams, which are not those of token n-grams.
BYTE_SALT = 7919


class WidePart(nn.Module):
    """logits = bias + sum over n-grams of weight[n-gram] tf-idf[n-gram] + sum over token n-grams of weight'[n-gram] count.

    tf-idf = (1 + ln count) idf / norm. The norm is that over all token n-grams of the text, or over all its byte n-grams.
    Byte n-grams do not reach over a space. An n-gram whose idf is 0 counts nowhere. Buckets from `buckets` on are those of
    counts.
    """

    bytes_VL: Tensor
    folded_V: Tensor
    byte_counts_V: Tensor
    idf_K: Tensor
    weight_KC: Tensor
    bias_C: Tensor

    def __init__(self, vocabulary: int, classes: int, max_tokens: int, max_bytes: int, buckets: int) -> None:
        super().__init__()
        self.max_tokens, self.max_bytes, self.buckets = max_tokens, max_bytes, buckets
        self.register_buffer("bytes_VL", torch.zeros(vocabulary, TOKEN_BYTES, dtype=torch.uint8))
        self.register_buffer("folded_V", torch.arange(vocabulary))
        self.register_buffer("byte_counts_V", torch.zeros(vocabulary, dtype=torch.int64))
        self.register_buffer("idf_K", torch.ones(buckets))
        self.register_buffer("weight_KC", torch.zeros(2 * buckets, classes))
        self.register_buffer("bias_C", torch.zeros(classes))

    def set_token_bytes(self, tokens: list[bytes]) -> None:
        """Set the bytes of every token of the vocabulary, in lower case.

        In n-grams of tokens, a token that differs in case or in spaces around it from one before it counts as that one.
        """
        first: dict[bytes, int] = {}
        for token, content in enumerate(tokens):
            self.folded_V[token] = first.setdefault(content.strip().lower() or content, token) if content else token
            # A special token separates words.
            kept = content.lower()[:TOKEN_BYTES] or bytes([SPACE])
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
        """Of each feature (B, F): its bucket, its value, which is 0 for padding, and the token that its n-gram ends in."""
        batch, time = tokens_BT.shape
        lengths = torch.full((batch,), time, device=tokens_BT.device) if lengths_B is None else lengths_B
        places_BT = torch.arange(time, device=tokens_BT.device).expand(batch, time)
        real_BT = places_BT < lengths[:, None]
        hashes = list(ngram_hashes(self.folded_V[tokens_BT], self.max_tokens))
        tokens = self._weighted(hashes, [real_BT] * self.max_tokens, places_BT)
        counts = tokens[0] + self.buckets, (tokens[1] > 0).to(tokens[1].dtype), tokens[2]
        groups = [tokens, counts]
        if self.max_bytes >= LEAST_BYTES:
            bytes_BS, real_BS, places_BS = self._byte_sequences(tokens_BT, real_BT)
            hashes = [hashed + BYTE_SALT for hashed in ngram_hashes(bytes_BS, self.max_bytes)]
            groups.append(self._weighted(hashes[LEAST_BYTES - 1 :], self._within_words(bytes_BS, real_BS), places_BS))
        buckets_BF, values_BF, places_BF = (torch.cat(parts, 1) for parts in zip(*groups, strict=True))
        return buckets_BF, values_BF, places_BF

    def _weighted(self, hashes: list[Tensor], counted: list[Tensor], places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The buckets, TF-IDF weights of norm 1 and places of the n-grams of several lengths. `counted` leaves some out."""
        buckets_BF = torch.cat(hashes, 1) % self.buckets
        idf_BF = self.idf_K[buckets_BF] * torch.cat(counted, 1)
        # Not counted are n-grams of padding, which must not be taken for repeats.
        repeats_BF = _repeats(buckets_BF.masked_fill(idf_BF == 0, -1))
        # Each of `repeats` equal n-grams has its share of the weight (1 + ln repeats) idf.
        values_BF = idf_BF * (1 + repeats_BF.log()) / repeats_BF
        norms_B1 = (values_BF.square() * repeats_BF).sum(1, keepdim=True).sqrt()
        return buckets_BF, values_BF / norms_B1.clamp(min=1e-12), places.repeat(1, len(hashes))

    def _within_words(self, bytes_BS: Tensor, real_BS: Tensor) -> list[Tensor]:
        """For each length of byte n-grams, those without a space inside. A space may be the first or the last byte."""
        spaces_BS = (bytes_BS <= SPACE).long().cumsum(1)
        before_BS = F.pad(spaces_BS, (1, 0))[:, :-1]
        within = []
        for length in range(LEAST_BYTES, self.max_bytes + 1):
            first_BS = F.pad(spaces_BS, (length - 1, 0))[:, : bytes_BS.shape[1]]
            within.append(real_BS & (before_BS <= first_BS) if length > 2 else real_BS)
        return within

    def _byte_sequences(self, tokens_BT: Tensor, real_BT: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The bytes of each text and a space at its end, which bytes are real, and the token that each is in (B, S)."""
        time = tokens_BT.shape[1]
        counts_BT = self.byte_counts_V[tokens_BT] * real_BT
        real_BS = (torch.arange(TOKEN_BYTES, device=tokens_BT.device) < counts_BT[..., None]).flatten(1)
        # Real bytes move to the front in their order. The shape depends on the number of tokens alone.
        order_BS = torch.argsort((~real_BS).to(torch.uint8), dim=1, stable=True)
        bytes_BS = self.bytes_VL[tokens_BT].flatten(1).long().masked_fill(~real_BS, SPACE)
        places_BS = (order_BS // TOKEN_BYTES).clamp(max=time - 1)
        ends_B = real_BS.sum(1, keepdim=True)
        real_BS = torch.arange(real_BS.shape[1], device=tokens_BT.device) <= ends_B
        return bytes_BS.gather(1, order_BS), real_BS, places_BS


def _repeats(buckets_BF: Tensor) -> Tensor:
    """How often the bucket of each n-gram occurs in its text."""
    sorted_BF, order_BF = buckets_BF.sort(1)
    begins_BF = F.pad(sorted_BF[:, 1:] != sorted_BF[:, :-1], (1, 0))
    groups_BF = begins_BF.cumsum(1)
    ones_BF = torch.ones_like(groups_BF, dtype=torch.float32)
    sizes_BF = torch.zeros_like(ones_BF).scatter_add(1, groups_BF, ones_BF)
    return torch.empty_like(ones_BF).scatter(1, order_BF, sizes_BF.gather(1, groups_BF))
