"""Attention maps as images and packed numbers, and a short description of each head's pattern. Knows nothing of the page.

Axes: L layers, H heads, Q queries, K keys.
"""

import base64
from dataclasses import dataclass
from functools import cache
from html import escape

import numpy as np

from glasshouse import formatting
from glasshouse.pages import template
from glasshouse.pages.colours import RAMPS
from glasshouse.results.report import AttentionMap

# Enough shades to look continuous, and few enough that the PNG compresses well.
SHADES = 64
MOST_LABEL_CHARACTERS = 12


@dataclass(frozen=True)
class HeadImage:
    """One head: its image as data: URLs for light and dark pages, and a description of its attention pattern."""

    layer: int
    head: int
    light: str
    dark: str
    pattern: str


def heads(attention: AttentionMap, first_layer: int = 1, first_head: int = 1) -> list[HeadImage]:
    """Every head, ordered by layer, then by head."""
    weights_LHQK = clean_weights(attention.weights)
    pattern = self_attention_pattern if attention.sources is None else cross_attention_pattern
    return [
        HeadImage(
            layer + first_layer,
            head + first_head,
            image_url(weights_QK, RAMPS["light"]),
            image_url(weights_QK, RAMPS["dark"]),
            pattern(weights_QK) if weights_QK.any() else "pruned",
        )
        for layer, weights_HQK in enumerate(weights_LHQK)
        for head, weights_QK in enumerate(weights_HQK)
    ]


def clean_weights(weights: np.ndarray) -> np.ndarray:
    """Clip weights to [0, 1]; a weight that is not finite becomes zero."""
    return np.clip(np.nan_to_num(np.asarray(weights, dtype=float), nan=0.0, posinf=0.0, neginf=0.0), 0.0, 1.0)


def pack(attention: AttentionMap) -> dict[str, object]:
    """Pack the weights for attention.js: integers in thousandths, two bytes each (little-endian), in base64.

    The order is layer, head, query, key. In a causal map each query has only the keys up to itself, which halves the size.
    """
    thousandths = np.round(clean_weights(attention.weights) * 1000).astype("<u2")
    queries, keys = thousandths.shape[2:]
    causal = attention.sources is None and not np.triu(thousandths, k=1).any()
    kept = thousandths[..., *np.tril_indices(queries)] if causal else thousandths
    return {
        "heads": thousandths.shape[1],
        "queries": queries,
        "keys": keys,
        "causal": causal,
        "thousandths": base64.b64encode(kept.tobytes()).decode("ascii"),
    }


def shade(weights: np.ndarray) -> np.ndarray:
    """The shade of each weight. The square root makes small weights visible, which form most of the pattern."""
    return np.round(np.sqrt(weights) * (SHADES - 1)).astype(np.uint8)


def image_url(weights_QK: np.ndarray, stops: tuple[str, ...]) -> str:
    """A PNG with one pixel per weight, as a data: URL."""
    from PIL import Image

    image = Image.fromarray(shade(weights_QK))
    image.putpalette(_palette(stops))
    return template.image_url(image)


def self_attention_pattern(weights_QK: np.ndarray) -> str:
    """Describe what a self-attention head mostly attends to, by the mean weight over queries."""
    # The first two queries are left out: under a causal mask the first sees only itself, and the previous token of the
    # second is also the first token.
    rows = np.arange(2, len(weights_QK))
    if not len(rows):
        return "too few tokens to tell"
    mean_weights = {
        "the token itself": weights_QK[rows, rows].mean(),
        "the previous token": weights_QK[rows, rows - 1].mean(),
        "the first token": weights_QK[rows, 0].mean(),
    }
    return _pattern(mean_weights, weights_QK[rows])


