"""The command `glasshouse`: one short file a command. Nothing here imports torch before a command needs it."""

import errno
import sys

from glasshouse.cli.application import application
from glasshouse.specs.errors import GlasshouseError

# What a machine refuses and a person can put right; any other OSError is a fault of ours.
REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)


def main() -> None:
    """Run a command; an error that a person can put right is printed without a traceback and exits with 2."""
    try:
        application()()
    except GlasshouseError as error:
        print(f"glasshouse: {error} [{error.code}]", file=sys.stderr)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        print("glasshouse: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        print(f"glasshouse: cannot use {error.filename or 'a file'}: {error.strerror} [cannot-use-file]", file=sys.stderr)
        sys.exit(2)
