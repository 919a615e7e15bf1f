"""The shared battery: every part in the catalogues, in models made of them, obeys the same laws."""

import itertools

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap
from torch.utils.flop_counter import FlopCounterMode

from glasshouse import models
from glasshouse.inspection.capture import capture
from glasshouse.models import counts
from glasshouse.records import checkpoint
from glasshouse.specs import catalogue
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import Model
from glasshouse.training.engine import load_weights

VOCABULARY, CONTEXT = 29, 12
FAMILIES = {
    "attention": "attention",
    "position": "position",
    "norm": "norm",
    "connection": "connection",
    "activation": "feed_forward",
}


def pairs():
    """Models in which every two words of different families meet at least once."""
    words = {field: catalogue.names(family) for field, family in FAMILIES.items()}
    wanted = {
        frozenset([(a, x), (b, y)])
        for a, b in itertools.combinations(words, 2)
        for x, y in itertools.product(words[a], words[b])
    }
    chosen = []
    every = [dict(zip(words, combination, strict=True)) for combination in itertools.product(*words.values())]
    while wanted:
        best = max(every, key=lambda c: sum(frozenset(p) in wanted for p in itertools.combinations(c.items(), 2)))
        wanted -= {frozenset(p) for p in itertools.combinations(best.items(), 2)}
        chosen.append(best)
    return chosen


@pytest.fixture(params=pairs(), ids=lambda choice: "-".join(choice.values()))
def choice(request):
    return request.param


def make(choice, seed=0, **more):
    spec = Model(**{"width": 16, "layers": 2, "heads": 2, "feed_forward": 24, **choice, **more})
    model = models.build(spec, VOCABULARY, CONTEXT, seed)
    with torch.no_grad():  # gains and biases off their starting values, where mistakes hide
        generator = torch.Generator().manual_seed(1)
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return model.eval()


def tokens(batch=3, length=CONTEXT, seed=0):
    return torch.randint(0, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(seed))


def test_shape(choice):
    assert make(choice)(tokens()).shape == (3, CONTEXT, VOCABULARY)


def test_no_future_leaks(choice):
    model, x = make(choice), tokens()
    before = model(x)
    for place in (1, CONTEXT // 2, CONTEXT - 1):
        changed = x.clone()
        changed[:, place] = (changed[:, place] + 1) % VOCABULARY
        after = model(changed)
        assert torch.equal(before[:, :place], after[:, :place])
        assert not torch.allclose(before[:, place:], after[:, place:])


def test_a_batch_does_not_mix(choice):
    model, x = make(choice), tokens()
    together = model(x)
    for row in range(len(x)):
        torch.testing.assert_close(model(x[row : row + 1])[0], together[row], rtol=1e-5, atol=1e-5)


def test_gradients_reach_every_parameter(choice):
    model = make(choice, tied=False, bias=True)
    model(tokens()).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_gradients_agree_with_finite_differences(choice):
    model = make(choice).double()
    x = tokens(batch=1, length=5)
    loss = model(x).log_softmax(-1)[..., 0].sum()
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for (name, parameter), gradient in zip(model.named_parameters(), gradients, strict=True):
            direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            sides = []
            for step in (1e-5, -2e-5):
                parameter += step * direction
                sides.append(model(x).log_softmax(-1)[..., 0].sum())
            parameter += 1e-5 * direction
            slope = (sides[0] - sides[1]) / 2e-5
            torch.testing.assert_close(slope, (gradient * direction).sum(), rtol=1e-4, atol=1e-6, msg=name)


def test_fused_equals_plain(choice):
    fused, plain = make(choice), make(choice)
    for block in plain.blocks:
        block.attention.plain = True
    outputs = [model(tokens()) for model in (fused, plain)]
    torch.testing.assert_close(outputs[0], outputs[1], rtol=1e-5, atol=1e-5)
    for output in outputs:
        output.square().sum().backward()
    for (name, one), two in zip(fused.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-3, atol=1e-4, msg=name)


def test_rows_of_weights_sum_to_one_and_looking_changes_nothing(choice):
    model, x = make(choice), tokens()
    unwatched = model(x)
    with capture(model, "blocks.*.attention.weights", "blocks.1.output") as seen:
        watched = model(x)
    torch.testing.assert_close(watched, unwatched, rtol=1e-5, atol=1e-5)
    assert set(seen) == {"blocks.0.attention.weights", "blocks.1.attention.weights", "blocks.1.output"}
    weights = seen["blocks.0.attention.weights"]
    assert weights.shape == (3, 2, CONTEXT, CONTEXT)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2, CONTEXT))
    assert torch.equal(weights.triu(1), torch.zeros_like(weights))
    assert torch.equal(model(x), unwatched), "nobody looks any more"


