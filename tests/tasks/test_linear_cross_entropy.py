"""The fused linear cross-entropy has the loss and the gradients of the plain one, with tiles of logits and stored ones."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import grad_and_value, vmap

from glasshouse.tasks import cross_entropy_kernels, linear_cross_entropy
from glasshouse.tasks.base import IGNORED
from glasshouse.training import precision
from glasshouse.training.job import Job
from tests.needs import needs_kernels
from tests.training.small_runs import character_spec


@pytest.fixture(params=["tiles", "stored"])
def logits(request, monkeypatch):
    """Whether few predictions of a narrow model store their logits."""
    monkeypatch.setattr(linear_cross_entropy, "LEAST_TILE_ROWS", 0 if request.param == "tiles" else 1 << 30)
    return request.param


SIZES = [(3, 8, 5), (65, 96, 130), (5755, 64, 512), (300, 128, 128), (50304, 256, 130)]


@needs_kernels
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("vocabulary", "width", "rows"), SIZES)
def test_loss_and_gradients_are_those_of_torch(logits, vocabulary, width, rows, biased, smoothing):
    # Stored logits are rounded to 8 bits before they are exponentiated.
    tolerance = 4e-3 if linear_cross_entropy.stores_logits(width, 3 * rows) else 1e-5
    random = torch.Generator(device="cuda").manual_seed(vocabulary)
    draw = lambda *axes: torch.randn(3, *axes, generator=random, device="cuda").bfloat16().double()  # noqa: E731
    features, matrix, bias = draw(rows, width), draw(vocabulary, width) / 4, draw(vocabulary) if biased else None
    targets = torch.randint(vocabulary, (3, rows), generator=random, device="cuda")
    targets[:, ::3] = IGNORED
    scales = torch.tensor([0.1, 1.0, 3.0], device="cuda").double()

    def fused(features, matrix, bias, targets, scale):
        return linear_cross_entropy.loss_sum_from_features(features, matrix, bias, targets, smoothing) * scale

    def plain(features, matrix, bias, targets, scale):
        logits = F.linear(features, matrix, bias)
        return F.cross_entropy(logits, targets, reduction="sum", ignore_index=IGNORED, label_smoothing=smoothing) * scale

    differentiated = (0, 1, 2) if biased else (0, 1)
    axes = 0, 0, 0 if biased else None, 0, 0
    inputs = features, matrix, bias, targets, scales
    gradients, losses = vmap(grad_and_value(fused, argnums=differentiated), in_dims=axes)(*map(_single, inputs))
    expected, expected_losses = vmap(grad_and_value(plain, argnums=differentiated), in_dims=axes)(*inputs)
    torch.testing.assert_close(losses.double(), expected_losses, rtol=tolerance, atol=1e-4)
    for gradient, exact in zip(gradients, expected, strict=True):
        assert float((gradient - exact).norm() / exact.norm()) < 5e-3 + 2 * tolerance
    alone = [None if tensor is None else _single(tensor[1]) for tensor in inputs]
    alone[0].requires_grad_()
    fused(*alone).backward()
    # One product and a batch of products may round differently.
    assert float((alone[0].grad - gradients[0][1]).norm() / gradients[0][1].norm()) <= 1e-6 + tolerance


def _single(tensor):
    """A tensor of floats in single precision; any other value unchanged."""
    return tensor.float() if tensor is not None and tensor.is_floating_point() else tensor


@needs_kernels
def test_a_target_outside_the_vocabulary_and_a_logit_that_is_not_finite_show_in_the_loss(logits):
    features, matrix = torch.ones(2, 16, device="cuda"), torch.ones(20, 16, device="cuda")
    assert linear_cross_entropy.loss_sum_from_features(features, matrix, None, torch.tensor([3, 20]).cuda()).isnan()
    features[1, 2] = torch.inf
    assert not linear_cross_entropy.loss_sum_from_features(features, matrix, None, torch.tensor([3, 4]).cuda()).isfinite()


def engine(folder, device, *changes):
    (folder / "text.txt").write_text("The state of our union is strong, and we will keep it so.\n" * 60)
    spec = character_spec(folder / "text.txt", "training.precision=bf16", *changes)
    return Job.prepare(spec, torch.device(device)).engine()


WIDE = ("model.width=144", "model.heads=4")
# A vocabulary that is a multiple of 16.
PAIRS = ("data.tokenizer=byte-pair", "data.vocabulary=272")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_kernels)])
@pytest.mark.parametrize("changes", [(), WIDE, ("model.tied=false", "model.head.bias=true"), ("model.kind=recurrent",)])
def test_a_model_has_the_same_loss_fused_and_with_plain_operations(logits, changes, device, tmp_path, monkeypatch):
    trained = engine(tmp_path, device, *changes)
    with precision.context("bf16", torch.device(device)):
        assert linear_cross_entropy.usable(trained.model) == (device == "cuda")
        with torch.no_grad():
            assert not linear_cross_entropy.usable(trained.model), "an evaluation needs no gradient"
    assert not linear_cross_entropy.usable(trained.model), "only in bfloat16"
    results = {}
    for fused in (True, False):
        if not fused:
            monkeypatch.setattr(linear_cross_entropy, "usable", lambda model: False)
        loss = float(trained.gradients(0, trained.batch(0)))
        results[fused] = loss, [parameter.grad.clone() for parameter in trained.model.parameters()]
    assert results[False][0] == pytest.approx(results[True][0], rel=3e-3)
    for fused_gradient, gradient in zip(results[True][1], results[False][1], strict=True):
        assert float((fused_gradient - gradient).norm()) <= 0.05 * float(gradient.norm()) + 1e-5


@needs_kernels
@pytest.mark.parametrize("changes", [(), WIDE, (*WIDE, "training.bf16_residual=true")])
def test_a_compiled_step_is_recorded_and_has_the_losses_of_a_plain_one(logits, changes, tmp_path):
    losses = {}
    for form in ("compile=true", "compile=false", "cuda_graph=false"):
        trained = engine(tmp_path, "cuda", *changes, f"training.{form}")
        losses[form] = torch.cat([trained.step(step).losses for step in range(8)]).tolist()
        assert bool(trained.graphed_step.replays) == (form != "cuda_graph=false")
    assert losses["compile=true"] == pytest.approx(losses["cuda_graph=false"], rel=0.02)
    assert losses["compile=false"] == pytest.approx(losses["cuda_graph=false"], rel=0.02)


@needs_kernels
def test_an_8_bit_matrix_is_transposed_whatever_its_size():
    for shape in ((16, 16), (130, 300), (128, 256), (1, 500)):
        matrix = torch.randint(0, 100, shape, device="cuda", dtype=torch.uint8).view(torch.float8_e5m2)
        assert torch.equal(cross_entropy_kernels.transposed(matrix).view(torch.uint8), matrix.view(torch.uint8).T)


@needs_kernels
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_a_head_in_8_bits_has_the_loss_and_gradients_of_one_in_bfloat16(smoothing):
    torch.manual_seed(0)
    features, matrix = torch.randn(256, 64, device="cuda"), torch.randn(1008, 64, device="cuda") / 8
    targets = torch.randint(1008, (256,), device="cuda")
    targets[::3] = IGNORED
    results = []
    for loss_sum in (linear_cross_entropy.fp8_loss_sum, _bf16_loss_sum):
        inputs = [tensor.clone().requires_grad_() for tensor in (features, matrix)]
        loss = loss_sum(inputs[0], inputs[1], targets, smoothing)
        (3 * loss).backward()
        results.append((loss.detach(), *(tensor.grad for tensor in inputs)))
    assert float(results[0][0]) == pytest.approx(float(results[1][0]), rel=2e-3)
    for fp8, bf16 in zip(results[0][1:], results[1][1:], strict=True):
        assert float((fp8 - bf16).norm() / bf16.norm()) < 0.08


def _bf16_loss_sum(features: Tensor, matrix: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    return linear_cross_entropy.loss_sum_from_features(features, matrix, None, targets, smoothing)


@needs_kernels
def test_training_in_8_bits_stays_close_to_bfloat16(tmp_path):
    losses = {}
    for changes in (("fp8_products=false",), ("fp8_products=true",), ("fp8_products=true", "training.compile=true")):
        trained = engine(tmp_path, "cuda", *WIDE, *PAIRS, "training." + changes[0], *changes[1:])
        losses[changes] = torch.cat([trained.step(step).losses for step in range(40)])
        assert trained.model.head.fp8 == (changes[0] == "fp8_products=true")
        assert trained.graphed_step.replays
    plain, *others = losses.values()
    assert float(plain[-1]) < 0.8 * float(plain[0])
    for other in others:
        assert not torch.equal(other, plain)
        torch.testing.assert_close(other, plain, rtol=0.03, atol=0.06)
