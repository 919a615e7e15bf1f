"""Building a model: initial weights, and parts that do not fit together."""

import math
from typing import ClassVar

import pytest
import torch

import glasshouse
from glasshouse import models, parts
from glasshouse.models.heads.pooling import pool
from glasshouse.specs import catalogue
from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.specs.spec_files import model_spec
from tests.models.small_models import SMALL
from tests.refusals import refused


def test_only_the_last_matrix_of_a_residual_branch_starts_smaller():
    model = models.build(
        model_spec(width=64, layers=8, heads=2, feed_forward=256, feed_forward_layers=3), 29, 12
    ).requires_grad_(False)
    for block in model.blocks:
        part = block.feed_forward
        scales = [
            matrix.weight.std() * math.sqrt(matrix.in_features) for matrix in (*(b.across for b in part.between), part.up)
        ]
        assert torch.stack(scales).tolist() == pytest.approx([0.5, 0.5, 0.5], rel=0.05)
        assert float(part.down.weight.std()) * math.sqrt(256) == pytest.approx(0.5 / math.sqrt(2 * 8), rel=0.05)


@pytest.mark.parametrize("kind", ["decoder", "encoder", "encoder-decoder"])
def test_a_model_without_norms_has_none_after_its_last_block_either(kind):
    """It is built of attentions, single linear layers and embeddings."""
    shape = {"width": 16, "layers": 2, "heads": 1, "norm": "none", "activation": "relu-single-layer", "bias": True}
    model = models.build(model_spec(kind=kind, **shape), 29, 12)
    names = [name for name, _ in model.named_parameters() if "norm" in name and not name.startswith("head.")]
    assert names == []


@pytest.mark.parametrize("layers", [1, 8])
def test_a_single_layer_starts_as_the_last_matrix_of_its_branch(layers):
    model = models.build(model_spec(width=64, layers=layers, heads=2, activation="relu-single-layer"), 29, 12)
    for block in model.requires_grad_(False).blocks:
        expected = 0.5 / math.sqrt(2 * layers)
        assert float(block.feed_forward.linear.weight.std()) * math.sqrt(64) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("settings", [{}, {"embedding": "ngram"}, {"kind": "encoder", "segments": 2, "position": "learned"}])
def test_embeddings_start_at_the_deviation_of_the_spec(settings):
    names = ("embedding.weight", "embedding.runs.weight", "segments.weight", "position.table.weight")
    shape = {"kind": "encoder", "width": 256, "layers": 1, "heads": 2}
    default, chosen = (
        models.build(model_spec(**{**shape, **settings, **more}), 200, 40).state_dict()
        for more in ({}, {"embedding_deviation": 1.0})
    )
    for name, tensor in chosen.items():
        if name in names:
            assert float(tensor.std()) == pytest.approx(1.0, rel=0.1)
            torch.testing.assert_close(default[name] * math.sqrt(256) / 0.5, tensor, rtol=1e-4, atol=1e-6)
        else:
            assert torch.equal(tensor, default[name]), name


def test_the_deviation_of_token_embeddings_is_not_that_of_a_picture_encoder():
    shape = {"kind": "dual-encoder", "width": 64, "layers": 1, "heads": 2, "position": "learned"}
    default, chosen = (
        models.build(model_spec(**shape, **more), 29, 12).state_dict() for more in ({}, {"embedding_deviation": 1.0})
    )
    changed = {name for name, tensor in chosen.items() if not torch.equal(tensor, default[name])}
    assert changed == {"text.embedding.weight", "text.position.table.weight"}


def test_positions_of_a_stack_that_reads_vectors_take_them_to_have_unit_size():
    stack = models.TransformerStack(None, [], position=parts.Sinusoidal(16))
    models.initialise(stack)
    assert float(stack.position.scale) == 1.0


@pytest.mark.parametrize("kind", ["decoder", "recurrent", "encoder-decoder"])
def test_only_an_encoder_may_have_no_blocks(kind):
    with refused(SpecError, "model.layers=0", kind):
        models.check(model_spec(kind=kind, layers=0), 8)


