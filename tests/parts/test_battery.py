"""The battery: every part in the catalogues, in models built from them, has the capabilities that it does not disclaim.

Parts of other packages are tested too, if they are installed. `battery.py` lists the models.
"""

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from glasshouse import models
from glasshouse.inspection.capture import capture
from glasshouse.models import parameter_counts
from glasshouse.models.stack import SequenceTooLong
from glasshouse.parts.capabilities import CAPABILITIES
from glasshouse.parts.masks import Causal, Padding
from glasshouse.parts.positions.base import NoPosition
from glasshouse.parts.recurrence import Cell
from glasshouse.parts.sizes import Sizes
from glasshouse.records import checkpoint
from glasshouse.specs import catalogue
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.specs.spec_files import model_spec
from glasshouse.training.engine import load_weights
from tests import needs
from tests.parts.battery import (
    CAUSAL,
    CHOICES,
    CONTEXT,
    COSTLY_CHOICES,
    DESCRIBING,
    DEVICE,
    PICTURE_LENGTHS,
    PICTURES,
    PRECISION,
    SIZE_RATIO,
    TOLERANCE,
    VOCABULARY,
    assert_near,
    build_model,
    causal_input,
    lacks,
    random_inputs,
    reasons_against,
    run_model,
    size_ratios,
    tolerance,
    use_reference,
)
from tests.refusals import refused

# A score of a dual encoder is a cosine. One entry may be near 0, while its rounding errors are those of numbers near 1.
COSINE = 1.0


@pytest.fixture(params=CHOICES)
def choice(request):
    return request.param


def test_shape(choice):
    model = build_model(choice)
    shape = (3, 3) if choice["kind"] == "dual-encoder" else (3, CONTEXT, VOCABULARY)
    assert run_model(model, random_inputs(model)).shape == shape


