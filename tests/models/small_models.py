"""Small models and random tokens for the tests of models."""

import torch

from glasshouse import models
from glasshouse.specs.spec_files import model_spec

VOCABULARY, CONTEXT = 29, 12
SMALL = {"width": 16, "layers": 2, "heads": 2}


def build(**settings):
    return models.build(model_spec(**{**SMALL, **settings}), vocabulary=VOCABULARY, context=CONTEXT).eval()


def tokens(*shape):
    return torch.randint(0, VOCABULARY, shape, generator=torch.Generator().manual_seed(0))


def changed_at(x, position):
    """A copy of the tokens (1, T) with another token at this position."""
    changed = x.clone()
    changed[0, position] = (changed[0, position] + 1) % VOCABULARY
    return changed
