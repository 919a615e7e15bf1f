"""SIGINT and SIGTERM as a flag that the training loop reads between steps, so that it can save before it exits."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from glasshouse.records.progress_bar import say
from glasshouse.training import process_group


class SignalWatch:
    received: int | None = None


# The watch whose handlers are installed.
_active: SignalWatch | None = None


@contextmanager
def catch_signals() -> Iterator[SignalWatch]:
    """Record the first signal instead of acting on it; a second signal acts as usual. Within such a block (a study catches
    signals around its runs) there is one watch.

    A process of `torchrun` ignores a second SIGTERM: a signal to all processes reaches it directly and again through
    `torchrun`, which kills what does not end. Only the main thread can handle signals. In other threads this does nothing.
    """
    global _active
    if threading.current_thread() is not threading.main_thread():
        yield SignalWatch()
        return
    if _active is not None:
        yield _active
        return
    watch = _active = SignalWatch()
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def receive(number: int, frame: FrameType | None) -> None:
        watch.received = number
        # Before the message: a second signal may come while it is written.
        for caught, handler in previous.items():
            signal.signal(caught, signal.SIG_IGN if caught == signal.SIGTERM and process_group.is_rank() else handler)
        name = signal.Signals(number).name
        say(f"{name}: finishing this step and saving; send it again to stop immediately", even_if_quiet=True)

    for number in previous:
        signal.signal(number, receive)
    try:
        yield watch
    finally:
        _active = None
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def reraise_lost_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of the block if one was lost within: Python drops an exception that is raised while
    an extension library loads or a garbage-collector callback runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        if callable(previous):
            previous(number, frame)
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if interrupted:
        raise KeyboardInterrupt
