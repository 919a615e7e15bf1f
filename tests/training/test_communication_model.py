"""The times of collectives and of steps: limits that hold for every cluster, and the formulas by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.training import communication_model
from glasshouse.training.communication_model import Links, StepTimes, WeightCounts, replicated_step, sharded_step

COUNTS = st.integers(1, 256)
BANDWIDTHS = st.floats(1e6, 1e12)
LATENCIES = st.floats(0, 1e-2)
SECONDS = st.floats(1e-6, 1e3)
ANY_LINKS = st.builds(Links, COUNTS, COUNTS, BANDWIDTHS, BANDWIDTHS, LATENCIES, LATENCIES)
ANY_COMPUTE = st.builds(StepTimes, SECONDS, SECONDS, SECONDS)
ANY_BLOCKS = st.lists(st.integers(1, 10**9), max_size=4).map(tuple)
ANY_WEIGHTS = st.builds(lambda blocks, rest: WeightCounts(blocks, rest, blocks, rest), ANY_BLOCKS, st.integers(1, 10**9))


def steps(links: Links, compute: StepTimes, weights: WeightCounts) -> list[StepTimes]:
    return [replicated_step(compute, weights, links), sharded_step(compute, weights, links)]


def test_a_ring_by_hand() -> None:
    links = Links(1, 4, node_bandwidth=100.0, network_bandwidth=1.0, node_latency=0.5, network_latency=9.0)
    assert links.all_gather(400) == pytest.approx(0.75 * 4 + 3 * 0.5)
    assert links.all_reduce(400) == pytest.approx(2 * (0.75 * 4 + 3 * 0.5))
    assert links.all_gather(400, messages=10) == pytest.approx(0.75 * 4 + 30 * 0.5)


def test_two_levels_by_hand() -> None:
    links = Links(2, 4, node_bandwidth=100.0, network_bandwidth=50.0, node_latency=0.0, network_latency=1.0)
    assert links.all_gather(400) == pytest.approx(0.75 * 4 + 0.5 * 8 + 1)
    assert links.all_reduce(400) == pytest.approx(2 * links.all_gather(400))


def test_trees_have_less_latency_between_many_nodes() -> None:
    links = Links(128, 1, 1.0, 1e9, 0.0, network_latency=1e-3)
    assert links.all_reduce(1000) == pytest.approx(2 * 7e-3, rel=1e-3)
    assert links.all_gather(1000) == pytest.approx(127e-3, rel=1e-3)


@given(ANY_COMPUTE, ANY_WEIGHTS, BANDWIDTHS, LATENCIES)
def test_one_process_does_not_communicate(
    compute: StepTimes, weights: WeightCounts, bandwidth: float, latency: float
) -> None:
    for times in steps(Links(1, 1, bandwidth, bandwidth, latency, latency), compute, weights):
        assert times.communication == 0
        assert times.fastest == pytest.approx(compute.compute)
        assert times.slowest == pytest.approx(compute.compute)
        assert times.waiting_shares == pytest.approx((0, 0))


@given(ANY_LINKS, ANY_COMPUTE, ANY_WEIGHTS, st.sampled_from(["node_bandwidth", "network_bandwidth"]), st.floats(1, 100))
def test_more_bandwidth_is_never_slower(
    links: Links, compute: StepTimes, weights: WeightCounts, field: str, factor: float
) -> None:
    faster = replace(links, **{field: getattr(links, field) * factor})
    for before, after in zip(steps(links, compute, weights), steps(faster, compute, weights), strict=True):
        assert after.slowest <= before.slowest * (1 + 1e-9)
        assert after.fastest <= before.fastest * (1 + 1e-9)


@given(ANY_LINKS, ANY_COMPUTE, ANY_WEIGHTS)
def test_the_bounds_are_in_order(links: Links, compute: StepTimes, weights: WeightCounts) -> None:
    for times in steps(links, compute, weights):
        assert times.compute <= times.fastest * (1 + 1e-9)
        assert times.fastest <= times.slowest * (1 + 1e-9)
        low, high = times.waiting_shares
        assert -1e-9 <= low <= high + 1e-9 <= 1 + 1e-6


@given(ANY_LINKS, st.floats(1, 1e10))
def test_an_all_reduce_is_at_most_a_scatter_and_a_gather(links: Links, size: float) -> None:
    assert links.all_reduce(size) <= 2 * links.all_gather(size) * (1 + 1e-9)


def test_the_bytes_of_a_step() -> None:
    # One network of 1 byte a second between two processes: a ring sends half of the bytes.
    links, compute = Links(2, 1, 1.0, 1.0, 0.0, 0.0), StepTimes(1.0, 2.0, 4.0)
    weights = WeightCounts((10, 10), 5, (10, 0), 5)
    replicated = replicated_step(compute, weights, links)
    assert (replicated.forward_communication, replicated.backward_communication) == (0.0, 4 * 15)
    sharded = sharded_step(compute, weights, links)
    assert sharded.update == 2.0
    assert sharded.forward_communication == 25
    assert sharded.backward_communication == 20 + 15
    often = sharded_step(compute, weights, links, micro_batches=3)
    assert often.forward_communication == 3 * 25
    assert often.backward_communication == 3 * 20 + 15
    assert communication_model.sharded_step(compute, weights, links, number_bytes=4).communication == 2 * 60
