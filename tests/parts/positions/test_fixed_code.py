"""Fixed positional codes as published. Their size follows the embeddings, and belongs to trained weights."""

import math

import pytest
import torch

from glasshouse import models, parts
from glasshouse.specs.spec_files import model_spec
from glasshouse.training import warm_start
from tests.parts.battery import use_reference

WIDTH, VOCABULARY, CONTEXT = 64, 29, 12
# The size of the code divided by the size of the embeddings: the root mean square of a sine, and of a one-hot vector.
RATIOS = {"sinusoidal": 0.5**0.5, "one-hot": 1.0}


def build(position: str, **settings):
    spec = model_spec(width=WIDTH, layers=1, heads=2, position=position, **settings)
    return models.build(spec, VOCABULARY, CONTEXT).requires_grad_(False)


def size_of_code(position) -> float:
    code = position.embed(torch.zeros(1, CONTEXT, WIDTH), torch.arange(CONTEXT))
    return float(code.square().mean().sqrt())


@pytest.mark.parametrize("position", RATIOS)
@pytest.mark.parametrize("settings", [{}, {"initialisation": 2.0}, {"embedding_deviation": 1.0}])
def test_the_code_has_a_fixed_share_of_the_size_of_the_embeddings(position, settings):
    deviation = settings.get("embedding_deviation") or settings.get("initialisation", 0.5) / WIDTH**0.5
    assert size_of_code(build(position, **settings).position) == pytest.approx(RATIOS[position] * deviation)


@pytest.mark.parametrize("position", RATIOS)
def test_both_stacks_of_an_encoder_decoder_follow_the_embedding_that_they_share(position):
    model = build(position, kind="encoder-decoder", embedding_deviation=1.0)
    for stack in (model.encoder, model.decoder):
        assert size_of_code(stack.position) == pytest.approx(RATIOS[position])


@pytest.mark.parametrize("position", RATIOS)
def test_a_factor_in_the_spec_is_kept_as_it_is(position):
    model = build(position, position_scale=3.0, initialisation=2.0)
    assert float(model.position.scale) == 3.0
    # Checkpoints of format 2 have no such tensor. Their specs have the factor 1.
    assert "position.scale" not in model.state_dict()


@pytest.mark.parametrize("position", RATIOS)
def test_a_run_that_starts_from_trained_weights_keeps_their_code(position):
    trained, new = build(position), build(position, initialisation=2.0)
    assert new.position.scale != trained.position.scale
    warm_start.transfer(new, dict(trained.state_dict()))
    assert new.position.scale == trained.position.scale


def test_replicas_with_different_initialisations_keep_their_own_codes():
    copies = [use_reference(build("sinusoidal", initialisation=scale)) for scale in (0.5, 2.0)]
    weights, buffers = torch.func.stack_module_state(copies)
    x = torch.randint(VOCABULARY, (2, CONTEXT))
    together = torch.func.vmap(lambda w, b: torch.func.functional_call(copies[0], (w, b), (x,)))(weights, buffers)
    for index, copy in enumerate(copies):
        torch.testing.assert_close(together[index], copy(x), rtol=1e-4, atol=1e-5)


def test_one_hot_adds_a_one_at_its_position():
    embedded = parts.OneHot(context=4, width=6).embed(torch.zeros(1, 3, 6), torch.arange(3))[0]
    assert torch.equal(embedded, torch.eye(6)[:3])


def test_sinusoids_are_as_published():
    sinusoidal = parts.Sinusoidal(width=6)
    embedded = sinusoidal.embed(torch.zeros(1, 4, 6), torch.arange(4))[0]
    assert torch.allclose(embedded[3, 1], torch.tensor(math.sin(3 / 10000 ** (2 / 6))))
    assert torch.allclose(embedded[3, 4], torch.tensor(math.cos(3 / 10000 ** (2 / 6))))
