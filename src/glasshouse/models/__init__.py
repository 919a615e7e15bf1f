"""Whole models, built from parts. A model knows nothing of tasks or training."""

from glasshouse.models.build import assemble, build, check
from glasshouse.models.decoder import Decoder

__all__ = ["Decoder", "assemble", "build", "check"]
