"""Attention maps: the numbers survive packing, the pictures are true PNGs, the habits are named rightly."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from glasshouse.pages import attention_heatmap
from glasshouse.pages.report_content import AttentionMap
from tests.refusals import refused

from . import example


def unpacked(attention: AttentionMap) -> dict:
    packed = attention_heatmap.pack(attention)
    return packed | {"numbers": np.frombuffer(base64.b64decode(str(packed["thousandths"])), dtype="<u2")}


def test_packed_weights_are_exact_to_three_decimals() -> None:
    attention = example.attention()
    packed = unpacked(attention)
    assert packed["causal"] is True
    rows, columns = np.tril_indices(len(attention.tokens))
    expected = attention.weights[:, :, rows, columns]
    assert np.abs(packed["numbers"].reshape(expected.shape) / 1000 - expected).max() <= 0.0005 + 1e-9


def test_weights_that_look_ahead_are_all_packed() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 1, 3))
    packed = unpacked(AttentionMap(("a", "b", "c"), weights))
    assert packed["causal"] is False
    assert np.abs(packed["numbers"].reshape(weights.shape) / 1000 - weights).max() <= 0.0005 + 1e-9


def test_pictures_have_one_pixel_per_weight() -> None:
    address = attention_heatmap.picture(np.array([[0.0, 1.0, 0.25]]), attention_heatmap.LIGHT)
    image = Image.open(io.BytesIO(base64.b64decode(address.split(",")[1]))).convert("RGB")
    assert image.size == (3, 1)
    assert [image.getpixel((0, 0)), image.getpixel((1, 0))] == [(0xF6, 0xF9, 0xF7), (0x04, 0x2A, 0x1E)]


def test_habits() -> None:
    length = 12
    causal = np.tril(np.ones((length, length)))
    assert "the token itself" in attention_heatmap.habit(np.eye(length))
    assert "the previous token" in attention_heatmap.habit(np.eye(length, k=-1))
    assert "the first token" in attention_heatmap.habit(np.eye(1, length) * np.ones((length, 1)))
    assert attention_heatmap.habit(causal / causal.sum(axis=1, keepdims=True)) == "spread over about 7 tokens"
    assert attention_heatmap.habit(np.ones((1, 1))) == "too few tokens to tell"


def test_weights_that_are_not_finite_count_as_zero() -> None:
    assert attention_heatmap.known(np.array([np.nan, np.inf, 0.5, 1.00001])).tolist() == [0.0, 0.0, 0.5, 1.0]


@pytest.mark.parametrize("shape", [(2, 3, 3), (1, 1, 3, 4), (1, 1, 2, 2), (0, 1, 3, 3)])
def test_weights_must_fit_their_tokens(shape: tuple[int, ...]) -> None:
    with refused("shapes-differ"):
        AttentionMap(("a", "b", "c"), np.zeros(shape))
