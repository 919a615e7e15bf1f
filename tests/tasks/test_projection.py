"""A projection whose logits are never written out gives the loss and the gradients of one whose logits are."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.func import grad_and_value, vmap

import glasshouse
from glasshouse.tasks import linear_cross_entropy
from glasshouse.tasks.base import IGNORED
from glasshouse.training import precision
from glasshouse.training.job import Job
from tests.training.test_replicas import TEXT, text  # noqa: F401

needs_kernels = pytest.mark.skipif(
    not (torch.cuda.is_available() and linear_cross_entropy.kernels.HERE), reason="the kernels need a CUDA device and Triton"
)


@needs_kernels
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("words", "width", "rows"), [(3, 8, 5), (65, 96, 130), (5755, 64, 512), (300, 128, 128)])
def test_value_and_gradients(words, width, rows, biased, smoothing):
    random = torch.Generator(device="cuda").manual_seed(words)
    draw = lambda *axes: torch.randn(3, *axes, generator=random, device="cuda").bfloat16().double()  # noqa: E731
    features, matrix, bias = draw(rows, width), draw(words, width) / 4, draw(words) if biased else None
    targets = torch.randint(words, (3, rows), generator=random, device="cuda")
    targets[:, ::3] = IGNORED
    scales = torch.tensor([0.1, 1.0, 3.0], device="cuda").double()

    def ours(features, matrix, bias, targets, scale):
        return linear_cross_entropy.of_features(features, matrix, bias, targets, smoothing) * scale

    def theirs(features, matrix, bias, targets, scale):
        logits = F.linear(features, matrix, bias)
        return F.cross_entropy(logits, targets, reduction="sum", ignore_index=IGNORED, label_smoothing=smoothing) * scale

    asked = (0, 1, 2) if biased else (0, 1)
    axes = 0, 0, 0 if biased else None, 0, 0
    given = features, matrix, bias, targets, scales
    found, losses = vmap(grad_and_value(ours, argnums=asked), in_dims=axes)(*(_single(each) for each in given))
    exact, wanted = vmap(grad_and_value(theirs, argnums=asked), in_dims=axes)(*given)
    torch.testing.assert_close(losses.double(), wanted, rtol=1e-5, atol=1e-4)
    for own, other in zip(found, exact, strict=True):
        assert float((own - other).norm() / other.norm()) < 5e-3
    alone = [None if each is None else _single(each[1]) for each in given]
    alone[0].requires_grad_()
    ours(*alone).backward()
    torch.testing.assert_close(alone[0].grad, found[0][1])


def _single(tensor):
    return tensor.float() if tensor is not None and tensor.is_floating_point() else tensor


@needs_kernels
def test_a_target_that_is_no_token_and_a_logit_that_is_no_number_are_noticed():
    features, matrix = torch.ones(2, 16, device="cuda"), torch.ones(20, 16, device="cuda")
    assert linear_cross_entropy.of_features(features, matrix, None, torch.tensor([3, 20]).cuda()).isnan()
    features[1, 2] = torch.inf
    assert not linear_cross_entropy.of_features(features, matrix, None, torch.tensor([3, 4]).cuda()).isfinite()


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_kernels)])
@pytest.mark.parametrize("changes", [(), ("model.tied=false", "model.head.bias=true"), ("model.kind=recurrent",)])
def test_a_model_loses_the_same_with_its_logits_and_without(changes, device, text, monkeypatch):  # noqa: F811
    spec = glasshouse.spec_of("language-model", f"data.files={text}", *TEXT, *changes)
    job = Job.of(replace(spec, training=replace(spec.training, precision="bf16")), torch.device(device))
    engine = job.engine()
    with precision.context("bf16", torch.device(device)):
        assert linear_cross_entropy.usable(engine.model) == (device == "cuda")
    assert not linear_cross_entropy.usable(engine.model), "outside bfloat16 the logits are kept"
    found = {}
    for name, wanted in (("without", True), ("with", False)):
        if not wanted:
            monkeypatch.setattr(linear_cross_entropy, "usable", lambda model: False)
        loss = float(engine.gradients(0, engine.batch(0)))
        found[name] = loss, [parameter.grad.clone() for parameter in engine.model.parameters()]
    assert found["with"][0] == pytest.approx(found["without"][0], rel=3e-3)
    for own, other in zip(found["without"][1], found["with"][1], strict=True):
        assert float((own - other).norm()) <= 0.05 * float(other.norm()) + 1e-5
