"""The recurrent model: generation with a cache, and both directions."""

import pytest
import torch

from glasshouse.specs import catalogue
from tests.generation.small_models import continue_greedily
from tests.models.small_models import CONTEXT, build, changed_at, tokens


@pytest.mark.parametrize("cell", catalogue.names("cell"))
@pytest.mark.parametrize("attention", ["none", "additive"])
def test_every_cell_continues_from_its_cache(cell, attention):
    model = build(kind="recurrent", cell=cell, attention=attention, position="none")
    prompts = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10]]
    steps = 20  # beyond the context, so that every window restarts
    cached, uncached = (continue_greedily(model, prompts, steps, CONTEXT, cached) for cached in (True, False))
    assert cached == uncached


@pytest.mark.parametrize("cell", catalogue.names("cell"))
def test_a_bidirectional_model_sees_both_sides(cell):
    model = build(kind="recurrent", cell=cell, bidirectional=True, head={"kind": "masked-token"})
    x = tokens(1, 9)
    before = model(x)
    assert not torch.equal(model(changed_at(x, 8))[0, 0], before[0, 0])
    assert before.shape == (1, 9, 29)
