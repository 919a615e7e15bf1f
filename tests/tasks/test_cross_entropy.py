"""The cross-entropy of training is torch's, with its gradient, alone and over replicas."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import grad_and_value, vmap

from glasshouse.tasks import cross_entropy_kernels as kernels
from glasshouse.tasks.base import IGNORED
from glasshouse.tasks.cross_entropy import cross_entropy_sum


def theirs(logits, targets, smoothing=0.0):
    return F.cross_entropy(
        logits.to(max(logits.dtype, torch.float32, key=lambda f: f.itemsize)),
        targets,
        reduction="sum",
        ignore_index=IGNORED,
        label_smoothing=smoothing,
    )


def example(seed: int, *axes: int, words: int = 11, scale: float = 3.0):
    random = torch.Generator().manual_seed(seed)
    targets = torch.randint(words, axes, generator=random)
    targets[torch.rand(axes, generator=random) < 0.3] = IGNORED
    return torch.randn(*axes, words, generator=random) * scale, targets


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([0.0, 0.1, 0.7]), st.sampled_from([0.1, 3.0, 60.0]))
def test_value_and_gradient_are_torchs(seed, count, smoothing, scale):
    logits, targets = example(seed, count, scale=scale)
    found = {}
    for name, function in (("ours", cross_entropy_sum), ("theirs", theirs)):
        own = logits.clone().requires_grad_()
        loss = function(own, targets, smoothing)
        (loss * 0.37).backward()
        found[name] = loss.detach(), own.grad
    torch.testing.assert_close(found["ours"][0], found["theirs"][0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found["ours"][1], found["theirs"][1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_replicas_have_each_their_own(smoothing):
    logits, targets = example(1, 4, 6)
    weights = torch.randn(4, 11, 11)

    def loss(weight, logits, targets, function):
        return function(logits @ weight, targets, smoothing) / 5

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a fallback to a loop over replicas would warn
        gradients, losses = vmap(lambda *given: grad_and_value(loss)(*given, cross_entropy_sum))(weights, logits, targets)
    for r in range(4):
        gradient, value = grad_and_value(loss)(weights[r], logits[r], targets[r], theirs)
        torch.testing.assert_close(losses[r], value)
        torch.testing.assert_close(gradients[r], gradient, rtol=1e-4, atol=1e-5)


def test_weights_alone_may_differ_between_replicas():
    logits, targets = example(2, 6)
    scales = torch.tensor([0.5, 1.0, 2.0])
    found = vmap(lambda scale: cross_entropy_sum(logits * scale, targets))(scales)
    torch.testing.assert_close(found, torch.stack([theirs(logits * scale, targets) for scale in scales]))


def test_a_sure_prediction_still_has_its_gradient_in_a_coarse_format():
    logits = torch.tensor([[8.0, 0.0, 0.0]]).bfloat16().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = cross_entropy_sum(logits, torch.tensor([0]))
    loss.backward()
    assert loss.dtype == torch.float32
    assert logits.grad.dtype == torch.bfloat16
    exact = torch.tensor([8.0, 0.0, 0.0]).double().softmax(0)[0].item() - 1
    assert logits.grad[0, 0].item() == pytest.approx(exact, rel=0.01)


@pytest.mark.skipif(not (torch.cuda.is_available() and kernels.HERE), reason="the kernels need a CUDA device and Triton")
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("words", [2, 65, 5755])
@pytest.mark.parametrize("format", [torch.float32, torch.bfloat16])
def test_the_kernels_give_what_plain_operations_give(words, smoothing, format):
    logits, targets = (tensor.cuda() for tensor in example(3, 3, 40, words=words))
    logits, scales = logits.to(format), torch.tensor([0.3, 1.0, 2.0], device="cuda")
    ours = vmap(grad_and_value(lambda *given: cross_entropy_sum(*given[:2], smoothing) * given[2]))(logits, targets, scales)
    exact = vmap(grad_and_value(lambda *given: theirs(*given[:2], smoothing) * given[2]))(logits.double(), targets, scales)
    torch.testing.assert_close(ours[1], exact[1].float(), rtol=1e-5, atol=1e-4)
    assert ours[0].dtype == format
    torch.testing.assert_close(ours[0].double(), exact[0], rtol=1e-5 if format is torch.float32 else 1e-2, atol=1e-6)
    plain = logits[0].clone().requires_grad_()
    cross_entropy_sum(plain, targets[0], smoothing).mul(0.3).backward()
    torch.testing.assert_close(plain.grad, ours[0][0])


@pytest.mark.skipif(not (torch.cuda.is_available() and kernels.HERE), reason="the kernels need a CUDA device and Triton")
def test_the_kernels_bear_what_is_not_finite():
    logits, targets = (tensor.cuda() for tensor in example(4, 5, words=3000))
    logits[:, 7:2900] = -torch.inf
    targets[:] = 3
    assert cross_entropy_sum(logits, targets).item() == pytest.approx(theirs(logits, targets).item(), rel=1e-5)
    logits[2, 5] = torch.nan
    assert cross_entropy_sum(logits, targets).isnan()
    assert cross_entropy_sum(logits[:1], torch.tensor([3000]).cuda()).isnan()


def test_nothing_asked_is_nothing_lost():
    logits = torch.randn(3, 5, requires_grad=True)
    loss = cross_entropy_sum(logits, torch.full((3,), IGNORED))
    loss.backward()
    assert loss == 0
    assert not logits.grad.any()
