"""The kernels of cross-entropy equal torch's loss, with ignored targets, smoothing and large logits."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse import cpu_kernels
from glasshouse.tasks.base import IGNORED
from glasshouse.tasks.cross_entropy import cross_entropy_sum
from tests.cpu_kernels.comparison import largest_difference, normal


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("scale", "tolerance"), [(1.0, 1e-6), (60.0, 5e-5)])
def test_they_equal_torch(smoothing, scale, tolerance):
    # The gradient needs the logarithm of a sum, which is rounded: of logits around 200, by 1e-5.
    logits, targets = normal(53, 331, scale=scale), torch.arange(53) * 7 % 331
    targets[5] = IGNORED

    def own(logits: Tensor) -> Tensor:
        assert cpu_kernels.usable(logits)
        return cross_entropy_sum(logits, targets, smoothing)

    def plain(logits: Tensor) -> Tensor:
        options = {"ignore_index": IGNORED, "label_smoothing": smoothing, "reduction": "sum"}
        return F.cross_entropy(logits, targets, **options)

    assert largest_difference(own, plain, logits) < tolerance


def test_a_target_outside_the_vocabulary_makes_the_loss_not_a_number():
    logits = normal(53, 331).requires_grad_()
    targets = torch.zeros(53, dtype=torch.int64)
    targets[9] = 331
    loss = cross_entropy_sum(logits, targets)
    loss.backward()
    assert loss.isnan()
    assert logits.grad is not None
    assert logits.grad[9].isnan().all()
    assert logits.grad[8].isfinite().all()
