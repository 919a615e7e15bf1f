"""Buckets of distances against those of T5 in transformers."""

import pytest
import torch

from glasshouse import parts
from tests import needs


@pytest.mark.parametrize("causal", [False, True])
def test_buckets_are_those_of_t5(causal):
    t5 = needs.package("transformers.models.t5.modeling_t5")
    distance = torch.arange(-300, 301)
    ours = parts.BucketedBias(heads=2, causal=causal).bucket(distance)
    theirs = t5.T5Attention._relative_position_bucket(-distance, bidirectional=not causal)
    assert torch.equal(ours, theirs)
