"""The shared battery: every part in the catalogues, in models made of them, obeys the laws it does not refuse.

In `make test` every two words of different families meet at least once; `make test-slow` takes every allowed combination of
attention, position and norm, in a decoder and in an encoder. GLASSHOUSE_DEVICE=cuda and GLASSHOUSE_PRECISION=bf16 run the
same laws there and so.
"""

import itertools
import os
import random

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from glasshouse import models
from glasshouse.inspection.capture import capture
from glasshouse.models import parameter_counts
from glasshouse.parts.capabilities import CAPABILITIES
from glasshouse.parts.masks import Causal, Padding
from glasshouse.parts.positions.base import NoPosition
from glasshouse.parts.recurrence import Cell
from glasshouse.records import checkpoint
from glasshouse.specs import catalogue
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_files import model_spec
from glasshouse.training.engine import load_weights
from tests.refusals import refused

DEVICE = os.environ.get("GLASSHOUSE_DEVICE", "cpu")
PRECISION = os.environ.get("GLASSHOUSE_PRECISION", "fp32")
# How far apart two ways to the same number may be, as a share of the largest.
NEAR = {"fp32": 2e-5, "bf16": 4e-2}[PRECISION]
VOCABULARY, CONTEXT = 29, 12
torch.backends.cudnn.allow_tf32 = False  # as training in float32 has it
FAMILIES = {
    "kind": "model",
    "attention": "attention",
    "position": "position",
    "norm": "norm",
    "connection": "connection",
    "activation": "feed_forward",
}
WORDS = {field: catalogue.names(family) for field, family in FAMILIES.items()}
CAUSAL = ("decoder", "encoder-decoder", "recurrent")
# Feed-forward parts of several inner layers, each in one of the kinds of model that have blocks.
SEVERAL = [
    dict(zip(WORDS, (kind, "dot-product", "rotary", "layer", "pre-norm", activation), strict=True))
    | {"feed_forward_layers": 2}
    for kind, activation in (
        ("decoder", "gelu"),
        ("encoder", "relu"),
        ("encoder-decoder", "gelu-exact"),
        ("dual-encoder", "gelu-sigmoid"),
    )
]


def refusals(choice):
    """Why a choice is forbidden by what its parts declare: the declaration, not the attempt, is the rule."""
    attention, position = (catalogue.find(family, choice[family]) for family in ("attention", "position"))
    asked = []
    if choice["kind"] != "recurrent":
        asked.append("blocks")
    if choice["kind"] in CAUSAL:
        asked.append("causal")
    if choice["kind"] == "encoder-decoder":
        asked.append("cross")
    if position.acts in ("bias", "rotation"):
        asked.append(position.acts)
    return [attention.unsupported[law] for law in asked if law in attention.unsupported]


def pairs():
    """Allowed models in which every two words of different families that can meet do so at least once."""
    rng = random.Random(0)
    wanted = {
        frozenset([(a, x), (b, y)])
        for a, b in itertools.combinations(WORDS, 2)
        for x, y in itertools.product(WORDS[a], WORDS[b])
    }
    chosen = []

    def gain(choice):
        return sum(frozenset(pair) in wanted for pair in itertools.combinations(choice.items(), 2))

    while wanted:
        goal = dict(min(wanted, key=sorted))
        candidates = [{field: goal.get(field) or rng.choice(words) for field, words in WORDS.items()} for _ in range(60)]
        candidates = [choice for choice in candidates if not refusals(choice)]
        if not candidates:
            wanted.discard(frozenset(goal.items()))
            continue
        best = max(candidates, key=gain)
        wanted -= {frozenset(pair) for pair in itertools.combinations(best.items(), 2)}
        chosen.append(best)
    return chosen


def every():
    """Every allowed attention, position and norm in a decoder and in an encoder, the other parts in turn."""
    others = itertools.cycle(itertools.product(WORDS["connection"], WORDS["activation"]))
    for kind, attention, position, norm in itertools.product(
        ("decoder", "encoder"), WORDS["attention"], WORDS["position"], WORDS["norm"]
    ):
        choice = dict(zip(WORDS, (kind, attention, position, norm, *next(others)), strict=True))
        if not refusals(choice):
            yield choice


