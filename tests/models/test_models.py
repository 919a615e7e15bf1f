"""Whole models and their heads: what each kind gives, refuses, and shares with the others."""

from typing import ClassVar

import pytest
import torch
from torch import nn

from glasshouse import models, parts
from glasshouse.generation.rollout import Rollout
from glasshouse.generation.sampling import Sampling
from glasshouse.models.heads.pooling import pool
from glasshouse.parts.capabilities import Unsupported
from glasshouse.specs import catalogue
from glasshouse.specs.spec_files import model_spec
from tests.refusals import refused

SMALL = {"width": 16, "layers": 2, "heads": 2}


def build(**settings):
    return models.build(model_spec(**{**SMALL, **settings}), vocabulary=29, context=12).eval()


def tokens(*shape):
    return torch.randint(0, 29, shape, generator=torch.Generator().manual_seed(0))


def test_an_encoder_with_a_causal_mask_is_a_decoder():
    decoder = build(kind="decoder")
    encoder = build(kind="encoder", causal=True, head={"kind": "next-token"})
    encoder.load_state_dict(decoder.state_dict())
    assert torch.equal(encoder(tokens(2, 9)), decoder(tokens(2, 9)))


@pytest.mark.parametrize("norm", ["none", "batch", "layer", "rms"])
@pytest.mark.parametrize("pooling", ["mean", "first", "last", "max"])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "recurrent"])
def test_a_classifier_gives_one_answer_for_a_sequence(kind, pooling, norm):
    head = {"kind": "classifier", "classes": 3, "pooling": pooling, "hidden": 7, "norm": norm}
    model = build(kind=kind, head=head)
    x, lengths = tokens(4, 9), torch.tensor([9, 5, 1, 3])
    together = model(x, lengths)
    assert together.shape == (4, 3)
    for row, length in enumerate(lengths):
        torch.testing.assert_close(model(x[row : row + 1, :length])[0], together[row], rtol=1e-4, atol=1e-5)


def test_pooling():
    x, lengths = torch.randn(3, 4, 5), torch.tensor([4, 2, 0])
    torch.testing.assert_close(pool(x, "mean", lengths)[1], x[1, :2].mean(0))
    torch.testing.assert_close(pool(x, "max", lengths)[1], x[1, :2].amax(0))
    assert torch.equal(pool(x, "first", lengths)[1], x[1, 0])
    assert torch.equal(pool(x, "last", lengths)[1], x[1, 1])
    assert torch.equal(pool(x, "last")[1], x[1, 3])
    for kind in ("mean", "max", "first", "last"):
        assert torch.equal(pool(x, kind, lengths)[2], torch.zeros(5)), kind


@pytest.mark.parametrize("cell", catalogue.names("cell"))
@pytest.mark.parametrize("attention", ["none", "additive"])
def test_every_cell_continues_from_its_cache(cell, attention):
    model = build(kind="recurrent", cell=cell, attention=attention, position="none")
    prompts = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10]]
    cached, plain = (Rollout(model, prompts, Sampling(temperature=0), 12, cached=way) for way in (True, False))
    for _ in range(20):  # past the context, where the window begins anew
        assert [c.token for c in cached.advance()] == [c.token for c in plain.advance()]


@pytest.mark.parametrize("attention", ["dot-product", "grouped-query", "additive", "performer"])
def test_an_encoder_decoder_continues_from_its_cache(attention):
    model = build(kind="encoder-decoder", attention=attention, position="sinusoidal")
    given = model.given(tokens(3, 8), torch.tensor([8, 3, 5]))
    prompts = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10]]
    cached, plain = (Rollout(given, prompts, Sampling(temperature=0), 12, cached=way) for way in (True, False))
    for _ in range(20):
        assert [c.token for c in cached.advance()] == [c.token for c in plain.advance()]


@pytest.mark.parametrize("cell", catalogue.names("cell"))
def test_a_bidirectional_model_sees_both_sides(cell):
    model = build(kind="recurrent", cell=cell, bidirectional=True, head={"kind": "masked-token"})
    x = tokens(1, 9)
    before = model(x)
    changed = x.clone()
    changed[0, 8] = (changed[0, 8] + 1) % 29
    assert not torch.equal(model(changed)[0, 0], before[0, 0])
    assert before.shape == (1, 9, 29)


