"""The picture encoder-decoder: sizes of its encoder, and what its decoder sees."""

import torch

from glasshouse.specs.errors import SpecError
from tests.models.small_models import build, tokens
from tests.refusals import refused

PICTURES = {"image_size": 16, "patch_size": 8, "image_channels": 1, "position": "learned"}


def test_its_encoder_may_have_another_depth():
    model = build(kind="picture-encoder-decoder", encoder_layers=1, **PICTURES)
    assert len(model.encoder.blocks) == 1 < len(model.decoder.blocks)
    assert model.encoder.hidden_states(torch.randn(2, 1, 16, 16), None).shape[:2] == (2, 5)


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