def choices():
    quick = pairs()
    return [
        *(pytest.param(choice, id="-".join(map(str, choice.values()))) for choice in (*quick, *SEVERAL)),
        *(
            pytest.param(choice, id="-".join(choice.values()), marks=pytest.mark.slow)
            for choice in every()
            if choice not in quick
        ),
    ]


@pytest.fixture(params=choices())
def choice(request):
    return request.param


def make(choice, seed=0, **more):
    sizes = {"width": 16, "layers": 2, "heads": 2, "feed_forward": 24}
    picture = {"image_size": 24} if choice["kind"] == "dual-encoder" else {}
    spec = model_spec(**{**sizes, **picture, **choice, **more})
    model = models.build(spec, VOCABULARY, CONTEXT, seed)
    with torch.no_grad():  # gains and biases off their starting values, where mistakes hide
        generator = torch.Generator().manual_seed(1)
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
        for name, buffer in model.named_buffers():
            if "running" in name:
                buffer += torch.rand(buffer.shape, generator=generator)
    return model.to(DEVICE).eval()


def example(model, batch=3, length=CONTEXT, seed=0):
    inputs = model.example(batch, length, torch.Generator().manual_seed(seed))
    return {name: value.to(DEVICE) for name, value in inputs.items()}


def answer(model, inputs, **more):
    """The model's output, in the precision asked for, as float32."""
    with torch.autocast(DEVICE, torch.bfloat16, enabled=PRECISION == "bf16"):
        output = model(**inputs, **more)
    return output if output.dtype == torch.float64 else output.float()


def share(choice):
    """Without residual connections nothing evens out what a coarse format rounds away."""
    return 4 * NEAR if PRECISION == "bf16" and choice["connection"] == "no-residual" else NEAR


def near(one, two, share=NEAR, what="", least=1e-3):
    scale = max(float(two.detach().abs().max()), least) if two.numel() else 1.0
    difference = float((one - two).detach().abs().max()) if two.numel() else 0.0
    assert difference <= share * scale, f"{what} differs by {difference:.3g} of {scale:.3g}"


def refuses(choice, law):
    parts = [catalogue.find(family, choice[family]) for family in ("attention", "position", "norm")]
    return any(law in getattr(part, "unsupported", {}) for part in parts)


def plainly(model):
    """The model by its definitions: no fused kernel, no fast path."""
    for module in model.modules():
        if hasattr(module, "plain"):
            module.plain = True
    return model


def seen_by_all(inputs):
    """The name of the tokens that a causal mask is over."""
    return next(name for name in ("target_BT", "tokens_BT", "tokens_NT") if name in inputs)


def test_shape(choice):
    model = make(choice)
    shape = (3, 3) if choice["kind"] == "dual-encoder" else (3, CONTEXT, VOCABULARY)
    assert answer(model, example(model)).shape == shape


