"""Random texts under a constraint: tokens drawn from those that are allowed, until the text is complete."""

import random


def random_text(constraint, tokenizer, generator: random.Random, free_tokens: int = 12) -> str:
    """A complete text. After some free tokens, each next token shortens what is left."""
    state, text = constraint.start(), b""
    for step in range(10_000):
        allowed = constraint.allowed(state).nonzero()[:, 0].tolist()
        assert allowed or constraint.finished(state), f"a dead end after {text!r}"
        if constraint.finished(state) and not allowed:
            return text.decode()
        token = generator.choice(allowed)
        if step >= free_tokens:
            ends = [token for token in allowed if token in constraint.end_tokens]
            left = {token: constraint._automaton.shortest(constraint.advance(state, token)) for token in allowed if not ends}
            token = (ends or [min(left, key=left.__getitem__)])[0]
        if token in constraint.end_tokens:
            assert constraint.complete(state)
            assert constraint.finished(constraint.advance(state, token))
            return text.decode()
        text += tokenizer.token_bytes(token)
        state = constraint.advance(state, token)
    raise AssertionError(f"no end after {text[:200]!r}")
