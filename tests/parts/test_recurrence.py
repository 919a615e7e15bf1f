"""Recurrent cells against torch's modules, by fused kernel and by loop, in both directions and with padding."""

import pytest
import torch
from torch import nn

from glasshouse import parts

TORCH_MODULES = {
    parts.TanhCell: lambda: nn.RNN(6, 5, batch_first=True),
    parts.ReLUCell: lambda: nn.RNN(6, 5, nonlinearity="relu", batch_first=True),
    parts.GRUCell: lambda: nn.GRU(6, 5, batch_first=True),
    parts.LSTMCell: lambda: nn.LSTM(6, 5, batch_first=True),
}


@pytest.mark.parametrize("cell", TORCH_MODULES)
@pytest.mark.parametrize("plain", [False, True])
def test_cells_equal_those_of_torch(cell, plain):
    ours, theirs = cell(6, 5), TORCH_MODULES[cell]()
    ours.plain = plain
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.input.weight)
        theirs.weight_hh_l0.copy_(ours.recurrent.weight)
        theirs.bias_ih_l0.copy_(ours.input.bias)
        theirs.bias_hh_l0.copy_(ours.recurrent.bias)
    x = torch.randn(3, 7, 6)
    expected, last = theirs(x)
    torch.testing.assert_close(ours.outputs(x), expected, rtol=1e-5, atol=1e-6)
    first, second = ours(x)
    torch.testing.assert_close(first, expected, rtol=1e-5, atol=1e-6)
    if cell is parts.LSTMCell:
        torch.testing.assert_close(second[:, -1], last[1][0], rtol=1e-5, atol=1e-6)


def test_the_identity_cell_is_linear():
    cell = parts.IdentityCell(3, 4)
    x = torch.randn(2, 5, 3)
    state = torch.zeros(2, 4)
    for time in range(5):
        state = cell.input(x[:, time]) + cell.recurrent(state)
    torch.testing.assert_close(cell.outputs(x)[:, -1], state)


@pytest.mark.parametrize("cell", [parts.IdentityCell, parts.LSTMCell])
def test_both_directions_are_joined_and_padding_changes_nothing(cell):
    layer = parts.Recurrence(cell(6, 5), cell(6, 5))
    x, lengths = torch.randn(3, 7, 6), torch.tensor([7, 4, 1])
    together = layer(x, lengths)
    for row, length in enumerate(lengths):
        alone = layer(x[row : row + 1, :length])
        torch.testing.assert_close(together[row, :length], alone[0], rtol=1e-5, atol=1e-6)
        expected = layer.backwards.outputs(x[row : row + 1, :length].flip(1)).flip(1)
        torch.testing.assert_close(alone[..., 5:], expected, rtol=1e-5, atol=1e-6)
