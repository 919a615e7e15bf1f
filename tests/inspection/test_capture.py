"""Capture: any activation by name, patched or read, without a trace left behind."""

import pytest
import torch

from glasshouse import models
from glasshouse.inspection.capture import capture, probes
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


def test_every_stage_can_be_read(model):
    tokens = torch.randint(0, 30, (1, 7))
    with capture(model, *NAMES) as seen:
        output = model(tokens)
    assert set(seen) == set(NAMES)
    assert torch.equal(seen["logits"], output)
    assert seen["blocks.1.attention.queries"].shape == (1, 2, 7, 8)
    assert set(NAMES) <= set(probes(model))


def test_the_parts_add_up(model):
    with capture(
        model, "embedded", "blocks.*.middle", "blocks.*.attention", "blocks.*.feed_forward", "blocks.1.output"
    ) as s:
        model(torch.randint(0, 30, (1, 7)))
    total = s["embedded"]
    for block in range(2):
        total = total + s[f"blocks.{block}.attention"] + s[f"blocks.{block}.feed_forward"]
    torch.testing.assert_close(total, s["blocks.1.output"])


def test_hooks_are_gone_afterwards(model):
    with capture(model, "**"):
        pass
    assert not any(module._forward_hooks for module in model.modules())


def test_unknown_names_are_refused(model):
    with (
        refused("unknown-probe", "'blocks.1.attention.weights'"),
        capture(model, "blocks.1.atention.weights"),
    ):
        pass


def test_a_star_stays_between_two_dots(model):
    with capture(model, "blocks.*.output") as seen:
        model(torch.randint(0, 30, (1, 7)))
    assert list(seen) == ["blocks.0.output", "blocks.1.output"]


def test_every_name_on_offer_is_passed(model):
    with capture(model, "**") as seen:
        model(torch.randint(0, 30, (1, 7)))
    assert sorted(seen) == sorted(probes(model))
