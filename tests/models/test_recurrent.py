"""The recurrent model: generation with a cache, and both directions."""

import pytest
import torch

from glasshouse.generation.rollout import Rollout
from glasshouse.generation.sampling import Sampling
from glasshouse.specs import catalogue
from tests.models.small_models import CONTEXT, build, changed_at, tokens


@pytest.mark.parametrize("cell", catalogue.names("cell"))
@pytest.mark.parametrize("attention", ["none", "additive"])
def test_every_cell_continues_from_its_cache(cell, attention):
    model = build(kind="recurrent", cell=cell, attention=attention, position="none")
    prompts = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10]]
    cached, uncached = (Rollout(model, prompts, Sampling(temperature=0), CONTEXT, cached=cached) for cached in (True, False))
    for _ in range(20):  # beyond the context, so that every window restarts
        assert [c.token for c in cached.advance()] == [c.token for c in uncached.advance()]


@pytest.mark.parametrize("cell", catalogue.names("cell"))
def test_a_bidirectional_model_sees_both_sides(cell):
    model = build(kind="recurrent", cell=cell, bidirectional=True, head={"kind": "masked-token"})
    x = tokens(1, 9)
    before = model(x)
    assert not torch.equal(model(changed_at(x, 8))[0, 0], before[0, 0])
    assert before.shape == (1, 9, 29)