def test_no_future_leaks(choice):
    if choice["kind"] not in CAUSAL:
        pytest.skip("its tokens may see later ones")
    model = make(choice)
    inputs = example(model)
    before, name = answer(model, inputs), seen_by_all(inputs)
    felt = False
    for place in (1, CONTEXT // 2, CONTEXT - 1):
        changed = {**inputs, name: inputs[name].clone()}
        changed[name][:, place] = (changed[name][:, place] + 1) % VOCABULARY
        after = answer(model, changed)
        assert torch.equal(before[:, :place], after[:, :place])
        felt |= not torch.equal(before[:, place:], after[:, place:])
    # Without residual connections a token's identity may be lost on the way: that is a claim on trial, and no law.
    assert felt or choice["connection"] == "no-residual", "no change of a token changed anything"


def test_padding_changes_no_real_token(choice):
    model = make(choice)
    inputs = example(model)
    name = {"encoder-decoder": "source_BS", "dual-encoder": "tokens_NT"}.get(choice["kind"], "tokens_BT")
    lengths = torch.tensor([CONTEXT, 5, 1], device=DEVICE)
    real = torch.arange(CONTEXT, device=DEVICE) < lengths[:, None]
    if name != "tokens_BT":
        real = torch.ones_like(real)

    def kept(output):
        return output[real] if output.dim() == 3 else output

    before = answer(model, inputs, lengths=lengths)
    other = torch.randint(0, VOCABULARY, inputs[name].shape, generator=torch.Generator().manual_seed(9)).to(DEVICE)
    hidden = torch.arange(CONTEXT, device=DEVICE) >= lengths[:, None]
    changed = {**inputs, name: torch.where(hidden, other, inputs[name])}
    assert torch.equal(kept(answer(model, changed, lengths=lengths)), kept(before))
    # The same tokens with less padding, alone.
    row = {key: value[1:2] for key, value in inputs.items()}
    row[name] = row[name][:, :5]
    alone = answer(model, row)
    if choice["kind"] == "dual-encoder":
        near(alone[0, 0], before[1, 1])
    else:
        near(alone[0], before[1, : alone.shape[1]])


def test_a_batch_does_not_mix(choice):
    model = make(choice)
    inputs = example(model)
    together = answer(model, inputs)
    for row in range(3):
        alone = answer(model, {name: value[row : row + 1] for name, value in inputs.items()})
        near(alone[0], together[row, row : row + 1] if choice["kind"] == "dual-encoder" else together[row])


def test_in_training_only_batch_norm_mixes_a_batch(choice):
    if choice["kind"] in ("recurrent", "dual-encoder"):
        pytest.skip("its answer is not made of normalised rows")
    model = make(choice).train()
    inputs = example(model)
    together = answer(model, inputs)
    alone = answer(model, {name: value[:1] for name, value in inputs.items()})
    if refuses(choice, "batch"):
        assert not torch.allclose(alone[0], together[0], rtol=1e-3, atol=1e-3)
    else:
        near(alone[0], together[0])


def test_gradients_reach_every_parameter(choice):
    model = make(choice, tied=False, bias=True)
    weights = torch.randn(answer(model, example(model)).shape, generator=torch.Generator().manual_seed(3)).to(DEVICE)
    (answer(model, example(model)) * weights).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # Without residual connections a gradient may fade to nothing in so coarse a format.
        faint = PRECISION == "bf16" and choice["connection"] == "no-residual"
        assert faint or parameter.grad.abs().sum() > 0, name


def test_gradients_agree_with_finite_differences(choice):
    if PRECISION != "fp32":
        pytest.skip("this law is of the formulas, and is held to in float64")
    model = make(choice).double()
    inputs = {
        name: value.double() if value.is_floating_point() else value
        for name, value in example(model, batch=2, length=5).items()
    }

    def loss():
        return answer(model, inputs).log_softmax(-1)[..., 0].sum()

    gradients = torch.autograd.grad(loss(), list(model.parameters()))
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for (name, parameter), gradient in zip(model.named_parameters(), gradients, strict=True):
            direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(DEVICE)
            sides = []
            for step in (1e-6, -2e-6):
                parameter += step * direction
                sides.append(loss())
            parameter += 1e-6 * direction
            slope, exact = (sides[0] - sides[1]) / 2e-6, (gradient * direction).sum()
            # A kink (ReLU) between the two sides would show as a difference of a few in a thousand.
            torch.testing.assert_close(slope, exact, rtol=3e-3, atol=1e-5, msg=f"{name}: {slope} against {exact}")


def test_fast_paths_equal_plain_ones(choice):
    fast, plain = make(choice), plainly(make(choice))
    inputs = example(fast)
    outputs = [answer(model, inputs) for model in (fast, plain)]
    near(outputs[0], outputs[1], share(choice))
    for output in outputs:
        output.square().sum().backward()
    largest = max(float(parameter.grad.abs().max()) for parameter in plain.parameters())
    for (name, one), two in zip(fast.named_parameters(), plain.parameters(), strict=True):
        near(one.grad, two.grad, 10 * share(choice), name, least=largest / 100)


def test_rows_of_weights_sum_to_one_and_looking_changes_nothing(choice):
    model = make(choice)
    inputs = example(model)
    if "rows" in catalogue.find("attention", choice["attention"]).unsupported:
        with refused("unknown-probe"), capture(model, "**.weights"):
            pass
        return
    unwatched = answer(model, inputs)
    with capture(model, "**.weights") as seen:
        watched = answer(model, inputs)
    near(watched, unwatched, share(choice))
    for name, weights in seen.items():
        assert weights.shape[:3] in ((3, 2, CONTEXT), (3, 2, 10)), name
        tokens = 10 if weights.shape[2] == 10 else CONTEXT
        assert (weights.shape[3] == tokens) is not refuses(choice, "tokens"), name
        near(weights.float().sum(-1), torch.ones(weights.shape[:3], device=DEVICE), 10 * NEAR)
        if choice["kind"] in ("decoder", "recurrent"):
            assert torch.equal(weights.triu(1), torch.zeros_like(weights))
    assert torch.equal(answer(model, inputs), unwatched), "nobody looks any more"


def test_cache_equals_no_cache(choice):
    if choice["kind"] not in CAUSAL:
        pytest.skip("only models that continue a text keep a cache")
    model = make(choice)
    inputs = example(model)
    whole, tokens = answer(model, inputs), inputs[seen_by_all(inputs)]
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16, enabled=PRECISION == "bf16"):
        reader = model.given(inputs["source_BS"]) if choice["kind"] == "encoder-decoder" else model
        cache = reader.empty_cache(len(tokens), CONTEXT)
        pieces, start = [], 0
        for length in (4, 1, 1, 3, 1, 2):
            positions = torch.arange(start, start + length, device=DEVICE).expand(len(tokens), length)
            pieces.append(reader.project(reader.features(tokens[:, start : start + length], positions, cache)).float())
            start += length
    near(torch.cat(pieces, dim=1), whole)


