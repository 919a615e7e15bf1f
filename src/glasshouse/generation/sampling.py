"""How the next token is chosen from its logits. Pure functions; knows nothing about models or text.

Axes: B batch, V vocabulary.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.batches import hash64
from glasshouse.specs.errors import GlasshouseError


@dataclass(frozen=True)
class Sampling:
    """The options of sampling. They apply in the order of the fields. Temperature 0 is greedy decoding."""

    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, valid, rule in (
            ("temperature", self.temperature, 0 <= self.temperature < float("inf"), "0 (greedy) or more"),
            ("top_k", self.top_k, self.top_k >= 0, "0 (off) or more"),
            ("top_p", self.top_p, 0 < self.top_p <= 1, "a value above 0 and at most 1"),
            ("min_p", self.min_p, 0 <= self.min_p <= 1, "a value between 0 and 1"),
            ("repetition_penalty", self.repetition_penalty, 0 < self.repetition_penalty < float("inf"), "a value above 0"),
            ("seed", self.seed, 0 <= self.seed < 2**63, "0 or more, below 2^63"),
        ):
            if not valid:
                raise GlasshouseError("bad-option", f"{name}={value} is out of range; choose {rule}")


def distribution(logits_BV: Tensor, sampling: Sampling, seen_BV: Tensor | None = None) -> Tensor:
    """Probabilities (B, V) after all filters. `seen_BV` marks the tokens that the repetition penalty applies to."""
    logits = logits_BV.float()
    if sampling.repetition_penalty != 1.0 and seen_BV is not None:
        # Keskar et al., CTRL, 2019: a seen token becomes less likely, whatever the sign of its logit.
        penalised = torch.where(logits > 0, logits / sampling.repetition_penalty, logits * sampling.repetition_penalty)
        logits = torch.where(seen_BV, penalised, logits)
    if sampling.temperature == 0:
        return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / sampling.temperature
    if 0 < sampling.top_k < logits.shape[-1]:
        kth = logits.topk(sampling.top_k, dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < kth, float("-inf"))
    probabilities = logits.softmax(-1)
    if sampling.top_p < 1:
        ordered, index = probabilities.sort(dim=-1, descending=True, stable=True)
        # A token stays if the more likely tokens together have not reached p. This is the smallest set that reaches p.
        dropped = ordered.cumsum(-1) - ordered >= sampling.top_p
        probabilities = probabilities.masked_fill(torch.zeros_like(dropped).scatter(-1, index, dropped), 0.0)
    if sampling.min_p > 0:
        largest = probabilities.max(dim=-1, keepdim=True).values
        probabilities = probabilities.masked_fill(probabilities < sampling.min_p * largest, 0.0)
    return probabilities / probabilities.sum(-1, keepdim=True)


def draw(probabilities_BV: Tensor, sampling: Sampling, rows: np.ndarray, step: int) -> Tensor:
    """Draw one token for each row. The random number depends only on (seed, row, step), not on the batch size."""
    bits = hash64(np.uint64(sampling.seed), rows.astype(np.uint64), np.uint64(step))
    uniform = torch.from_numpy((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)
    # The cumulative sum is in float64, which Apple's GPUs do not support.
    exact = probabilities_BV.cpu() if probabilities_BV.device.type == "mps" else probabilities_BV
    cumulative = exact.double().cumsum(-1)
    threshold = uniform.to(cumulative.device)[:, None] * cumulative[:, -1:]
    # The first token whose cumulative probability exceeds the threshold. A token of probability 0 is never drawn.
    drawn = torch.searchsorted(cumulative, threshold, right=True)[:, 0].clamp(max=exact.shape[-1] - 1)
    return drawn.to(probabilities_BV.device)
