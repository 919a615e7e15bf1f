"""The version, in one place: pyproject.toml, the package and every run folder read it here."""

__version__ = "0.1.0"
