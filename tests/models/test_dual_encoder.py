"""The dual encoder: encoders of different sizes, inner layers, and training."""

import torch
from torch import nn

from glasshouse import models
from glasshouse.specs.spec_files import model_spec
from tests.models.small_models import SMALL, build, tokens


def test_a_dual_encoder_may_have_encoders_of_different_sizes():
    sizes = {"image_size": 12, "patch_size": 4, "image_channels": 1, "image_width": 8}
    settings = {"image_layers": 1, "image_heads": 1, "image_norm": True, "head": {"pooling": "mean", "width": 6}}
    model = build(kind="dual-encoder", position="learned", **sizes, **settings)
    assert model(tokens(3, 7), torch.randn(5, 1, 12, 12)).shape == (3, 5)
    assert len(model.image.blocks) == 1
    assert model.image.embedding.count == 9


def test_both_encoders_of_a_dual_encoder_have_as_many_inner_layers():
    settings = {"kind": "dual-encoder", "image_size": 24, "image_feed_forward": 40, "feed_forward_layers": 3}
    model = models.build(model_spec(**SMALL, feed_forward=24, **settings), 29, 12)
    inner_layers = [stack.blocks[0].feed_forward.between for stack in (model.text, model.image)]
    assert [[layer.across.in_features for layer in layers] for layers in inner_layers] == [[24, 24], [40, 40]]


def test_a_dual_encoder_can_learn_which_picture_belongs_to_which_text():
    torch.manual_seed(0)
    model = build(kind="dual-encoder", image_size=8, patch_size=4, image_channels=1, position="learned").train()
    texts, pictures = tokens(6, 5), torch.randn(6, 1, 8, 8)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(60):
        loss = nn.functional.cross_entropy(model(texts, pictures), torch.arange(6))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert torch.equal(model(texts, pictures).argmax(1), torch.arange(6))
