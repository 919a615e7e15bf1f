"""Random texts under a constraint, and whether a constraint accepts a text."""

import random

from glasshouse.generation.token_constraint import TokenConstraint
from glasshouse.specs.errors import GlasshouseError


def random_text(
    constraint: TokenConstraint, tokenizer, generator: random.Random, free_tokens: int = 12, tokens: int = 200
) -> str | None:
    """A complete text: after some free tokens it ends where it can. None if it has no end after so many `tokens`."""
    state, text = constraint.start(), b""
    marks = {tokenizer.token_bytes(token): token for token in range(tokenizer.vocabulary)}
    closing = [marks[mark] for mark in (b'"', b"}", b"]") if mark in marks]
    for step in range(tokens):
        allowed = state.allowed.nonzero()[:, 0].tolist()
        token = generator.choice(allowed)
        if step >= free_tokens:
            ends = [token for token in allowed if token in constraint.end_tokens]
            closers = [token for token in closing if state.allowed[token]] if generator.random() < 0.7 else []
            token = [*ends, *closers, token][0]
        state.advance(token)
        if token in constraint.end_tokens:
            assert state.finished
            return text.decode()
        text += tokenizer.token_bytes(token)
    return None


def accepts(tokenizer, text: str, **form) -> bool:
    """Whether a constraint on byte-level tokens accepts a text. It is written byte by byte."""
    constraint = TokenConstraint(tokenizer, **form)
    tokens = {tokenizer.token_bytes(token): token for token in range(256 + 1) if token != tokenizer.end_of_text}
    state = constraint.start()
    try:
        for byte in text.encode():
            state.advance(tokens[bytes([byte])])
    except GlasshouseError:
        return False
    return bool(state.allowed[tokenizer.end_of_text])
