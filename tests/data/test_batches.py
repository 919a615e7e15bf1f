"""Batches: a pure function of (seed, step) that visits every example once an epoch."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.data import batches


@given(size=st.integers(1, 2000), seed=st.integers(0, 2**31 - 1), epoch=st.integers(0, 10**6))
def test_an_epoch_is_a_permutation(size, seed, epoch):
    order = batches.permute(np.arange(size), size, seed, np.full(size, epoch))
    assert sorted(order.tolist()) == list(range(size))


def test_every_example_once_an_epoch_even_when_batches_straddle_two():
    size, batch = 23, 7
    drawn = [batches.order(5, step, batch, size) for step in range(23)]
    epochs = np.concatenate([epoch for epoch, _ in drawn])
    examples = np.concatenate([example for _, example in drawn])
    for epoch in range(7):
        assert sorted(examples[epochs == epoch].tolist()) == list(range(size))


def test_seeds_and_epochs_have_orders_of_their_own():
    orders = {tuple(batches.permute(np.arange(50), 50, seed, np.full(50, e))) for seed in range(5) for e in range(5)}
    assert len(orders) == 25


def test_orders_look_random():
    """The place of an example in the order, over many epochs, is spread evenly: a chi-square test at one in a million."""
    size, epochs = 16, 4000
    every, epoch = np.tile(np.arange(size), epochs), np.repeat(np.arange(epochs), size)
    places = np.nonzero(batches.permute(every, size, 1, epoch) == 3)[0] % size
    expected = epochs / size
    chi_square = ((np.bincount(places, minlength=size) - expected) ** 2 / expected).sum()
    assert chi_square < 56.5  # 15 degrees of freedom
