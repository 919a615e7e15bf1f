"""The classifier head in every kind of model, with every pooling and norm."""

import pytest
import torch

from tests.models.small_models import build, tokens


@pytest.mark.parametrize("norm", ["none", "batch", "layer", "rms"])
@pytest.mark.parametrize("pooling", ["mean", "first", "last", "max"])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "recurrent"])
def test_a_classifier_gives_one_output_for_a_sequence(kind, pooling, norm):
    head = {"kind": "classifier", "classes": 3, "pooling": pooling, "hidden": 7, "norm": norm}
    model = build(kind=kind, head=head)
    x, lengths = tokens(4, 9), torch.tensor([9, 5, 1, 3])
    together = model(x, lengths)
    assert together.shape == (4, 3)
    for row, length in enumerate(lengths):
        torch.testing.assert_close(model(x[row : row + 1, :length])[0], together[row], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "recurrent"])
def test_naive_bayes_changes_the_output_of_every_kind_of_model(kind):
    model = build(kind=kind, head={"kind": "classifier", "classes": 2, "naive_bayes": 1.0})
    x = tokens(1, 3)
    before = model(x)
    generator = torch.Generator().manual_seed(0)
    vocabulary = len(model.head.evidence_VC)
    model.head.set_counts(torch.rand(vocabulary, 2, generator=generator) * 5, torch.tensor([3.0, 1.0]))
    assert not torch.allclose(model(x), before)