def test_save_and_load(choice, tmp_path):
    model, other = make(choice), make(choice, seed=1)
    checkpoint.save_tensors(tmp_path / "model.safetensors", dict(model.state_dict()))
    load_weights(other, checkpoint.load_tensors(tmp_path / "model.safetensors"), "the file")
    inputs = example(model)
    assert torch.equal(answer(model, inputs), answer(other, inputs))


def test_counts_are_exact(choice):
    model = make(choice, tied=False)
    assert sum(parameter_counts.parameters_by_part(model).values()) == sum(p.numel() for p in model.parameters())
    for module in model.modules():
        if isinstance(module, Cell):
            module.plain = True  # torch's counter does not look into its kernels for cells
    batch = 1 if choice["kind"] == "dual-encoder" else 3  # every text meets every picture, so its cost is no sum
    inputs = example(model, batch)
    # The counter knows matrix products, and not every fused kernel; this one is made of products.
    with sdpa_kernel(SDPBackend.MATH):
        with FlopCounterMode(display=False) as forward:
            output = answer(model, inputs)
        assert forward.get_total_flops() == batch * model.flops(CONTEXT)
        with FlopCounterMode(display=False) as both:
            answer(model, inputs).sum().backward()
    trained = batch * parameter_counts.training_flops(model.flops(CONTEXT))
    if choice["kind"] in ("recurrent", "dual-encoder") or choice["attention"] == "performer":
        # First states, pictures and random features ask for no gradient: a product of the backward pass is saved.
        assert both.get_total_flops() < trained
    else:
        assert both.get_total_flops() == trained
    assert output.isfinite().all()