def cross_attention_pattern(weights_QK: np.ndarray) -> str:
    """Describe what a cross-attention head mostly attends to, by the mean weight over all queries."""
    queries, keys = weights_QK.shape
    if queries < 3 or keys < 3:
        return "too few tokens to tell"
    mean_weights = {
        "the source token at the same position": np.trace(weights_QK) / queries,
        "the source token one position later": np.trace(weights_QK, 1) / queries,
        "the source token one position earlier": np.trace(weights_QK, -1) / queries,
        "the first source token": weights_QK[:, 0].mean(),
        "the last source token": weights_QK[:, -1].mean(),
    }
    return _pattern(mean_weights, weights_QK)


def _pattern(mean_weights: dict[str, float], weights_QK: np.ndarray) -> str:
    """The target with the largest mean weight; if that is small, the effective number of attended tokens."""
    target, weight = max(mean_weights.items(), key=lambda item: item[1])
    if weight >= 0.4:
        return f"mostly {target} (mean weight {weight:.2f})"
    entropy = -(weights_QK * np.log(np.maximum(weights_QK, 1e-12))).sum(axis=1).mean()
    tokens = f"{np.exp(entropy):.0f}"
    return f"spread over about {tokens} token{'' if tokens == '1' else 's'}"


# Pixels. On a narrow screen the large map scrolls rather than having smaller labels.
READABLE_FONT = 9.5


def large_map(attention: AttentionMap) -> str:
    """SVG of the large map: a token for every row and column, and the first head's image. attention.js swaps the image."""
    queries, keys = ([label(token) for token in tokens] for tokens in (attention.tokens, attention.keys))
    cell = min(44.0, max(9.0, 560 / max(len(queries), len(keys))))
    font = min(11.5, cell * 0.92)
    left, top = (max(map(len, labels)) * font * 0.62 + 10 for labels in (queries, keys))
    map_width, map_height = cell * len(keys), cell * len(queries)
    width, height = map_width + left + 2, map_height + top + 2
    area = f'x="{left:.1f}" y="{top:.1f}" width="{map_width:.1f}" height="{map_height:.1f}"'
    first = clean_weights(attention.weights)[0, 0]
    images = "".join(
        f'<image class="{name}" href="{image_url(first, stops)}" {area} preserveAspectRatio="none"/>'
        for name, stops in (("light-only", RAMPS["light"]), ("dark-only", RAMPS["dark"]))
    )
    rows = columns = ""
    for index, name in enumerate(queries):
        y = top + (index + 0.5) * cell + font * 0.35
        rows += f'<text class="query" x="{left - 6:.1f}" y="{y:.1f}" text-anchor="end">{escape(name)}</text>'
    for index, name in enumerate(keys):
        transform = f"translate({left + (index + 0.5) * cell + font * 0.35:.1f} {top - 6:.1f}) rotate(-90)"
        columns += f'<text class="key" transform="{transform}">{escape(name)}</text>'
    return (
        f'<svg class="map" viewBox="0 0 {width:.1f} {height:.1f}" font-size="{font:.1f}" tabindex="0" role="img" '
        f'aria-label="Attention weights of one head; rows are queries, columns are keys" '
        f'data-left="{left:.1f}" data-top="{top:.1f}" data-cell="{cell:.3f}" '
        f'style="max-width:{width:.0f}px;min-width:{width * min(1.0, READABLE_FONT / font):.0f}px">'
        f'{images}<rect class="edge" fill="none" {area}/>{rows}{columns}</svg>'
    )


def label(token: str) -> str:
    """A token truncated for use as an axis label."""
    text = formatting.visible(token)
    return text if len(text) <= MOST_LABEL_CHARACTERS else text[: MOST_LABEL_CHARACTERS - 1] + "…"


@cache
def _palette(stops: tuple[str, ...]) -> bytes:
    """The red, green and blue bytes of all shades, interpolated between the colour stops."""
    colours = np.array([[int(stop[start : start + 2], 16) for start in (1, 3, 5)] for stop in stops], dtype=float)
    positions = np.linspace(0, len(stops) - 1, SHADES)
    channels = [np.interp(positions, np.arange(len(stops)), colours[:, channel]) for channel in range(3)]
    return np.round(np.stack(channels, axis=1)).astype(np.uint8).tobytes()
