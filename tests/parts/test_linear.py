"""The linear layer: few rows, many rows, training and another number format give what torch's layer gives."""

import pytest
import torch
import torch.nn.functional as F

from glasshouse.parts import linear
from glasshouse.parts.linear import FEW_ROWS, Linear


@pytest.fixture(autouse=True)
def _small_matrices_too(monkeypatch):
    monkeypatch.setattr(linear, "LEAST_NUMBERS", 0)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "shape", [(1, 1, 6), (FEW_ROWS.start, 1, 6), (4, 5, 6), (40, 6), (100, 2, 6), (0, 1, 6), (6,)], ids=str
)
def test_every_number_of_rows_gives_the_same(shape, bias):
    layer, x = Linear(6, 5, bias=bias), torch.randn(shape)
    expected = F.linear(x, layer.weight, layer.bias)
    with torch.no_grad():
        assert layer(x).shape == expected.shape
        assert torch.allclose(layer(x), expected, atol=1e-6)
        assert torch.allclose(layer.double()(x.double()), expected.double(), atol=1e-6)


def test_it_learns_as_torchs_layer_does():
    torch.manual_seed(0)
    ours = Linear(6, 5)
    torch.manual_seed(0)
    theirs = torch.nn.Linear(6, 5)
    x = torch.randn(FEW_ROWS.start, 6)
    for layer in (ours, theirs):
        layer(x).square().sum().backward()
    assert torch.equal(ours.weight, theirs.weight)
    assert torch.equal(ours.weight.grad, theirs.weight.grad)
