"""Attention maps as small pictures and packed numbers, and a head's habit in words. Knows nothing of the page's layout.

Axes: L layers, H heads, Q queries, K keys.
"""

import base64
import struct
import zlib
from dataclasses import dataclass
from functools import cache
from html import escape

import numpy as np

from glasshouse import formatting
from glasshouse.pages.report_content import AttentionMap

# From paper to ink in one hue: lightness alone carries the weight, so it reads the same in any kind of colour vision.
LIGHT = ("#f6f9f7", "#d3e9dd", "#86c6a6", "#2f8f68", "#0d553d", "#042a1e")
DARK = ("#151d19", "#183a2d", "#1f6a4c", "#3dab7d", "#a2e4c5", "#f2fdf7")
# Sixty-four shades are more than the eye tells apart, and compress well.
SHADES = 64
MOST_LABEL_CHARACTERS = 12


@dataclass(frozen=True)
class HeadPicture:
    layer: int
    head: int
    light: str  # data: addresses of the picture, for light and for dark pages
    dark: str
    habit: str


def heads(attention: AttentionMap) -> list[HeadPicture]:
    """Every head in order of layer, then head, both counted from one."""
    weights_LHQK = known(attention.weights)
    tell = habit if attention.sources is None else cross_habit
    return [
        HeadPicture(layer + 1, head + 1, picture(weights_QK, LIGHT), picture(weights_QK, DARK), tell(weights_QK))
        for layer, weights_HQK in enumerate(weights_LHQK)
        for head, weights_QK in enumerate(weights_HQK)
    ]


def known(weights: np.ndarray) -> np.ndarray:
    """Weights between zero and one; what is not finite counts as zero."""
    return np.clip(np.nan_to_num(np.asarray(weights, dtype=float), nan=0.0, posinf=0.0, neginf=0.0), 0.0, 1.0)


def pack(attention: AttentionMap) -> dict[str, object]:
    """Weights in thousandths, two bytes each (little-endian), in base64: exact to the three decimals a reader sees.

    In order of layer, head, query, key. Where no query looks ahead, only the keys up to it are there: half the size.
    """
    thousandths = np.round(known(attention.weights) * 1000).astype("<u2")
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
    """Which shade shows a weight. The square root spreads the small weights, among which most of the pattern lies."""
    return np.round(np.sqrt(weights) * (SHADES - 1)).astype(np.uint8)


def picture(weights_QK: np.ndarray, stops: tuple[str, ...]) -> str:
    """A PNG of one pixel per weight, as a data: address."""
    rows, columns = weights_QK.shape
    # Each row of a PNG begins with its filter; zero means none.
    filtered = np.zeros((rows, columns + 1), dtype=np.uint8)
    filtered[:, 1:] = shade(weights_QK)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", _palette(stops)),
        (b"IDAT", zlib.compress(filtered.tobytes(), 9)),
        (b"IEND", b""),
    )
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def habit(weights_QK: np.ndarray) -> str:
    """What the head mostly does, by mean weight over the queries that have a choice."""
    # The first query of a causal model can only see itself, and the second has its previous token as its first.
    rows = np.arange(2, len(weights_QK))
    if not len(rows):
        return "too few tokens to tell"
    places = {
        "the token itself": weights_QK[rows, rows].mean(),
        "the previous token": weights_QK[rows, rows - 1].mean(),
        "the first token": weights_QK[rows, 0].mean(),
    }
    return _favourite(places) or _spread(weights_QK[rows])


def cross_habit(weights_QK: np.ndarray) -> str:
    """What a head mostly does that looks at another sentence, by mean weight over all queries."""
    queries, keys = weights_QK.shape
    if queries < 3 or keys < 3:
        return "too few tokens to tell"
    places = {
        "the source's token at the same place": np.trace(weights_QK) / queries,
        "the source's token one place further on": np.trace(weights_QK, 1) / queries,
        "the source's token one place back": np.trace(weights_QK, -1) / queries,
        "the source's first token": weights_QK[:, 0].mean(),
        "the source's last token": weights_QK[:, -1].mean(),
    }
    return _favourite(places) or _spread(weights_QK)


def _favourite(places: dict[str, float]) -> str:
    favourite, weight = max(places.items(), key=lambda place: place[1])
    return f"mostly {favourite} (mean weight {weight:.2f})" if weight >= 0.4 else ""


def _spread(weights_QK: np.ndarray) -> str:
    entropy = -(weights_QK * np.log(np.maximum(weights_QK, 1e-12))).sum(axis=1).mean()
    tokens = f"{np.exp(entropy):.0f}"
    return f"spread over about {tokens} token{'' if tokens == '1' else 's'}"


def enlarged(attention: AttentionMap) -> str:
    """The frame of the large map as SVG, with a token for every row and column and the first head's picture in it."""
    down, across = ([label(token) for token in tokens] for tokens in (attention.tokens, attention.keys))
    cell = min(44.0, max(9.0, 560 / max(len(down), len(across))))
    font = min(11.5, cell * 0.92)
    left, top = (max(map(len, labels)) * font * 0.62 + 10 for labels in (down, across))
    wide, high = cell * len(across), cell * len(down)
    width, height = wide + left + 2, high + top + 2
    area = f'x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}"'
    first = known(attention.weights)[0, 0]
    images = "".join(
        f'<image class="{name}" href="{picture(first, stops)}" {area} preserveAspectRatio="none"/>'
        for name, stops in (("light-only", LIGHT), ("dark-only", DARK))
    )
    rows = columns = ""
    for index, name in enumerate(down):
        place = top + (index + 0.5) * cell + font * 0.35
        rows += f'<text class="query" x="{left - 6:.1f}" y="{place:.1f}" text-anchor="end">{escape(name)}</text>'
    for index, name in enumerate(across):
        turned = f"translate({left + (index + 0.5) * cell + font * 0.35:.1f} {top - 6:.1f}) rotate(-90)"
        columns += f'<text class="key" transform="{turned}">{escape(name)}</text>'
    return (
        f'<svg class="map" viewBox="0 0 {width:.1f} {height:.1f}" font-size="{font:.1f}" tabindex="0" role="img" '
        f'aria-label="Attention of one head; rows look, columns are looked at" data-left="{left:.1f}" data-top="{top:.1f}" '
        f'data-cell="{cell:.3f}" style="max-width:{width:.0f}px;min-width:{min(width, left + len(across) * 6):.0f}px">'
        f'{images}<rect class="edge" fill="none" {area}/>{rows}{columns}</svg>'
    )


def label(token: str) -> str:
    """A token short enough for an axis."""
    shown = formatting.visible(token)
    return shown if len(shown) <= MOST_LABEL_CHARACTERS else shown[: MOST_LABEL_CHARACTERS - 1] + "…"


@cache
def _palette(stops: tuple[str, ...]) -> bytes:
    colours = np.array([[int(stop[place : place + 2], 16) for place in (1, 3, 5)] for stop in stops], dtype=float)
    places = np.linspace(0, len(stops) - 1, SHADES)
    channels = [np.interp(places, np.arange(len(stops)), colours[:, channel]) for channel in range(3)]
    return np.round(np.stack(channels, axis=1)).astype(np.uint8).tobytes()
