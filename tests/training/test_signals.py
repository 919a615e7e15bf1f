"""Signals: they become a flag, and an interrupt that a library swallows is raised again."""

import os
import signal

import pytest

from glasshouse.training import signals
from glasshouse.training.signals import catch_signals, reraise_lost_interrupt


def test_an_interrupt_that_a_library_swallows_is_raised_again():
    before = signal.getsignal(signal.SIGINT)
    continued = False
    with pytest.raises(KeyboardInterrupt), reraise_lost_interrupt():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):  # the signal is delivered somewhere in this loop
                pass
        except KeyboardInterrupt:
            pass
        continued = True
    assert continued
    assert signal.getsignal(signal.SIGINT) is before
    with reraise_lost_interrupt():
        pass


@pytest.fixture
def default_interrupt():
    """Python's own handler of SIGINT. A process in the background may have been started without it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_interrupt")
def test_the_first_signal_sets_a_flag_in_every_watch_and_the_second_acts_as_usual():
    with catch_signals() as outer, catch_signals() as inner:
        signal.raise_signal(signal.SIGINT)
        assert (outer.received, inner.received) == (signal.SIGINT, signal.SIGINT)
        with catch_signals() as later:
            assert later.received == signal.SIGINT, "a new watch knows a signal that is not handled yet"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_rank_ignores_a_second_sigterm_that_comes_with_the_message(monkeypatch):
    """torchrun sends one after that of Slurm; the first may still be telling what happens."""
    said = []

    def say(text: str, **options: object) -> None:
        said.append(text)
        assert len(said) == 1
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(signals, "say", say)
    monkeypatch.setattr(signals.process_group, "is_rank", lambda: True)
    with catch_signals() as watch:
        signal.raise_signal(signal.SIGTERM)
        assert watch.received == signal.SIGTERM
    assert len(said) == 1
