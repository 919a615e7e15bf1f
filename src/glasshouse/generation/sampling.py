"""How the next token is chosen from its logits. Pure functions; knows nothing about models or text.

Every row of a batch may have options of its own. Nothing here waits for the device.

Axes: B batch, V vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from glasshouse.generation.sampling_options import Sampling

# Up to so many candidates are sampled from apart. Larger k are rare, and their speed was not measured.
MOST_CANDIDATES = 256
# A lower temperature is greedy decoding: logits divided by it would not be numbers.
LEAST_TEMPERATURE = 1e-5


class SamplingRows:
    """The options of each row of a batch, as tensors (B, 1) on a device. One row of options serves a batch of any size."""

    def __init__(self, rows: Sequence[Sampling], device: torch.device | str = "cpu") -> None:
        self.rows, self.device = list(rows), device
        self.highest_k = max(row.top_k for row in rows)
        greedy = [row.temperature < LEAST_TEMPERATURE for row in rows]
        self.any_greedy, self.all_greedy = any(greedy), all(greedy)
        self.any_repetition = any(row.repetition_penalty != 1 for row in rows)
        self.any_count = any(row.presence_penalty or row.frequency_penalty for row in rows)
        self.any_top_p = any(row.top_p < 1 for row in rows)
        self.any_min_p = any(row.min_p > 0 for row in rows)
        self.seeds = torch.tensor([row.seed for row in rows], dtype=torch.long, device=device)
        # Tensors are made for what is used only: each is a copy to the device.
        self.temperature = self._column("temperature")
        self.top_k = self._column("top_k", torch.long) if self.highest_k else None

    def _column(self, name: str, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.tensor([[getattr(row, name)] for row in self.rows], dtype=dtype, device=self.device)

    def penalised(self, logits_BV: Tensor, seen_BV: Tensor | None, counts_BV: Tensor | None) -> Tensor:
        """The logits after the penalties for tokens of the window (`seen`) and for generated tokens (`counts`)."""
        if self.any_repetition and seen_BV is not None:
            # Keskar et al., CTRL, 2019: a seen token becomes less likely, whatever the sign of its logit.
            penalty = self._column("repetition_penalty")
            changed = torch.where(logits_BV > 0, logits_BV / penalty, logits_BV * penalty)
            logits_BV = torch.where(seen_BV, changed, logits_BV)
        if self.any_count and counts_BV is not None:
            logits_BV = logits_BV - self._column("presence_penalty") * (counts_BV > 0)
            logits_BV = logits_BV - self._column("frequency_penalty") * counts_BV
        return logits_BV

    def candidates(self, logits_BV: Tensor) -> Tensor | None:
        """The tokens (B, K) that top-k leaves, in the order of their numbers: all others have probability 0.

        None if a row has no top-k or a large one, or if a token beyond the k-th is as likely as that.
        """
        if not self.highest_k or self.highest_k > MOST_CANDIDATES or any(row.top_k == 0 for row in self.rows):
            return None
        if self.highest_k >= logits_BV.shape[-1]:
            return None
        highest, tokens = logits_BV.topk(self.highest_k + 1, dim=-1)
        if bool((highest[:, -1] == highest[:, -2]).any()):
            return None
        return tokens[:, :-1].sort(dim=-1).values

    def distribution(self, logits_BV: Tensor) -> Tensor:
        """Probabilities (B, V) after temperature and filters."""
        logits = logits_BV.float()
        greedy = torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0) if self.any_greedy else None
        if self.all_greedy and greedy is not None:
            return greedy
        warm = self.temperature >= LEAST_TEMPERATURE
        logits = logits / (self.temperature if greedy is None else torch.where(warm, self.temperature, 1.0))
        size, rows = logits.shape[-1], len(logits)
        if self.top_k is not None:
            highest = logits.topk(min(self.highest_k, size), dim=-1).values
            index = (self.top_k.clamp(max=size) - 1).clamp(min=0).expand(rows, 1)
            kth = highest.gather(-1, index).masked_fill(self.top_k == 0, float("-inf"))
            logits = logits.masked_fill(logits < kth, float("-inf"))
        probabilities = logits.softmax(-1)
        if self.any_top_p:
            ordered, index = probabilities.sort(dim=-1, descending=True, stable=True)
            # A token stays if the more likely tokens together have not reached p. This is the smallest set that reaches p.
            top_p = self._column("top_p")
            dropped = (ordered.cumsum(-1) - ordered >= top_p) & (top_p < 1)
            dropped[:, 0] = False
            probabilities = probabilities.masked_fill(torch.zeros_like(dropped).scatter(-1, index, dropped), 0.0)
        if self.any_min_p:
            largest = probabilities.max(dim=-1, keepdim=True).values
            probabilities = probabilities.masked_fill(probabilities < self._column("min_p") * largest, 0.0)
        probabilities = probabilities / probabilities.sum(-1, keepdim=True)
        return probabilities if greedy is None else torch.where(warm, probabilities, greedy)


def distribution(logits_BV: Tensor, sampling: Sampling) -> Tensor:
    """Probabilities (B, V) after temperature and filters, with the same options for every row."""
    return SamplingRows([sampling], logits_BV.device).distribution(logits_BV)


def within_vocabulary(logits_BV: Tensor, vocabulary: int | None) -> Tensor:
    """The logits in float32, with minus infinity for ids from `vocabulary` on, which no token has."""
    logits = logits_BV.float()
    if vocabulary is not None and vocabulary < logits.shape[-1]:
        logits[:, vocabulary:] = float("-inf")
    return logits


def draw(probabilities_BV: Tensor, seeds: Tensor, numbers: Tensor, steps: Tensor) -> Tensor:
    """Draw one token for each row. The random number of a row depends only on (seed, number, step), not on the batch."""
    # The cumulative sum is in float64, which Apple's GPUs do not support.
    exact = probabilities_BV.cpu() if probabilities_BV.device.type == "mps" else probabilities_BV
    cumulative = exact.double().cumsum(-1)
    uniform = uniform_numbers(seeds, numbers, steps).to(cumulative.device)
    threshold = uniform[:, None] * cumulative[:, -1:]
    # The first token whose cumulative probability exceeds the threshold. A token of probability 0 is never drawn.
    drawn = torch.searchsorted(cumulative, threshold, right=True)[:, 0].clamp(max=exact.shape[-1] - 1)
    return drawn.to(probabilities_BV.device)


# The constants of SplitMix64 (Steele et al. 2014) as signed integers, because torch has no unsigned 64-bit arithmetic.
_GAMMA, _FIRST, _SECOND = (value - 2**64 for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def uniform_numbers(*words_B: Tensor) -> Tensor:
    """Random numbers in [0, 1) in float64 from integers: the leading 53 bits of `data.batches.hash64`, on the device."""
    device = torch.device("cpu") if words_B[0].device.type == "mps" else words_B[0].device
    state = torch.tensor(_GAMMA, device=device)
    for word in words_B:
        state = (state ^ word.to(device)) + _GAMMA
        state = (state ^ _shifted(state, 30)) * _FIRST
        state = (state ^ _shifted(state, 27)) * _SECOND
        state = state ^ _shifted(state, 31)
    return _shifted(state, 11).double() * 2.0**-53


def _shifted(values: Tensor, bits: int) -> Tensor:
    """A logical shift to the right; that of torch repeats the sign."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)