def test_cache_equals_no_cache(choice):
    model, x = make(choice), tokens()
    whole = model(x)
    cache = model.empty_cache(len(x), CONTEXT)
    pieces, start = [], 0
    for length in (4, 1, 1, 3, 1, 2):
        positions = torch.arange(start, start + length).expand(len(x), length)
        pieces.append(model(x[:, start : start + length], positions, cache))
        start += length
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole, rtol=1e-5, atol=1e-5)


def test_save_and_load(choice, tmp_path):
    model, other = make(choice), make(choice, seed=1)
    checkpoint.save_tensors(tmp_path / "model.safetensors", dict(model.state_dict()))
    load_weights(other, checkpoint.load_tensors(tmp_path / "model.safetensors"), "the file")
    assert torch.equal(model(tokens()), other(tokens()))


def test_counts_are_exact(choice):
    model = make(choice, tied=False)
    assert sum(counts.parameters_by_part(model).values()) == sum(p.numel() for p in model.parameters())
    for block in model.blocks:
        block.attention.plain = True  # torch's counter knows matrix products, and not the CPU's fused kernel
    with FlopCounterMode(display=False) as forward:
        output = model(tokens())
    assert forward.get_total_flops() == 3 * model.flops(CONTEXT)
    with FlopCounterMode(display=False) as both:
        model(tokens()).sum().backward()
    assert both.get_total_flops() == 3 * counts.training_flops(model.flops(CONTEXT))
    assert output.shape[-1] == VOCABULARY


def test_replicas_in_one_call_equal_each_alone(choice):
    copies = [make(choice, seed=seed) for seed in range(3)]
    for model in copies:
        for block in model.blocks:
            block.attention.plain = True
    parameters, buffers = stack_module_state(copies)
    x = tokens()
    together = vmap(lambda p, b: functional_call(copies[0], (p, b), (x,)))(parameters, buffers)
    for index, model in enumerate(copies):
        torch.testing.assert_close(together[index], model(x), rtol=1e-4, atol=1e-4)


def test_dropout_only_in_training(choice):
    model = make(choice, dropout=0.5)
    assert torch.equal(model(tokens()), model(tokens()))
    model.train()
    assert not torch.equal(model(tokens()), model(tokens()))


def test_beyond_the_training_length(choice):
    model = make(choice)
    longer = tokens(length=CONTEXT + 5)
    if choice["position"] == "learned":
        with pytest.raises(GlasshouseError, match="end at 12"):
            model(longer)
    else:
        assert model(longer).isfinite().all()


@pytest.mark.parametrize("position", ["rotary", "sinusoidal"])
def test_odd_sizes_are_refused(position):
    with pytest.raises(GlasshouseError, match="even"):
        models.build(Model(width=9, heads=1, layers=1, position=position), VOCABULARY, CONTEXT)


@pytest.mark.slow
def test_compiled_equals_eager():
    model, x = make({"position": "rotary", "norm": "rms", "activation": "swiglu"}), tokens()
    torch.testing.assert_close(torch.compile(model)(x), model(x), rtol=1e-4, atol=1e-4)
