"""Fixtures of the public interface: the made-up claim of the tests of claims."""

from tests.claims.conftest import made_up

__all__ = ["made_up"]
