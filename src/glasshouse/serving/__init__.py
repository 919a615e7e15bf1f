"""A server for runs that speaks the OpenAI API: requests share batches, with the results of being alone.

This module imports none of the packages of a server, so that the rest of Glasshouse works without.
"""

from importlib.util import find_spec

from glasshouse.specs.errors import MissingExtra

PACKAGES = ("fastapi", "uvicorn", "prometheus_client", "llguidance")


def check_installed(purpose: str) -> None:
    """Refuse to go on without the packages of a server."""
    for package in PACKAGES:
        if find_spec(package) is None:
            names = [name.replace("_", "-") for name in (package, *PACKAGES)]
            raise MissingExtra(names[0], purpose, " ".join(names[1:]))