def test_no_future_leaks(choice):
    if choice["kind"] not in CAUSAL:
        pytest.skip(needs.NOT_APPLICABLE)  # its tokens may attend to later ones
    model = build_model(choice)
    inputs = random_inputs(model)
    before, name = run_model(model, inputs), causal_input(inputs)
    has_effect = False
    for position in (1, CONTEXT // 2, CONTEXT - 1):
        changed = {**inputs, name: inputs[name].clone()}
        changed[name][:, position] = (changed[name][:, position] + 1) % VOCABULARY
        after = run_model(model, changed)
        assert torch.equal(before[:, :position], after[:, :position])
        has_effect |= not torch.equal(before[:, position:], after[:, position:])
    # Without residual connections the model may lose the identity of a token.
    assert has_effect or choice["connection"] == "no-residual", "no change of a token changed any output"


def test_padding_changes_no_real_token(choice):
    if choice["kind"] in DESCRIBING:
        pytest.skip(needs.NOT_APPLICABLE)  # pictures have no padding, and that of a text comes after it
    model = build_model(choice)
    inputs = random_inputs(model)
    name = {"encoder-decoder": "source_BS", "dual-encoder": "tokens_NT"}.get(choice["kind"], "tokens_BT")
    lengths = torch.tensor([CONTEXT, 5, 1], device=DEVICE)
    real = torch.arange(CONTEXT, device=DEVICE) < lengths[:, None]
    if name != "tokens_BT":
        real = torch.ones_like(real)

    def outputs_of_real_tokens(output):
        return output[real] if output.dim() == 3 else output

    before = run_model(model, inputs, lengths=lengths)
    other = torch.randint(0, VOCABULARY, inputs[name].shape, generator=torch.Generator().manual_seed(9)).to(DEVICE)
    hidden = torch.arange(CONTEXT, device=DEVICE) >= lengths[:, None]
    changed = {**inputs, name: torch.where(hidden, other, inputs[name])}
    after = run_model(model, changed, lengths=lengths)
    assert torch.equal(outputs_of_real_tokens(after), outputs_of_real_tokens(before))
    # One row alone, without padding.
    row = {key: value[1:2] for key, value in inputs.items()}
    row[name] = row[name][:, :5]
    alone = run_model(model, row)
    if choice["kind"] == "dual-encoder":
        assert_near(alone[0, 0], before[1, 1], smallest_scale=COSINE)
    else:
        assert_near(alone[0], before[1, : alone.shape[1]])


def test_a_batch_does_not_mix(choice):
    model = build_model(choice)
    inputs = random_inputs(model)
    together = run_model(model, inputs)
    for row in range(3):
        alone = run_model(model, {name: value[row : row + 1] for name, value in inputs.items()})
        if choice["kind"] == "dual-encoder":
            assert_near(alone[0], together[row, row : row + 1], smallest_scale=COSINE)
        else:
            assert_near(alone[0], together[row])


def test_in_training_only_batch_norm_mixes_a_batch(choice):
    if choice["kind"] in ("recurrent", "dual-encoder"):
        pytest.skip(needs.NOT_APPLICABLE)  # its outputs are not normalised per row
    model = build_model(choice).train()
    inputs = random_inputs(model)
    together = run_model(model, inputs)
    alone = run_model(model, {name: value[:1] for name, value in inputs.items()})
    if lacks(choice, "batch"):
        assert not torch.allclose(alone[0], together[0], rtol=1e-3, atol=1e-3)
    else:
        assert_near(alone[0], together[0])


def test_gradients_reach_every_parameter(choice):
    model = build_model(choice, tied=False, bias=True)
    weights = torch.randn(run_model(model, random_inputs(model)).shape, generator=torch.Generator().manual_seed(3)).to(
        DEVICE
    )
    (run_model(model, random_inputs(model)) * weights).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # Without residual connections a gradient may vanish in bfloat16.
        may_vanish = PRECISION == "bf16" and choice["connection"] == "no-residual"
        assert may_vanish or parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("choice", COSTLY_CHOICES)
def test_gradients_agree_with_finite_differences(choice):
    if PRECISION != "fp32":
        pytest.skip("finite differences are compared in float64")
    model = build_model(choice).double()
    inputs = {
        name: value.double() if value.is_floating_point() else value
        for name, value in random_inputs(model, batch=2, length=5).items()
    }

    def loss():
        return run_model(model, inputs).log_softmax(-1)[..., 0].sum()

    gradients = torch.autograd.grad(loss(), list(model.parameters()))
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for (name, parameter), gradient in zip(model.named_parameters(), gradients, strict=True):
            direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(DEVICE)
            sides = []
            for step in (1e-7, -2e-7):
                parameter.add_(step * direction)
                sides.append(loss())
            parameter.add_(1e-7 * direction)
            slope, exact = (sides[0] - sides[1]) / 2e-7, (gradient * direction).sum()
            # A kink of ReLU between the two sides causes a difference, so the sides are as close as rounding allows.
            torch.testing.assert_close(slope, exact, rtol=3e-3, atol=1e-5, msg=f"{name}: {slope} against {exact}")


def test_fast_paths_equal_plain_ones(choice):
    fast, plain = build_model(choice), use_reference(build_model(choice))
    inputs = random_inputs(fast)
    outputs = [run_model(model, inputs) for model in (fast, plain)]
    assert_near(outputs[0], outputs[1], tolerance(choice))
    for output in outputs:
        output.square().sum().backward()
    largest = max(float(parameter.grad.abs().max()) for parameter in plain.parameters())
    # Without norms and residual connections gradients may vanish. Denormal numbers have few digits.
    scale = max(largest / 100, 1e-30)
    for (name, one), two in zip(fast.named_parameters(), plain.parameters(), strict=True):
        assert_near(one.grad, two.grad, 10 * tolerance(choice), name, smallest_scale=scale)


def test_rows_of_weights_sum_to_one_and_capture_changes_no_output(choice):
    model = build_model(choice)
    inputs = random_inputs(model)
    if "rows" in catalogue.find("attention", choice["attention"]).unsupported:
        with refused(GlasshouseError), capture(model, "**.weights"):
            pass
        return
    without_capture = run_model(model, inputs)
    with capture(model, "**.weights") as captured:
        with_capture = run_model(model, inputs)
    assert_near(with_capture, without_capture, tolerance(choice))
    picture = PICTURE_LENGTHS.get(choice["kind"], 0)
    queries = {"picture-decoder": (picture + CONTEXT,)}.get(choice["kind"], (CONTEXT, picture))
    for name, weights in captured.items():
        assert weights.shape[:2] == (3, 2), name
        assert weights.shape[2] in queries, name
        keys = picture if "cross" in name and picture else weights.shape[2]
        assert (weights.shape[3] == keys) is not lacks(choice, "tokens"), name
        assert_near(weights.float().sum(-1), torch.ones(weights.shape[:3], device=DEVICE), 10 * TOLERANCE)
        if choice["kind"] in ("decoder", "recurrent", "picture-decoder"):
            assert torch.equal(weights.triu(1), torch.zeros_like(weights))
    assert torch.equal(run_model(model, inputs), without_capture), "capture has ended"


def test_cache_equals_no_cache(choice):
    if choice["kind"] not in CAUSAL:
        pytest.skip(needs.NOT_APPLICABLE)  # only models that continue a text have a cache
    model = build_model(choice)
    inputs = random_inputs(model)
    whole, tokens = run_model(model, inputs), inputs[causal_input(inputs)]
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16, enabled=PRECISION == "bf16"):
        source = next((inputs[name] for name in ("source_BS", "pictures_BCSS") if name in inputs), None)
        decoder = model if source is None else model.condition_on(source)
        cache = decoder.empty_cache(len(tokens), CONTEXT)
        pieces, start = [], 0
        for length in (4, 1, 1, 3, 1, 2):
            positions = torch.arange(start, start + length, device=DEVICE).expand(len(tokens), length)
            pieces.append(decoder.project(decoder.features(tokens[:, start : start + length], positions, cache)).float())
            start += length
    assert_near(torch.cat(pieces, dim=1), whole)


