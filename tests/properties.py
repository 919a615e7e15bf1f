"""How many random examples a property is tried with."""

from hypothesis import settings

OFTEN = 100  # the examples of `make test-slow` for tests that say nothing


def examples(count: int) -> settings:
    """So many in `make test-slow`, and in `make test` fewer by the same factor as everywhere."""
    return settings(max_examples=max(1, count * settings.default.max_examples // OFTEN))
