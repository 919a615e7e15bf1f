"""Attention maps: packing keeps three decimals, images are valid PNGs, and patterns are described correctly."""

import base64
import dataclasses
import io
from pathlib import Path

import numpy as np
from PIL import Image

from glasshouse.pages import attention_heatmap, figures
from glasshouse.pages.colours import RAMPS
from glasshouse.results.report import AttentionMap

from . import example_report as example


def unpack(attention: AttentionMap) -> dict:
    """The packed form of a map, with its weights decoded as `numbers`."""
    packed = attention_heatmap.pack(attention)
    return packed | {"numbers": np.frombuffer(base64.b64decode(str(packed["thousandths"])), dtype="<u2")}


def test_packed_weights_are_exact_to_three_decimals() -> None:
    attention = example.attention()
    packed = unpack(attention)
    assert packed["causal"] is True
    rows, columns = np.tril_indices(len(attention.tokens))
    expected = attention.weights[:, :, rows, columns]
    assert np.abs(packed["numbers"].reshape(expected.shape) / 1000 - expected).max() <= 0.0005 + 1e-9


def test_weights_without_a_causal_mask_are_all_packed() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 1, 3))
    packed = unpack(AttentionMap(("a", "b", "c"), weights))
    assert packed["causal"] is False
    assert np.abs(packed["numbers"].reshape(weights.shape) / 1000 - weights).max() <= 0.0005 + 1e-9


def test_an_image_has_one_pixel_per_weight() -> None:
    url = attention_heatmap.image_url(np.array([[0.0, 1.0, 0.25]]), RAMPS["light"])
    image = Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGB")
    assert image.size == (3, 1)
    assert [image.getpixel((0, 0)), image.getpixel((1, 0))] == [(0xF6, 0xF9, 0xF7), (0x04, 0x2A, 0x1E)]


def test_patterns_are_described() -> None:
    length = 12
    causal = np.tril(np.ones((length, length)))
    assert "the token itself" in attention_heatmap.self_attention_pattern(np.eye(length))
    assert "the previous token" in attention_heatmap.self_attention_pattern(np.eye(length, k=-1))
    assert "the first token" in attention_heatmap.self_attention_pattern(np.eye(1, length) * np.ones((length, 1)))
    assert (
        attention_heatmap.self_attention_pattern(causal / causal.sum(axis=1, keepdims=True)) == "spread over about 7 tokens"
    )
    assert attention_heatmap.self_attention_pattern(np.ones((1, 1))) == "too few tokens to tell"


def test_weights_that_are_not_finite_count_as_zero() -> None:
    assert attention_heatmap.clean_weights(np.array([np.nan, np.inf, 0.5, 1.00001])).tolist() == [0.0, 0.0, 0.5, 1.0]


def test_a_map_of_two_sentences_is_packed_and_drawn(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 1, 3))
    attention = AttentionMap(("a", "b", "c"), weights, ("w", "x", "y", "$z"))
    packed = attention_heatmap.pack(attention)
    assert (packed["queries"], packed["keys"], packed["causal"]) == (3, 4, False)
    numbers = np.frombuffer(base64.b64decode(str(packed["thousandths"])), "<u2").reshape(weights.shape)
    assert np.abs(numbers / 1000 - weights).max() <= 0.0005 + 1e-9
    drawing = attention_heatmap.large_map(attention)
    assert [drawing.count(f'class="{side}"') for side in ("query", "key")] == [3, 4]
    figures.attention(attention, tmp_path / "cross.png")
    figures.attention(dataclasses.replace(attention, weights=weights[:1]), tmp_path / "one.svg")
    assert "same position" in attention_heatmap.cross_attention_pattern(np.eye(6, 7))
    assert "one position later" in attention_heatmap.cross_attention_pattern(np.eye(6, 7, k=1))
    assert "last source token" in attention_heatmap.cross_attention_pattern(np.repeat(np.eye(1, 7, k=6), 6, axis=0))
    assert attention_heatmap.cross_attention_pattern(np.full((6, 7), 1 / 7)) == "spread over about 7 tokens"
