"""How alike the hidden states of different positions are, and whether the token can be read from them. Knows no claim.

Axes: B batch, T time, D width, V vocabulary, N positions of all sequences.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.inspection.capture import capture

# Weight of the squared coefficients in the linear probe, whose inputs have unit variance.
PENALTY = 1e-3
# The share of the sequences that the probe is fitted to; it is scored on the others.
FITTED = 2 / 3


def states_by_depth(model: Any, tokens_BT: Tensor) -> list[Tensor]:
    """The hidden states (B, T, D) in float64: the embeddings, and after each block."""
    names = ["embedded", *(f"blocks.{index}.output" for index in range(len(model.blocks)))]
    with torch.inference_mode(), capture(model, *names) as seen:
        model.features(tokens_BT)
    return [seen[name].double().cpu() for name in names]


def similarity(states_BTD: Tensor) -> float:
    """The mean cosine similarity between two different positions of one sequence."""
    unit_BTD = F.normalize(states_BTD, dim=-1)
    count = unit_BTD.shape[1]
    pairs_B = unit_BTD.sum(1).square().sum(-1) - unit_BTD.square().sum((1, 2))
    return float(pairs_B.mean()) / (count * (count - 1))


def read_back(states_BTD: Tensor, tokens_BT: Tensor, vocabulary: int) -> float:
    """The share of tokens that a linear probe reads from the states at their own positions.

    Each feature is standardised, so that a difference counts however small it is beside what all positions share.
    """
    fitted = round(len(tokens_BT) * FITTED)
    mean, deviation = states_BTD[:fitted].mean((0, 1)), states_BTD[:fitted].std((0, 1))
    inputs_BTD = F.pad((states_BTD - mean) / deviation.clamp_min(1e-300), (0, 1), value=1.0)
    inputs_ND, targets_N = inputs_BTD[:fitted].flatten(0, 1), tokens_BT[:fitted].flatten()
    squares_DD = inputs_ND.T @ inputs_ND + PENALTY * len(inputs_ND) * torch.eye(inputs_ND.shape[1], dtype=torch.float64)
    coefficients_DV = torch.linalg.solve(squares_DD, inputs_ND.T @ F.one_hot(targets_N, vocabulary).double())
    read_BT = (inputs_BTD[fitted:] @ coefficients_DV).argmax(-1)
    return float((read_BT == tokens_BT[fitted:]).double().mean())


def commonest_share(tokens_BT: Tensor) -> float:
    """The share of tokens that are read correctly by always answering the commonest token of the fitted sequences."""
    fitted = round(len(tokens_BT) * FITTED)
    return float((tokens_BT[fitted:] == tokens_BT[:fitted].flatten().mode().values).double().mean())