@pytest.mark.parametrize("choice", COSTLY_CHOICES)
def test_save_and_load(choice, tmp_path):
    model, other = build_model(choice), build_model(choice, seed=1)
    checkpoint.save_tensors(tmp_path / "model.safetensors", dict(model.state_dict()))
    load_weights(other, checkpoint.load_tensors(tmp_path / "model.safetensors"), "the file")
    inputs = random_inputs(model)
    assert torch.equal(run_model(model, inputs), run_model(other, inputs))


@pytest.mark.parametrize("choice", COSTLY_CHOICES)
def test_counts_are_exact(choice):
    model = build_model(choice, tied=False)
    assert sum(parameter_counts.parameters_by_part(model).values()) == sum(p.numel() for p in model.parameters())
    for module in model.modules():
        if isinstance(module, Cell):
            module.plain = True  # torch's counter does not count its fused kernels for cells
    batch = 1 if choice["kind"] == "dual-encoder" else 3  # every text is compared with every picture: not linear in B
    inputs = random_inputs(model, batch)
    # The counter does not count all fused kernels; this implementation consists of matrix products.
    with sdpa_kernel(SDPBackend.MATH):
        with FlopCounterMode(display=False) as forward:
            output = run_model(model, inputs)
        assert forward.get_total_flops() == batch * model.flops(CONTEXT)
        with FlopCounterMode(display=False) as both:
            run_model(model, inputs).sum().backward()
    trained = batch * 3 * model.flops(CONTEXT)
    if choice["kind"] in ("recurrent", *PICTURES) or choice["attention"] == "performer":
        # Initial states, pictures and random features need no gradient, which saves products of the backward pass.
        assert both.get_total_flops() < trained
    else:
        assert both.get_total_flops() == trained
    assert output.isfinite().all()


@pytest.mark.parametrize("choice", COSTLY_CHOICES)
def test_replicas_in_one_call_equal_each_alone(choice):
    if PRECISION != "fp32":
        pytest.skip("replicas are compared in float32")
    copies = [use_reference(build_model(choice, seed=seed)) for seed in range(3)]
    parameters, buffers = stack_module_state(copies)
    inputs = random_inputs(copies[0])
    together = vmap(lambda p, b: functional_call(copies[0], (p, b), (), inputs))(parameters, buffers)
    for index, model in enumerate(copies):
        assert_near(together[index], run_model(model, inputs), 1e-4)


@pytest.mark.parametrize("choice", COSTLY_CHOICES)
def test_dropout_only_in_training(choice):
    if PRECISION == "bf16" and choice["connection"] == "no-residual":
        pytest.skip("the effect of dropout may be below the resolution of bfloat16")
    model = build_model(choice, dropout=0.5)
    inputs = random_inputs(model)
    assert torch.equal(run_model(model, inputs), run_model(model, inputs))
    model.train()
    assert not torch.equal(run_model(model, inputs), run_model(model, inputs))


def test_beyond_the_training_length(choice):
    model = build_model(choice)
    if choice["kind"] == "dual-encoder":
        inputs = {**random_inputs(model), "tokens_NT": random_inputs(model, length=CONTEXT + 5)["tokens_NT"]}
    else:
        inputs = random_inputs(model, length=CONTEXT + 5)
    if lacks(choice, "longer"):
        longest = CONTEXT + (PICTURE_LENGTHS["picture-decoder"] if choice["kind"] == "picture-decoder" else 0)
        with refused(SequenceTooLong, f"{longest}"):
            run_model(model, inputs)
    else:
        assert run_model(model, inputs).isfinite().all()


# Tests of single parts.


