"""Capture: any activation is read by its name, and no hook stays behind."""

import pytest
import torch

from glasshouse import models
from glasshouse.inspection.capture import capture, probes
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import ModelSpec
from tests.refusals import refused

NAMES = [
    "embedded",
    "blocks.1.attention.queries",
    "blocks.1.attention.scores",
    "blocks.1.attention.weights",
    "blocks.1.attention.mixed",
    "blocks.1.feed_forward.hidden",
    "blocks.1.middle",
    "blocks.1.output",
    "final_norm",
    "logits",
]


@pytest.fixture
def model():
    return models.build(ModelSpec(width=16, layers=2, heads=2), 30, 12).eval()


def test_every_stage_can_be_captured(model):
    tokens = torch.randint(0, 30, (1, 7))
    with capture(model, *NAMES) as activations:
        output = model(tokens)
    assert set(activations) == set(NAMES)
    assert torch.equal(activations["logits"], output)
    assert activations["blocks.1.attention.queries"].shape == (1, 2, 7, 8)
    assert set(NAMES) <= set(probes(model))


def test_the_residual_stream_is_the_sum_of_its_parts(model):
    with capture(
        model, "embedded", "blocks.*.middle", "blocks.*.attention", "blocks.*.feed_forward", "blocks.1.output"
    ) as activations:
        model(torch.randint(0, 30, (1, 7)))
    total = activations["embedded"]
    for block in range(2):
        total = total + activations[f"blocks.{block}.attention"] + activations[f"blocks.{block}.feed_forward"]
    torch.testing.assert_close(total, activations["blocks.1.output"])


def test_the_hooks_are_removed_afterwards(model):
    with capture(model, "**"):
        pass
    assert not any(module._forward_hooks for module in model.modules())


def test_unknown_names_are_refused(model):
    with (
        refused(GlasshouseError, "'blocks.1.attention.weights'"),
        capture(model, "blocks.1.atention.weights"),
    ):
        pass


def test_a_star_matches_no_dot(model):
    with capture(model, "blocks.*.output") as activations:
        model(torch.randint(0, 30, (1, 7)))
    assert list(activations) == ["blocks.0.output", "blocks.1.output"]


def test_every_probe_is_captured(model):
    with capture(model, "**") as activations:
        model(torch.randint(0, 30, (1, 7)))
    assert sorted(activations) == sorted(probes(model))
