"""SIGINT and SIGTERM as a question the loop can ask between steps, so that it saves and leaves cleanly."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from glasshouse.records.progress_bar import say


class Watch:
    """Remembers the first signal."""

    received: int | None = None


# Those who watch now, one inside the other: a study's runs are watched within the study.
_watching: list[Watch] = []


@contextmanager
def watching() -> Iterator[Watch]:
    """Catch the first signal quietly; a second one acts as ever. Only the main thread can, so elsewhere it does nothing."""
    watch = Watch()
    if threading.current_thread() is not threading.main_thread():
        yield watch
        return
    if _watching:
        # A signal that came before this one began to watch is still to be obeyed.
        watch.received = _watching[-1].received
    _watching.append(watch)
    try:
        if len(_watching) > 1:
            yield watch
        else:
            with _caught():
                yield watch
    finally:
        _watching.remove(watch)


@contextmanager
def _caught() -> Iterator[None]:
    """The first signal goes to all who watch, later ones where they always went."""
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def receive(number: int, frame: FrameType | None) -> None:
        for watch in _watching:
            watch.received = number
        say(f"{signal.Signals(number).name}: finishing this step and saving; again to stop at once", aloud=True)
        for each, handler in previous.items():
            signal.signal(each, handler)

    for number in previous:
        signal.signal(number, receive)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def insisting() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end where one came and was lost: what comes while a library is being loaded, or while
    a callback of the garbage collector runs, is ignored there."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