def test_segments_are_added_and_default_to_the_first():
    model = build(kind="encoder", segments=2)
    x = tokens(2, 6)
    zeros = torch.zeros_like(x)
    assert torch.equal(model(x), model(x, segments=zeros))
    assert not torch.allclose(model(x), model(x, segments=zeros + 1))


def test_a_dual_encoder_may_have_sides_of_different_sizes():
    sizes = {"image_size": 12, "patch_size": 4, "image_channels": 1, "image_width": 8}
    more = {"image_layers": 1, "image_heads": 1, "image_norm": True, "head": {"pooling": "mean", "width": 6}}
    model = build(kind="dual-encoder", position="learned", **sizes, **more)
    assert model(tokens(3, 7), torch.randn(5, 1, 12, 12)).shape == (3, 5)
    assert len(model.image.blocks) == 1
    assert model.image.embedding.count == 9


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


@pytest.mark.parametrize(
    ("code", "value", "settings"),
    [
        ("bidirectional-next-token", "model.bidirectional", {"kind": "recurrent", "bidirectional": True}),
        ("head-does-not-fit", "model.kind='encoder'", {"kind": "encoder", "head": {"kind": "next-token"}}),
        ("too-few-classes", "model.head.classes=0", {"kind": "encoder", "head": {"kind": "classifier"}}),
        (
            "norm-without-hidden",
            "model.head.norm='batch'",
            {"kind": "encoder", "head": {"kind": "classifier", "classes": 2, "norm": "batch"}},
        ),
        ("head-does-not-fit", "contrastive", {"kind": "dual-encoder", "head": {"kind": "classifier", "classes": 2}}),
        ("patch-divides-image", "model.image_size=10", {"kind": "dual-encoder", "image_size": 10, "patch_size": 4}),
        ("lacks-capability", "'linformer'", {"kind": "decoder", "attention": "linformer"}),
        ("lacks-capability", "model.kind='recurrent'", {"kind": "decoder", "attention": "none"}),
        ("lacks-capability", "'alibi'", {"kind": "encoder", "attention": "performer", "position": "alibi"}),
        ("lacks-capability", "'local-window'", {"kind": "encoder-decoder", "attention": "local-window"}),
        ("context-exceeds-width", "data.context=12", {"kind": "decoder", "position": "one-hot", "width": 8}),
        ("groups-divide-heads", "model.heads=2", {"kind": "decoder", "attention": "grouped-query", "key_value_heads": 3}),
        ("undeclared-setting", "model.attention=grouped-query", {"kind": "decoder", "key_value_heads": 1}),
        ("undeclared-setting", "model.window=8", {"kind": "decoder", "window": 8}),
        ("undeclared-setting", "model.attention=linformer or model.attention=performer", {"kind": "decoder", "rank": 8}),
        ("undeclared-setting", "model.cell='gru'", {"kind": "decoder", "cell": "gru"}),
        ("undeclared-setting", "model.causal=True", {"kind": "decoder", "causal": True}),
        ("undeclared-setting", "model.encoder_layers=3", {"kind": "decoder", "encoder_layers": 3}),
        ("undeclared-setting", "model.segments=2", {"kind": "decoder", "segments": 2}),
        ("undeclared-setting", "model.head.classes=3", {"kind": "decoder", "head": {"classes": 3}}),
        ("undeclared-setting", "model.image_size=64", {"kind": "encoder", "image_size": 64}),
        ("undeclared-setting", "model.rotary_base=500000.0", {"kind": "encoder", "position": "alibi", "rotary_base": 5e5}),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(code, value, settings):
    with refused(code, value):
        models.check(model_spec(**{**SMALL, **settings}), context=12)


def test_too_long_a_sequence_names_the_part_and_the_remedy():
    model = build(kind="encoder", attention="linformer", position="sinusoidal")
    with refused("too-long", "12", "13"):
        model(tokens(1, 13))
    assert build(kind="encoder", attention="linformer", position="sinusoidal")(tokens(1, 5)).shape == (1, 5, 29)


def test_parts_build_an_encoder_decoder_by_hand():
    width, heads = 16, 2

    def connection():
        return parts.PostNorm(parts.LayerNorm(width))

    block = parts.CrossBlock(
        attention=parts.MultiHeadAttention(width, heads),
        cross_attention=parts.CrossAttention(parts.AdditiveAttention(width, heads)),
        feed_forward=parts.ReLU(width, 32),
        attention_connection=connection(),
        cross_connection=connection(),
        feed_forward_connection=connection(),
    )
    encoder_block = parts.Block(parts.MultiHeadAttention(width, heads), parts.ReLU(width, 32), connection(), connection())
    model = models.EncoderDecoder(
        embedding=nn.Embedding(29, width),
        encoder=models.TransformerStack(None, [encoder_block], position=parts.Sinusoidal(width)),
        decoder=models.TransformerStack(None, [block], position=parts.Sinusoidal(width)),
        head=models.NextTokenHead(width, 29),
    )
    assert model(tokens(2, 5), tokens(2, 7)).shape == (2, 7, 29)


class Unturned(parts.MultiHeadAttention):
    """A part of one's own that a rotation does not go with; none in the catalogue is like it."""

    unsupported: ClassVar[Unsupported] = {"rotation": "its queries are not vectors that could be turned"}


def test_an_attention_that_cannot_turn_its_queries_is_no_part_of_a_model_with_rotary_positions(monkeypatch):
    find = catalogue.find
    monkeypatch.setattr(catalogue, "find", lambda *words: Unturned if words[0] == "attention" else find(*words))
    models.check(model_spec(**{**SMALL, "kind": "decoder", "position": "alibi"}), context=12)
    with refused("lacks-capability", "model.position='rotary'"):
        models.check(model_spec(**{**SMALL, "kind": "decoder", "position": "rotary"}), context=12)


def test_parts_in_the_wrong_place_are_refused():
    for build, code in (
        (lambda: parts.MultiHeadAttention(16, 2, position=parts.Learned(8, 16)), "position-in-wrong-place"),
        (lambda: models.TransformerStack(None, [], position=parts.Alibi(2)), "position-in-wrong-place"),
        (lambda: Unturned(16, 2, position=parts.Rotary(8)), "lacks-capability"),
        (lambda: parts.CrossAttention(parts.MultiHeadAttention(16, 2, position=parts.Alibi(2))), "position-in-wrong-place"),
        (lambda: parts.CrossAttention(parts.LocalAttention(16, 2, 4)), "lacks-capability"),
        (lambda: parts.MultiHeadAttention(30, 4), "heads-divide-width"),
        (lambda: parts.MultiHeadAttention(16, 4, position=parts.Alibi(1)), "built-for-other-sizes"),
        (lambda: parts.MultiHeadAttention(16, 2, position=parts.Rotary(2)), "built-for-other-sizes"),
        (lambda: parts.Rotary(7), "odd-width"),
        (lambda: parts.GroupedQueryAttention(64, 4, key_value_heads=3), "groups-divide-heads"),
        (lambda: parts.OneHot(100, 64), "context-exceeds-width"),
        (lambda: pool(torch.zeros(1, 2, 3), "avg"), "unknown-word"),
        (lambda: models.Decoder(nn.Embedding(29, 16), [], models.NextTokenHead(32, 29)), "built-for-other-sizes"),
        (lambda: parts.LinformerAttention(16, 2, 8, 4)(torch.zeros(1, 8, 16), parts.Window(2)), "mask-per-query"),
    ):
        with refused(code):
            build()


def test_a_decoder_can_be_a_prefix_language_model():
    model, x = build(kind="decoder"), tokens(1, 8)
    mask = parts.Causal() | parts.Prefix([4])
    before = model.features(x, mask=mask)
    changed = x.clone()
    changed[0, 3] = (changed[0, 3] + 1) % 29
    after = model.features(changed, mask=mask)
    assert not torch.equal(before[0, 0], after[0, 0]), "the prefix is read from both sides"
    changed = x.clone()
    changed[0, 6] = (changed[0, 6] + 1) % 29
    assert torch.equal(before[0, :6], model.features(changed, mask=mask)[0, :6])
