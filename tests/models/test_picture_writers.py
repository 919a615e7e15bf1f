"""Models that write about a picture: what patches and tokens see, sizes, generation with a cache, and training."""

import pytest
import torch
from torch import nn

from glasshouse.generation.beam_search import BeamOptions, search
from glasshouse.parts.masks import Everything
from glasshouse.specs.errors import SpecError
from tests.models.small_models import build, tokens
from tests.refusals import refused

PICTURES = {"image_size": 16, "patch_size": 8, "image_channels": 1, "position": "learned"}


def prefix_states(model, pictures):
    return model.decoder.hidden_states(model.patches(pictures), model.condition_on(pictures)._mask(len(pictures)))


@pytest.mark.parametrize("whole_prefix", [False, True])
def test_a_patch_sees_later_patches_only_in_a_whole_prefix(whole_prefix):
    model = build(kind="picture-decoder", whole_prefix=whole_prefix, **PICTURES)
    pictures = torch.randn(2, 1, 16, 16)
    changed = pictures.clone()
    changed[:, :, 8:, 8:] += 1  # the last of four patches
    before, after = prefix_states(model, pictures), prefix_states(model, changed)
    assert before.shape[1] == 5, "a class token and four patches"
    assert torch.equal(before[:, :4], after[:, :4]) is not whole_prefix
    assert not torch.equal(model(pictures, tokens(2, 3)), model(changed, tokens(2, 3)))


@pytest.mark.parametrize("whole_prefix", [False, True])
@pytest.mark.parametrize("beams", [1, 3])
def test_generation_with_a_cache_finds_what_it_finds_without(whole_prefix, beams):
    torch.manual_seed(1)
    model = build(kind="picture-decoder", whole_prefix=whole_prefix, initialisation=2.0, **PICTURES)
    pictures = torch.randn(3, 1, 16, 16)
    found = []
    for row in range(3):
        conditioned = model.condition_on(pictures[row : row + 1])
        greedy = [5]
        for _ in range(6):
            greedy.append(int(conditioned(torch.tensor([greedy]))[0, -1].argmax()))
        found.append(tuple(greedy[1:]))
    options = BeamOptions(beams, 1.0, 6)
    cached = search(model.condition_on(pictures), [[5]] * 3, options, (), 12)
    if beams == 1:
        assert [best[0].tokens for best in cached] == found
    scores = []
    for row, best in enumerate(cached):
        log_probabilities = model.condition_on(pictures[row : row + 1])(torch.tensor([[5, *best[0].tokens]])).log_softmax(-1)
        chosen = log_probabilities[0, :-1].gather(-1, torch.tensor(best[0].tokens)[:, None])
        scores.append((best[0].log_probability, float(chosen.detach().sum())))
    for searched, recomputed in scores:
        assert searched == pytest.approx(recomputed, abs=1e-4)


def test_it_can_learn_which_text_belongs_to_a_picture():
    torch.manual_seed(0)
    model = build(kind="picture-decoder", **PICTURES).train()
    start, words, pictures = torch.zeros(6, 1, dtype=torch.int64), torch.arange(6), torch.randn(6, 1, 16, 16)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(80):
        loss = nn.functional.cross_entropy(model(pictures, start)[:, 0], words)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert torch.equal(model.eval()(pictures, start)[:, 0].argmax(-1), words), "the text alone is the same for all"


def test_its_encoder_may_have_another_depth():
    model = build(kind="picture-encoder-decoder", encoder_layers=1, **PICTURES)
    assert len(model.encoder.blocks) == 1 < len(model.decoder.blocks)
    assert model.encoder.hidden_states(torch.randn(2, 1, 16, 16), Everything()).shape[:2] == (2, 5)


def test_every_patch_sees_every_other_and_every_token_sees_the_picture():
    model = build(kind="picture-encoder-decoder", **PICTURES)
    pictures = torch.randn(2, 1, 16, 16)
    changed = pictures.clone()
    changed[:, :, 8:, 8:] += 1
    memories = [model.condition_on(one).memory.states for one in (pictures, changed)]
    assert (memories[0] != memories[1]).any(-1).all()
    logits = [model(one, tokens(2, 3)) for one in (pictures, changed)]
    assert (logits[0] != logits[1]).any(-1).all()


def test_patches_that_do_not_divide_the_picture_are_refused():
    with refused(SpecError, "model.image_size=10"):
        build(kind="picture-encoder-decoder", image_size=10, patch_size=4)
