"""The interface of models: what every kind in the catalogue says of itself is so."""

import pytest
import torch

from glasshouse.inspection.capture import capture
from glasshouse.models.base import TextModel
from glasshouse.specs import catalogue
from tests.models.small_models import build

PICTURES = {"image_size": 16, "patch_size": 8}
SETTINGS = {"dual-encoder": PICTURES, "picture-decoder": PICTURES, "picture-encoder-decoder": PICTURES}


@pytest.fixture(params=catalogue.names("model"))
def model(request):
    return build(kind=request.param, position="rotary", **SETTINGS.get(request.param, {}))


def test_every_stack_of_texts_has_embeddings_and_a_state_after_each_layer(model):
    for stack in model.text_stacks:
        names = [f"{stack}embedded", *model.layer_outputs(stack)]
        assert len(names) > 1
        with capture(model, *names) as seen, torch.no_grad():
            model(**model.random_inputs(2, 5, torch.Generator().manual_seed(0)))
        assert list(seen) == names, "in the order of the forward pass"
        assert {tuple(state.shape[:2]) for state in seen.values()} <= {(2, 5), (2, 10)}, (
            "a picture decoder reads patches too"
        )


def test_the_final_norm_is_applied_to_states_of_the_stack_that_predicts(model):
    last = model.layer_outputs(model.text_stacks[-1])[-1]
    with capture(model, last) as seen, torch.no_grad():
        model(**model.random_inputs(2, 5, torch.Generator().manual_seed(0)))
        assert model.final_norm_of(seen[last]).shape == seen[last].shape


def test_a_model_that_keeps_a_cache_makes_an_empty_one(model):
    if model.keeps_cache:
        assert model.empty_cache(2, 7).slots == 7
    elif isinstance(model, TextModel):
        with pytest.raises(NotImplementedError):
            model.empty_cache(2, 7)
    assert model.vocabulary == model.token_embedding.num_embeddings