def test_replicas_in_one_call_equal_each_alone(choice):
    if PRECISION != "fp32":
        pytest.skip("replicas are held to the numbers in float32")
    copies = [plainly(make(choice, seed=seed)) for seed in range(3)]
    parameters, buffers = stack_module_state(copies)
    inputs = example(copies[0])
    together = vmap(lambda p, b: functional_call(copies[0], (p, b), (), inputs))(parameters, buffers)
    for index, model in enumerate(copies):
        near(together[index], answer(model, inputs), 1e-4)


def test_dropout_only_in_training(choice):
    if PRECISION == "bf16" and choice["connection"] == "no-residual":
        pytest.skip("what is left of the signal may be less than the format can tell apart")
    model = make(choice, dropout=0.5)
    inputs = example(model)
    assert torch.equal(answer(model, inputs), answer(model, inputs))
    model.train()
    assert not torch.equal(answer(model, inputs), answer(model, inputs))


def test_beyond_the_training_length(choice):
    model = make(choice)
    if choice["kind"] == "dual-encoder":
        inputs = {**example(model), "tokens_NT": example(model, length=CONTEXT + 5)["tokens_NT"]}
    else:
        inputs = example(model, length=CONTEXT + 5)
    if refuses(choice, "longer"):
        with refused("too-long", "12"):
            answer(model, inputs)
    else:
        assert answer(model, inputs).isfinite().all()


# Laws of one part, without a model around it.


@pytest.mark.parametrize("name", catalogue.names("attention"))
@pytest.mark.parametrize("position", catalogue.names("position"))
@pytest.mark.parametrize("kind", catalogue.names("model"))
def test_what_is_refused_is_refused_with_the_reason_and_the_rest_is_built(kind, name, position):
    choice = {"kind": kind, "attention": name, "position": position}
    picture = {"image_size": 24} if kind == "dual-encoder" else {}
    spec = model_spec(width=16, heads=2, layers=1, **picture, **choice)
    reasons = refusals(choice)
    if not reasons:
        models.check(spec, CONTEXT)
        return
    with pytest.raises(SpecError) as error:
        models.check(spec, CONTEXT)
    assert any(reason in str(error.value) for reason in reasons)


@pytest.mark.parametrize("family", ["attention", "position", "norm"])
def test_refusals_are_of_known_laws(family):
    for name in catalogue.names(family):
        assert set(getattr(catalogue.find(family, name), "unsupported", {})) <= set(CAPABILITIES), name


@pytest.mark.parametrize("name", [name for name in catalogue.names("attention") if name != "none"])
@pytest.mark.parametrize("plain", [False, True])
def test_a_query_that_may_see_nothing_gets_zeros(name, plain):
    from glasshouse.parts.sizes import Sizes

    torch.manual_seed(0)
    kind = catalogue.find("attention", name)
    sizes = Sizes(16, 2, CONTEXT, 24, bias=True)
    attention = kind.build(sizes, settings_of(kind, {}), position=NoPosition()).to(DEVICE)
    attention.plain = plain
    x = torch.randn(3, CONTEXT, 16, device=DEVICE, requires_grad=True)
    positions = torch.arange(CONTEXT, device=DEVICE)
    masks = [Padding(torch.tensor([0, 5, CONTEXT], device=DEVICE))]
    if "causal" not in attention.unsupported:
        masks.append(masks[0] & Causal())
    for mask in masks:
        with capture(attention, "mixed") as seen, torch.autocast(DEVICE, torch.bfloat16, enabled=PRECISION == "bf16"):
            output = attention(x, mask, positions)
        assert torch.equal(seen["mixed"][0], torch.zeros_like(seen["mixed"][0]))
        assert seen["mixed"][1].abs().sum() > 0
        output.float().square().sum().backward()
        assert output.isfinite().all()
        assert x.grad.isfinite().all()


@pytest.mark.parametrize("position", ["rotary", "sinusoidal"])
def test_odd_sizes_are_refused(position):
    with refused("odd-width"):
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
    model = make(choice)
    inputs = example(model)
    near(answer(torch.compile(model), inputs), answer(model, inputs), 5 * NEAR)
