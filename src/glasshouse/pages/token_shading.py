"""Sample tokens made ready for a page: how likely each was, as one of a few shades, and its text in drawable pieces."""

import bisect
import math
from dataclasses import dataclass

from glasshouse import formatting
from glasshouse.pages.report_content import Sample, Token

# Few enough to tell apart at a glance; closer together where language models spend most of their tokens.
EDGES = (0.01, 0.05, 0.2, 0.5, 0.8)
SHADE_NAMES = ("under 1 %", "1 to 5 %", "5 to 20 %", "20 to 50 %", "50 to 80 %", "over 80 %")


@dataclass(frozen=True)
class ShadedToken:
    shade: int | None  # None: given by the prompt
    pieces: tuple[tuple[bool, str], ...]  # (is a mark that stands for an invisible character, text)
    title: str


@dataclass(frozen=True)
class ShadedSample:
    tokens: tuple[ShadedToken, ...]
    caption: str
    details: list[dict[str, object]]  # what a token's tooltip says, in the order of the tokens


def shaded(sample: Sample) -> ShadedSample:
    tokens = sample.tokens
    if sample.prompt and not any(token.probability is None for token in tokens):
        tokens = (Token(sample.prompt, None), *tokens)
    chosen = [_likelihood(token) for token in tokens if token.probability is not None]
    caption = f"{len(chosen):,} token{'' if len(chosen) == 1 else 's'} written"
    certain = [likelihood for likelihood in chosen if likelihood is not None]
    if certain:
        # The geometric mean is the per-token probability that would have made the same text as likely.
        mean = math.exp(sum(math.log(max(likelihood, 1e-12)) for likelihood in certain) / len(certain))
        caption += f", each with {formatting.percentage(mean)} on average (geometric mean)"
    return ShadedSample(tuple(map(_shaded_token, tokens)), caption, list(map(_detail, tokens)))


def shade(probability: float) -> int:
    return bisect.bisect_right(EDGES, probability)


def _shaded_token(token: Token) -> ShadedToken:
    likelihood = _likelihood(token)
    if token.probability is None:
        return ShadedToken(None, _pieces(token.text), "given by the prompt")
    if likelihood is None:
        return ShadedToken(None, _pieces(token.text), "probability unknown")
    return ShadedToken(shade(likelihood), _pieces(token.text), f"probability {formatting.percentage(likelihood)}")


def _likelihood(token: Token) -> float | None:
    if token.probability is None or not math.isfinite(token.probability):
        return None
    return min(1.0, max(0.0, token.probability))


def _detail(token: Token) -> dict[str, object]:
    likelihood = _likelihood(token)
    texts = [alternative for alternative, _ in token.alternatives]
    return {
        "text": formatting.visible(token.text),
        "given": token.probability is None,
        "probability": None if likelihood is None else formatting.percentage(likelihood),
        "rank": texts.index(token.text) + 1 if token.text in texts else None,
        "alternatives": [
            [formatting.visible(alternative), formatting.percentage(share), round(min(1.0, max(0.0, share)), 4)]
            for alternative, share in token.alternatives
            if math.isfinite(share)
        ],
    }


def _pieces(token: str) -> tuple[tuple[bool, str], ...]:
    """Plain text as it reads, spaces included; a line break gets its mark and still breaks the line."""
    pieces: list[tuple[bool, str]] = []
    for character in token:
        seen = formatting.visible(character)
        is_plain = character == " " or seen == character
        if is_plain and pieces and not pieces[-1][0]:
            pieces[-1] = (False, pieces[-1][1] + character)
        else:
            pieces.append((not is_plain, character if is_plain else seen))
        if character == "\n":
            pieces.append((False, "\n"))
    return tuple(pieces) or ((True, formatting.visible("")),)
