"""The command line `glasshouse`, with one file per command. torch is imported only when a command needs it."""

import atexit
import errno
import gc
import io
import os
import sys

from glasshouse import interrupts
from glasshouse.cli.application import application
from glasshouse.formatting import one_line
from glasshouse.specs.errors import GlasshouseError

# Errors of the file system that the user can fix, and how. Any other OSError is a bug and keeps its traceback.
_SPACE, _PATH = "free some space, or use another disk", "choose another path"
_RIGHTS = "change its permissions, or choose another path"
FIXABLE_ERRORS = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: _SPACE,
    errno.EROFS: _RIGHTS,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.ENOTDIR: _PATH,
    errno.EISDIR: _PATH,
    errno.EEXIST: _PATH,
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "remove the link that leads to itself",
}


def main() -> None:
    """Run a command. An error that the user can fix is printed without a traceback, and the exit status is 2.

    Of the processes that `torchrun` starts, the first runs the command, and the others train what it trains.
    """
    # At its end Python would look for garbage among all objects once more. The system takes their memory anyway.
    atexit.register(gc.freeze)
    _escape_unknown_characters()
    try:
        if "RANK" in os.environ:
            import glasshouse

            glasshouse.run_as_rank(application())
        else:
            application()()
    except GlasshouseError as error:
        print(f"glasshouse: {one_line(str(error))} [{error.code}]", file=sys.stderr)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        print(interrupts.MESSAGE, file=sys.stderr)
        sys.exit(interrupts.EXIT_STATUS)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        if error.errno not in FIXABLE_ERRORS:
            raise
        name, remedy = one_line(str(error.filename or "a file"), most=200), FIXABLE_ERRORS[error.errno]
        print(f"glasshouse: cannot use {name}: {error.strerror}; {remedy} [cannot-use-file]", file=sys.stderr)
        sys.exit(2)


def _escape_unknown_characters() -> None:
    """A character that the encoding of the output lacks is written as an escape sequence, as Python does for errors."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
