"""Sample tokens for an HTML page: each gets a shade for its probability and its text with visible whitespace."""

import bisect
import math
from dataclasses import dataclass

from glasshouse import formatting
from glasshouse.results.report import Sample, Token

# Boundaries between shades; they are closer together at the small probabilities that most sampled tokens have.
EDGES = (0.01, 0.05, 0.2, 0.5, 0.8)
SHADE_NAMES = ("under 1 %", "1 to 5 %", "5 to 20 %", "20 to 50 %", "50 to 80 %", "over 80 %")


@dataclass(frozen=True)
class ShadedToken:
    """A token with its shade; None means a prompt token or an unknown probability."""

    shade: int | None
    pieces: tuple[tuple[bool, str], ...]  # (whether the text is a symbol for an invisible character, text)
    title: str


@dataclass(frozen=True)
class ShadedSample:
    """A sample with its caption; `details` has the tooltip of each token, for samples.js."""

    tokens: tuple[ShadedToken, ...]
    caption: str
    details: list[dict[str, object]]


def shade_sample(sample: Sample) -> ShadedSample:
    """Shade the tokens of a sample. A prompt that is not among the tokens is put before them."""
    tokens = sample.tokens
    if sample.prompt and not any(token.probability is None for token in tokens):
        tokens = (Token(sample.prompt, None), *tokens)
    sampled = [_probability(token) for token in tokens if token.probability is not None]
    caption = f"{len(sampled):,} sampled token{'' if len(sampled) == 1 else 's'}"
    known = [probability for probability in sampled if probability is not None]
    if known:
        # The geometric mean is the probability per token that gives the same probability of the whole text.
        mean = math.exp(sum(math.log(max(probability, 1e-12)) for probability in known) / len(known))
        caption += f"; the geometric mean of their probabilities is {formatting.probability(mean)}"
    return ShadedSample(tuple(map(_shaded_token, tokens)), caption, list(map(_detail, tokens)))


def shade(probability: float) -> int:
    """The index of the shade for a probability; larger means more likely."""
    return bisect.bisect_right(EDGES, probability)


def _shaded_token(token: Token) -> ShadedToken:
    probability = _probability(token)
    if token.probability is None:
        return ShadedToken(None, _pieces(token.text), "prompt")
    if probability is None:
        return ShadedToken(None, _pieces(token.text), "probability unknown")
    return ShadedToken(shade(probability), _pieces(token.text), f"probability {formatting.probability(probability)}")


def _probability(token: Token) -> float | None:
    """The token's probability, clipped to [0, 1]; None if it is missing or not finite."""
    if token.probability is None or not math.isfinite(token.probability):
        return None
    return min(1.0, max(0.0, token.probability))


def _detail(token: Token) -> dict[str, object]:
    """The content of a token's tooltip. samples.js reads these keys."""
    probability = _probability(token)
    texts = [alternative for alternative, _ in token.alternatives]
    return {
        "text": formatting.visible(token.text),
        "given": token.probability is None,
        "probability": None if probability is None else formatting.probability(probability),
        "rank": texts.index(token.text) + 1 if token.text in texts else None,
        "alternatives": [
            [formatting.visible(alternative), formatting.probability(share), round(min(1.0, max(0.0, share)), 4)]
            for alternative, share in token.alternatives
            if math.isfinite(share)
        ],
    }


def _pieces(token: str) -> tuple[tuple[bool, str], ...]:
    """The token as pieces of plain text and symbols. Spaces stay spaces; a line break gets a symbol and breaks the line."""
    pieces: list[tuple[bool, str]] = []
    for character in token:
        symbol = formatting.visible(character)
        is_plain = character == " " or symbol == character
        if is_plain and pieces and not pieces[-1][0]:
            pieces[-1] = (False, pieces[-1][1] + character)
        else:
            pieces.append((not is_plain, character if is_plain else symbol))
        if character == "\n":
            pieces.append((False, "\n"))
    return tuple(pieces) or ((True, formatting.visible("")),)
