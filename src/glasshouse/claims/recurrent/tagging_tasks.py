"""Tagging tasks for recurrent networks, generated: a target at every position that needs the past, the future, or both.

Lookup: each position shows a key and a value. The target is the value that the same key had at its latest earlier position
(past) or at its next later position (future). The second task is the first one read backwards. Positions without such an
occurrence do not count.

Hidden: a hidden state changes now and then, and each position shows it with errors. The target is the hidden state, on which
later positions throw light too, or the most probable hidden state given the positions so far, which they cannot change.

Axes: B batch, T time, S hidden states.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

# All tasks have inputs and outputs of one size, so that their networks have one shape.
KEYS, VALUES = 4, 4
INPUTS = KEYS + VALUES
# Targets that do not count, as in torch's cross-entropy.
NO_TARGET = -100
# The chances that the hidden state is drawn anew, and that a position shows a random value instead of it.
CHANGE, ERROR = 0.1, 0.5


def draw_lookup(
    generator: torch.Generator, keys: int, future: bool = False, batch: int = 32, length: int = 16
) -> tuple[Tensor, Tensor]:
    """(inputs (B, T, INPUTS), one-hot; targets (B, T))."""
    keys_BT = torch.randint(0, keys, (batch, length), generator=generator)
    values_BT = torch.randint(0, VALUES, (batch, length), generator=generator)
    inputs = torch.cat([F.one_hot(keys_BT, KEYS), F.one_hot(values_BT, VALUES)], -1).float()
    if future:
        return inputs, latest_values(keys_BT.flip(1), values_BT.flip(1)).flip(1)
    return inputs, latest_values(keys_BT, values_BT)


def latest_values(keys_BT: Tensor, values_BT: Tensor) -> Tensor:
    """The value of the latest earlier position with the same key; NO_TARGET if there is none."""
    places = torch.arange(keys_BT.shape[1])
    earlier_BTT = (keys_BT[:, :, None] == keys_BT[:, None]) & (places < places[:, None])
    latest_BT = torch.where(earlier_BTT, places, -1).amax(-1)
    return torch.where(latest_BT < 0, NO_TARGET, values_BT.gather(1, latest_BT.clamp(min=0)))


def draw_hidden(
    generator: torch.Generator, filtered: bool = False, batch: int = 32, length: int = 16
) -> tuple[Tensor, Tensor]:
    """(inputs (B, T, INPUTS), one-hot; targets (B, T)): the hidden states, or with `filtered` the most probable ones."""
    new_BT, random_BT = (torch.randint(0, VALUES, (batch, length), generator=generator) for _ in range(2))
    change_BT, error_BT = (torch.rand(batch, length, generator=generator) for _ in range(2))
    hidden = [new_BT[:, 0]]
    for time in range(1, length):
        hidden.append(torch.where(change_BT[:, time] < CHANGE, new_BT[:, time], hidden[-1]))
    hidden_BT = torch.stack(hidden, 1)
    seen_BT = torch.where(error_BT < ERROR, random_BT, hidden_BT)
    inputs = torch.cat([torch.zeros(batch, length, KEYS), F.one_hot(seen_BT, VALUES).float()], -1)
    return inputs, filtered_states(seen_BT).argmax(-1) if filtered else hidden_BT


def filtered_states(seen_BT: Tensor) -> Tensor:
    """p(hidden state | positions so far) (B, T, S), by the forward algorithm of hidden Markov models."""
    probability_BS = torch.full((len(seen_BT), VALUES), 1 / VALUES, dtype=torch.float64)
    rows = []
    for seen_B in seen_BT.unbind(1):
        before_BS = CHANGE / VALUES + (1 - CHANGE) * probability_BS
        likelihood_BS = ERROR / VALUES + (1 - ERROR) * F.one_hot(seen_B, VALUES)
        probability_BS = before_BS * likelihood_BS
        probability_BS = probability_BS / probability_BS.sum(-1, keepdim=True)
        rows.append(probability_BS)
    return torch.stack(rows, 1)


def tagging_loss(outputs_BTV: Tensor, targets_BT: Tensor) -> Tensor:
    """The mean cross-entropy of the positions that count."""
    return F.cross_entropy(outputs_BTV.flatten(0, 1), targets_BT.flatten(), ignore_index=NO_TARGET)


def tagging_accuracy(outputs_BTV: Tensor, targets_BT: Tensor) -> Tensor:
    """The share of right answers among the positions that count."""
    counts_BT = targets_BT != NO_TARGET
    return ((outputs_BTV.argmax(-1) == targets_BT) & counts_BT).sum() / counts_BT.sum()