@pytest.mark.parametrize("name", catalogue.names("attention"))
@pytest.mark.parametrize("position", catalogue.names("position"))
@pytest.mark.parametrize("kind", catalogue.names("model"))
def test_what_is_refused_is_refused_with_the_reason_and_the_rest_is_built(kind, name, position):
    choice = {"kind": kind, "attention": name, "position": position}
    spec = model_spec(width=16, heads=2, layers=1, **PICTURES.get(kind, {}), **choice)
    reasons = reasons_against(choice)
    if not reasons:
        models.check(spec, CONTEXT)
        return
    with pytest.raises(SpecError) as error:
        models.check(spec, CONTEXT)
    assert any(reason in str(error.value) for reason in reasons)


@pytest.mark.parametrize("family", ["attention", "position", "norm"])
def test_unsupported_capabilities_are_known_ones(family):
    for name in catalogue.names(family):
        assert set(getattr(catalogue.find(family, name), "unsupported", {})) <= set(CAPABILITIES), name


@pytest.mark.parametrize("name", [name for name in catalogue.names("attention") if name != "none"])
@pytest.mark.parametrize("plain", [False, True])
def test_a_fully_masked_query_gets_zeros(name, plain):
    torch.manual_seed(0)
    kind = catalogue.find("attention", name)
    sizes = Sizes(16, 2, CONTEXT, 24, bias=True)
    attention = sizes.build(kind, settings_of(kind, {}), position=NoPosition()).to(DEVICE)
    attention.plain = plain
    x = torch.randn(3, CONTEXT, 16, device=DEVICE, requires_grad=True)
    positions = torch.arange(CONTEXT, device=DEVICE)
    masks = [Padding(torch.tensor([0, 5, CONTEXT], device=DEVICE))]
    if "causal" not in attention.unsupported:
        masks.append(masks[0] & Causal())
    for mask in masks:
        with capture(attention, "mixed") as captured, torch.autocast(DEVICE, torch.bfloat16, enabled=PRECISION == "bf16"):
            output = attention(x, mask, positions)
        assert torch.equal(captured["mixed"][0], torch.zeros_like(captured["mixed"][0]))
        assert captured["mixed"][1].abs().sum() > 0
        output.float().square().sum().backward()
        assert output.isfinite().all()
        assert x.grad.isfinite().all()


ADDED = [name for name in catalogue.names("position") if catalogue.find("position", name).mechanism == "embedding"]


@pytest.mark.parametrize("kind", catalogue.names("model"))
@pytest.mark.parametrize("position", ADDED)
@pytest.mark.parametrize("width", [32, 64, 256])
@pytest.mark.parametrize("initialisation", [0.5, 1.0, 2.0])
def test_positions_are_about_as_large_as_the_embeddings(kind, position, width, initialisation):
    """A code many times larger than the embeddings hides the tokens; a much smaller one is not seen."""
    spec = model_spec(kind=kind, position=position, width=width, layers=1, heads=2, initialisation=initialisation)
    ratios = size_ratios(models.build(spec, VOCABULARY, CONTEXT))
    assert ratios
    if position == "learned":
        # Learned positions of patches start at initialisation / sqrt(width), as in CLIP, and grow. Patches are larger.
        ratios.pop("image.position", None)
    for name, ratio in ratios.items():
        assert SIZE_RATIO[0] <= ratio <= SIZE_RATIO[1], name


@pytest.mark.parametrize("position", ["rotary", "sinusoidal"])
def test_odd_sizes_are_refused(position):
    with refused(SpecError):
        models.build(model_spec(width=9, heads=1, layers=1, position=position), VOCABULARY, CONTEXT)


COMPILED = [
    {"kind": "decoder", "attention": "grouped-query", "position": "rotary", "norm": "rms", "activation": "swiglu"},
    {"kind": "decoder", "attention": "performer", "position": "sinusoidal", "norm": "layer"},
    {"kind": "encoder", "attention": "local-window", "position": "alibi", "norm": "layer", "connection": "post-norm"},
    {"kind": "encoder", "attention": "linformer", "position": "learned", "norm": "batch"},
    {"kind": "encoder-decoder", "attention": "additive", "position": "relative-buckets", "norm": "layer"},
    {"kind": "dual-encoder", "attention": "dot-product", "position": "learned", "norm": "layer"},
    {"kind": "recurrent", "attention": "dot-product", "position": "none", "cell": "gru"},
]


@pytest.mark.slow
@pytest.mark.parametrize("choice", COMPILED, ids=lambda choice: "-".join(choice.values()))
def test_compiled_equals_eager(choice):
    model = build_model(choice)
    inputs = random_inputs(model)
    assert_near(run_model(torch.compile(model), inputs), run_model(model, inputs), 5 * TOLERANCE)
