"""Ctrl-C for the whole program: KeyboardInterrupt, or the end of the program at once while modules are imported.

Libraries catch what is raised while they are imported, and go on without the module or end in their own error.
"""

import os
import signal
from types import FrameType

EXIT_STATUS = 128 + signal.SIGINT
MESSAGE = "glasshouse: stopped"


def install() -> None:
    """Handle Ctrl-C so, unless whoever started the program has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, or end the program while a module is imported. An import writes no file of the user."""
    while frame:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, f"{MESSAGE}\n".encode())
            os._exit(EXIT_STATUS)
        frame = frame.f_back
    raise KeyboardInterrupt
