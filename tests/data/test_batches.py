"""Batches: a pure function of (seed, step) that visits every example once in each epoch."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.data import batch_stages, batches
from glasshouse.specs.spec import TrainingSpec


@given(size=st.integers(1, 2000), seed=st.integers(0, 2**31 - 1), epoch=st.integers(0, 10**6))
def test_an_epoch_is_a_permutation(size, seed, epoch):
    order = batches.permute(np.arange(size), size, seed, np.full(size, epoch))
    assert sorted(order.tolist()) == list(range(size))


@given(words=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=3))
def test_the_hash_of_integers_is_that_of_arrays(words):
    assert batches.hash_of_integers(*words) == int(batches.hash64(*(np.uint64(word) for word in words))[0])


def test_every_example_occurs_once_in_each_epoch_even_if_a_batch_spans_two():
    size, batch = 23, 7
    selected = [batches.select_examples(5, step * batch, batch, size) for step in range(23)]
    epochs = np.concatenate([epoch for epoch, _ in selected])
    examples = np.concatenate([example for _, example in selected])
    for epoch in range(7):
        assert sorted(examples[epochs == epoch].tolist()) == list(range(size))


def test_every_seed_and_epoch_has_a_different_order():
    orders = {tuple(batches.permute(np.arange(50), 50, seed, np.full(50, e))) for seed in range(5) for e in range(5)}
    assert len(orders) == 25


def test_orders_look_random():
    """Over many epochs, the positions of an example are uniform: a chi-square test at one in a million."""
    size, epochs = 16, 4000
    indices, epoch = np.tile(np.arange(size), epochs), np.repeat(np.arange(epochs), size)
    positions = np.nonzero(batches.permute(indices, size, 1, epoch) == 3)[0] % size
    expected = epochs / size
    chi_square = ((np.bincount(positions, minlength=size) - expected) ** 2 / expected).sum()
    assert chi_square < 56.5  # 15 degrees of freedom


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.integers(1, 400), st.integers(1, 9), st.integers(0, 500))
def test_batches_by_length_visit_every_example_once_in_each_epoch(seed, examples, batch, first):
    lengths = np.arange(examples) % 13
    pool = first // batches.POOL
    visited = []
    for epochs, selected in zip(*batches.select_batches_by_length(seed, pool, batch, lengths), strict=True):
        visited += list(zip(epochs.tolist(), selected.tolist(), strict=True))
        assert len(selected) == batch
        assert (np.diff(lengths[selected]) >= 0).all()
    rows = batch * batches.POOL
    epochs, selected = batches.select_examples(seed, pool * rows, rows, examples)
    assert sorted(visited) == sorted(zip(epochs.tolist(), selected.tolist(), strict=True))


@settings(max_examples=20)
@given(st.integers(1, 300), st.integers(1, 9), st.floats(0, 1))
def test_batches_that_grow_continue_one_order(steps, quarter, warmup):
    training = TrainingSpec(batch=4 * quarter, batch_warmup=warmup)
    stages = batch_stages.stages_of(training, steps)
    order, seeds = batches.BatchOrder(3, stages, 23), np.array([3, 4])
    together = batches.BatchOrder(seeds, stages, 23)
    read = [order(step) for step in range(steps)]
    total = sum(len(examples) for _, examples in read)
    expected = batches.select_examples(3, 0, total, 23)
    np.testing.assert_array_equal(np.concatenate([examples for _, examples in read]), expected[1])
    np.testing.assert_array_equal(np.concatenate([epochs for epochs, _ in read]), expected[0])
    for step in {0, steps // 2, steps - 1}:
        np.testing.assert_array_equal(together(step)[1][: len(read[step][1])], read[step][1])
        assert len(together(step)[1]) == 2 * len(read[step][1])