@pytest.mark.parametrize(
    ("kind", "value", "settings"),
    [
        (SpecError, "model.bidirectional", {"kind": "recurrent", "bidirectional": True}),
        (SpecError, "model.kind='encoder'", {"kind": "encoder", "head": {"kind": "next-token"}}),
        (SpecError, "model.head.classes=0", {"kind": "encoder", "head": {"kind": "classifier"}}),
        (
            SpecError,
            "model.head.norm='batch'",
            {"kind": "encoder", "head": {"kind": "classifier", "classes": 2, "norm": "batch"}},
        ),
        (SpecError, "contrastive", {"kind": "dual-encoder", "head": {"kind": "classifier", "classes": 2}}),
        (SpecError, "model.image_size=10", {"kind": "dual-encoder", "image_size": 10, "patch_size": 4}),
        (SpecError, "'linformer'", {"kind": "decoder", "attention": "linformer"}),
        (SpecError, "model.kind='recurrent'", {"kind": "decoder", "attention": "none"}),
        (SpecError, "'alibi'", {"kind": "encoder", "attention": "performer", "position": "alibi"}),
        (SpecError, "'local-window'", {"kind": "encoder-decoder", "attention": "local-window"}),
        (SpecError, "data.context=12", {"kind": "decoder", "position": "one-hot", "width": 8}),
        (SpecError, "model.heads=2", {"kind": "decoder", "attention": "grouped-query", "key_value_heads": 3}),
        (SpecError, "model.attention=grouped-query", {"kind": "decoder", "key_value_heads": 1}),
        (SpecError, "model.window=8", {"kind": "decoder", "window": 8}),
        (SpecError, "model.attention=linformer or model.attention=performer", {"kind": "decoder", "rank": 8}),
        (SpecError, "model.cell='gru'", {"kind": "decoder", "cell": "gru"}),
        (SpecError, "model.causal=True", {"kind": "decoder", "causal": True}),
        (SpecError, "model.encoder_layers=3", {"kind": "decoder", "encoder_layers": 3}),
        (SpecError, "model.segments=2", {"kind": "decoder", "segments": 2}),
        (SpecError, "model.head.classes=3", {"kind": "decoder", "head": {"classes": 3}}),
        (SpecError, "model.image_size=64", {"kind": "encoder", "image_size": 64}),
        (SpecError, "model.rotary_base=500000.0", {"kind": "encoder", "position": "alibi", "rotary_base": 5e5}),
    ],
)
def test_parts_that_do_not_fit_are_refused_with_the_reason(kind, value, settings):
    with refused(kind, value):
        models.check(model_spec(**{**SMALL, **settings}), context=12)


class NoRotation(parts.MultiHeadAttention):
    """An attention that cannot rotate its queries and keys. The catalogue has none."""

    unsupported: ClassVar[dict[str, str]] = {"rotation": "its queries cannot be rotated"}


def test_an_attention_without_rotation_is_refused_with_rotary_positions(monkeypatch):
    find = catalogue.find
    monkeypatch.setattr(catalogue, "find", lambda *words: NoRotation if words[0] == "attention" else find(*words))
    models.check(model_spec(**{**SMALL, "kind": "decoder", "position": "alibi"}), context=12)
    with refused(SpecError, "model.position='rotary'"):
        models.check(model_spec(**{**SMALL, "kind": "decoder", "position": "rotary"}), context=12)


def test_parts_in_the_wrong_place_are_refused():
    for build, kind in (
        (lambda: parts.MultiHeadAttention(16, 2, position=parts.Learned(8, 16)), SpecError),
        (lambda: models.TransformerStack(None, [], position=parts.Alibi(2)), SpecError),
        (lambda: NoRotation(16, 2, position=parts.Rotary(8)), SpecError),
        (lambda: parts.CrossAttention(parts.MultiHeadAttention(16, 2, position=parts.Alibi(2))), SpecError),
        (lambda: parts.CrossAttention(parts.LocalAttention(16, 2, 4)), SpecError),
        (lambda: parts.MultiHeadAttention(30, 4), SpecError),
        (lambda: parts.MultiHeadAttention(16, 4, position=parts.Alibi(1)), SpecError),
        (lambda: parts.MultiHeadAttention(16, 2, position=parts.Rotary(2)), SpecError),
        (lambda: parts.Rotary(7), SpecError),
        (lambda: parts.GroupedQueryAttention(64, 4, key_value_heads=3), SpecError),
        (lambda: parts.OneHot(100, 64), SpecError),
        (lambda: pool(torch.zeros(1, 2, 3), "avg"), GlasshouseError),
        (lambda: parts.LinformerAttention(16, 2, 8, 4)(torch.zeros(1, 8, 16), parts.Window(2)), GlasshouseError),
    ):
        with refused(kind):
            build()


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
def test_branches_that_begin_at_zero_leave_the_stream_unchanged(kind):
    small = {**SMALL, "kind": kind}
    model, plain = (models.build(model_spec(**small, zero_branches=zero), 29, 12) for zero in (True, False))
    zeros = [name for name, parameter in model.named_parameters() if not parameter.any() and parameter.dim() >= 2]
    assert zeros
    assert all(name.endswith(("attention.output.weight", "feed_forward.down.weight")) for name in zeros)
    for name, parameter in plain.named_parameters():
        assert name in zeros or torch.equal(parameter, model.get_parameter(name))
    if kind == "decoder":
        x = torch.randn(2, 5, SMALL["width"])
        assert torch.equal(model.blocks[0](x), x)


def test_a_relu_after_its_only_matrix_does_not_begin_at_zero():
    model = models.build(model_spec(**SMALL, activation="relu-single-layer", zero_branches=True), 29, 12)
    assert model.blocks[0].feed_forward.linear.weight.any()


def test_branches_cannot_begin_at_zero_without_a_residual():
    with refused(SpecError, "model.connection='no-residual'", "pre-norm"):
        glasshouse.runs.spec_of("demo-lm", "model.zero_branches=true", "model.connection=no-residual")
