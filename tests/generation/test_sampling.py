"""Sampling: the filters, the repetition penalty, the draws, and options out of range."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.data.batches import hash64
from glasshouse.generation.sampling import SamplingRows, distribution, draw, uniform_numbers
from glasshouse.generation.sampling_options import Sampling
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused


@given(st.lists(st.floats(-8, 8), min_size=2, max_size=12), st.integers(1, 12), st.floats(0.05, 1), st.floats(0, 1))
def test_filters_keep_the_tokens_that_they_promise(logits, top_k, top_p, min_p):
    values = torch.tensor([logits])
    unfiltered = values.softmax(-1)[0]

    def kept(**options):
        return set(distribution(values, Sampling(**options))[0].nonzero()[:, 0].tolist())

    order = sorted(range(len(logits)), key=lambda i: -unfiltered[i].item())
    by_k = kept(top_k=top_k)
    assert set(order[:top_k]) <= by_k or len(by_k) >= min(top_k, len(logits))
    by_p = kept(top_p=top_p)
    assert order[0] in by_p
    assert sum(unfiltered[i].item() for i in by_p) >= top_p - 1e-4
    for dropped in set(order) - by_p:
        assert unfiltered[dropped] <= min(unfiltered[i] for i in by_p) + 1e-7
    by_min = kept(min_p=min_p)
    assert all(unfiltered[i] >= min_p * unfiltered.max() - 1e-6 for i in by_min)
    assert order[0] in by_min


def test_draws_follow_the_probabilities_and_never_take_a_dropped_token():
    probabilities = torch.tensor([0.0, 0.5, 0.0, 0.3, 0.2, 0.0]).expand(20000, 6)
    drawn = draw(probabilities, torch.tensor(9), torch.arange(20000), torch.tensor(0))
    frequencies = torch.bincount(drawn, minlength=6) / 20000
    torch.testing.assert_close(frequencies, probabilities[0], rtol=0, atol=0.015)
    assert frequencies[[0, 2, 5]].sum() == 0


def test_the_repetition_penalty_makes_seen_tokens_less_likely():
    logits, seen = torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([[True, True, False]])
    penalised = SamplingRows([Sampling(repetition_penalty=1.5)]).penalised(logits, seen, None)
    ratio = penalised.softmax(-1)[0] / logits.softmax(-1)[0]
    assert ratio[0] < ratio[2]
    assert ratio[1] < ratio[2]


@pytest.mark.parametrize(
    "options", [{"temperature": -1}, {"top_p": 0}, {"top_p": 1.1}, {"top_k": -1}, {"min_p": 2}, {"repetition_penalty": 0}]
)
def test_options_out_of_range_are_refused(options):
    with refused(GlasshouseError, f"{next(iter(options))}="):
        Sampling(**options)


def test_presence_and_frequency_penalties_lower_the_logits_of_generated_tokens():
    rows = SamplingRows([Sampling(presence_penalty=0.5), Sampling(frequency_penalty=0.25), Sampling()])
    counts = torch.tensor([[0.0, 1.0, 3.0]]).expand(3, 3)
    expected = torch.tensor([[0, -0.5, -0.5], [0, -0.25, -0.75], [0, 0, 0]])
    torch.testing.assert_close(rows.penalised(torch.zeros(3, 3), None, counts), expected)


OPTIONS = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    top_k=st.integers(0, 12),
    top_p=st.sampled_from([0.3, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.1]),
)


@given(st.lists(OPTIONS, min_size=1, max_size=5), st.integers(0, 2**31))
def test_rows_with_different_options_do_not_disturb_each_other(options, seed):
    logits = 3 * torch.randn(len(options), 10, generator=torch.Generator().manual_seed(seed))
    together = SamplingRows(options).distribution(logits)
    alone = torch.cat([distribution(logits[[row]], each) for row, each in enumerate(options)])
    torch.testing.assert_close(together, alone, rtol=0, atol=0)


@given(st.lists(st.tuples(*[st.integers(0, 2**63 - 1)] * 3), min_size=1, max_size=5))
def test_random_numbers_on_the_device_are_those_of_the_batches(words):
    columns = [np.array(column, np.uint64) for column in zip(*words, strict=True)]
    expected = (hash64(*columns) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    assert uniform_numbers(*(torch.tensor(column) for column in zip(*words, strict=True))).tolist() == expected.tolist()


@given(st.lists(OPTIONS, min_size=1, max_size=5), st.integers(0, 2**31), st.booleans())
def test_candidates_have_the_distribution_of_all_tokens(options, seed, tied):
    logits = torch.randn(len(options), 40, generator=torch.Generator().manual_seed(seed))
    if tied:
        logits = logits.round()
    rows = SamplingRows(options)
    found = rows.candidates(logits)
    if found is None:
        assert tied or any(option.top_k == 0 for option in options)
        return
    among_all = rows.distribution(logits)
    of_candidates = torch.zeros_like(logits).scatter_(-1, found, rows.distribution(logits.gather(-1, found)))
    assert torch.allclose(of_candidates, among_all, atol=1e-6)
    assert (found.diff(dim=-1) > 0).all(), "in the order of their numbers"
