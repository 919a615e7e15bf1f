"""The cross-entropy of training equals torch's, with its gradient, for one model and for replicas."""

import warnings
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import grad_and_value, vmap

from glasshouse.tasks.base import IGNORED
from glasshouse.tasks.cross_entropy import cross_entropy_sum, target_losses
from tests.needs import needs_kernels


def torch_cross_entropy(logits, targets, smoothing=0.0):
    return F.cross_entropy(
        logits.to(max(logits.dtype, torch.float32, key=lambda f: f.itemsize)),
        targets,
        reduction="sum",
        ignore_index=IGNORED,
        label_smoothing=smoothing,
    )


def random_logits(seed: int, *axes: int, vocabulary: int = 11, scale: float = 3.0):
    """(logits, targets); about a third of the targets are ignored."""
    random = torch.Generator().manual_seed(seed)
    targets = torch.randint(vocabulary, axes, generator=random)
    targets[torch.rand(axes, generator=random) < 0.3] = IGNORED
    return torch.randn(*axes, vocabulary, generator=random) * scale, targets


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([0.0, 0.1, 0.7]), st.sampled_from([0.1, 3.0, 60.0]))
def test_loss_and_gradient_are_those_of_torch(seed, count, smoothing, scale):
    logits, targets = random_logits(seed, count, scale=scale)
    results = {}
    for name, function in (("ours", cross_entropy_sum), ("torch", torch_cross_entropy)):
        leaf = logits.clone().requires_grad_()
        loss = function(leaf, targets, smoothing)
        (loss * 0.37).backward()
        results[name] = loss.detach(), leaf.grad
    torch.testing.assert_close(results["ours"][0], results["torch"][0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(results["ours"][1], results["torch"][1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_kernels)])
def test_the_loss_of_each_target_is_that_of_torch(device):
    logits, targets = (tensor.to(device) for tensor in random_logits(2, 50))
    with torch.inference_mode():
        losses = target_losses(logits, targets)
    torch.testing.assert_close(losses, F.cross_entropy(logits, targets, reduction="none", ignore_index=IGNORED))
    assert (losses[targets == IGNORED] == 0).all()


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_every_replica_has_its_own_loss_and_gradient(smoothing):
    logits, targets = random_logits(1, 4, 6)
    weights = torch.randn(4, 11, 11, generator=torch.Generator().manual_seed(1))

    def loss(function, weight, logits, targets):
        return function(logits @ weight, targets, smoothing) / 5

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a fallback to a loop over replicas would warn
        gradients, losses = vmap(grad_and_value(partial(loss, cross_entropy_sum)))(weights, logits, targets)
    for r in range(4):
        gradient, value = grad_and_value(partial(loss, torch_cross_entropy))(weights[r], logits[r], targets[r])
        torch.testing.assert_close(losses[r], value)
        torch.testing.assert_close(gradients[r], gradient, rtol=1e-4, atol=1e-5)


def test_replicas_may_share_their_targets():
    logits, targets = random_logits(2, 6)
    scales = torch.tensor([0.5, 1.0, 2.0])
    losses = vmap(lambda scale: cross_entropy_sum(logits * scale, targets))(scales)
    torch.testing.assert_close(losses, torch.stack([torch_cross_entropy(logits * scale, targets) for scale in scales]))


def test_a_confident_prediction_keeps_its_gradient_in_bfloat16():
    logits = torch.tensor([[8.0, 0.0, 0.0]]).bfloat16().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = cross_entropy_sum(logits, torch.tensor([0]))
    loss.backward()
    assert loss.dtype == torch.float32
    assert logits.grad.dtype == torch.bfloat16
    exact = torch.tensor([8.0, 0.0, 0.0]).double().softmax(0)[0].item() - 1
    assert logits.grad[0, 0].item() == pytest.approx(exact, rel=0.01)


@needs_kernels
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("vocabulary", [2, 65, 5755])
@pytest.mark.parametrize("format", [torch.float32, torch.bfloat16])
def test_the_kernels_agree_with_torch(vocabulary, smoothing, format):
    logits, targets = (tensor.cuda() for tensor in random_logits(3, 3, 40, vocabulary=vocabulary))
    logits, scales = logits.to(format), torch.tensor([0.3, 1.0, 2.0], device="cuda")
    ours = vmap(grad_and_value(lambda logits, targets, scale: cross_entropy_sum(logits, targets, smoothing) * scale))(
        logits, targets, scales
    )
    exact = vmap(grad_and_value(lambda logits, targets, scale: torch_cross_entropy(logits, targets, smoothing) * scale))(
        logits.double(), targets, scales
    )
    torch.testing.assert_close(ours[1], exact[1].float(), rtol=1e-5, atol=1e-4)
    assert ours[0].dtype == format
    torch.testing.assert_close(ours[0].double(), exact[0], rtol=1e-5 if format is torch.float32 else 1e-2, atol=1e-6)
    plain = logits[0].clone().requires_grad_()
    cross_entropy_sum(plain, targets[0], smoothing).mul(0.3).backward()
    torch.testing.assert_close(plain.grad, ours[0][0])


@needs_kernels
def test_the_kernels_handle_values_that_are_not_finite():
    logits, targets = (tensor.cuda() for tensor in random_logits(4, 5, vocabulary=3000))
    logits[:, 7:2900] = -torch.inf
    targets[:] = 3
    assert cross_entropy_sum(logits, targets).item() == pytest.approx(torch_cross_entropy(logits, targets).item(), rel=1e-5)
    logits[2, 5] = torch.nan
    assert cross_entropy_sum(logits, targets).isnan()
    assert cross_entropy_sum(logits[:1], torch.tensor([3000]).cuda()).isnan()


def test_a_batch_without_targets_has_loss_and_gradient_zero():
    logits = torch.ones(3, 5, requires_grad=True)
    loss = cross_entropy_sum(logits, torch.full((3,), IGNORED))
    loss.backward()
    assert loss == 0
    assert not logits.grad.any()
