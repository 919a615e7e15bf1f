"""The command `glasshouse`: one short file a command. Nothing here imports torch before a command needs it."""

import sys

from glasshouse.cli.application import application
from glasshouse.specs.errors import GlasshouseError


def main() -> None:
    """Run a command; an error that a person can put right is printed without a traceback and exits with 2."""
    try:
        application()()
    except GlasshouseError as error:
        print(f"glasshouse: {error}", file=sys.stderr)
        sys.exit(error.code)
    except KeyboardInterrupt:
        print("glasshouse: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)
