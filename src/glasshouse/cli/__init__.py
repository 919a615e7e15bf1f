"""The command line `glasshouse`. torch is imported only when a command needs it."""

import atexit
import errno
import gc
import io
import os
import sys
from itertools import pairwise
from typing import Any

import typer
from typer.main import get_command

from glasshouse import interrupts
from glasshouse.cli.application import application
from glasshouse.formatting import one_line
from glasshouse.specs.errors import GlasshouseError, Verbatim, as_argument, plain

# Errors of the file system that the user can fix, and how. Any other OSError is a bug and keeps its traceback.
FIXABLE_ERRORS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free some space, or use another disk"),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "change its permissions, or choose another path"),
    **dict.fromkeys((errno.ENOTDIR, errno.EISDIR, errno.EEXIST), "choose another path"),
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "remove the link that leads to itself",
}

# What typer raises for words that it cannot read. It is in another module in other versions of typer.
UsageError: Any = typer.BadParameter.__base__


def main() -> None:
    """Run a command. An error that the user can fix is printed without a traceback, and the exit status is 2.

    Of the processes that `torchrun` starts, the first runs the command, and the others train what it trains.
    """
    # At its end Python would look for garbage among all objects once more. The system takes their memory anyway.
    atexit.register(gc.freeze)
    _escape_unknown_characters()
    words = sys.argv[1:]
    try:
        if "RANK" in os.environ:
            from glasshouse.api import training

            training.run_as_rank(application(words))
        else:
            sys.exit(application(words)(prog_name="glasshouse", standalone_mode=False))
    except UsageError as error:
        if error.format_message():  # without a command the help has been printed
            print_error(_unreadable(error, words))
        sys.exit(2)
    except typer.Abort:
        sys.exit(1)
    except GlasshouseError as error:
        print_error(error)
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
        print(f"glasshouse: cannot use {name}: {error.strerror}; {remedy}", file=sys.stderr)
        sys.exit(2)


def _unreadable(error: Any, words: list[str]) -> GlasshouseError:
    """What typer says of words that it cannot read, as an error of ours."""
    command = error.ctx.command_path if error.ctx else f"glasshouse {words[0]}"
    remedy = f"see {command} --help"
    parameter = getattr(error, "param", None)
    for word, following in pairwise([*words, ""]):
        option, is_same_word, value = word.partition("=")
        if parameter is not None and option in parameter.opts:
            value = value if is_same_word else following
            return GlasshouseError(f"is refused: {error.message}; {remedy}", str(parameter.name), Verbatim(value))
    return GlasshouseError(f"{error.format_message().rstrip('.')}; {remedy}")


def print_error(error: GlasshouseError) -> None:
    """Print an error in the words of the command that was typed."""
    print(f"glasshouse: {one_line(error.told(CommandLine(sys.argv[1:]).assigned))}", file=sys.stderr)


class CommandLine:
    """The reader of errors who typed a command: fields are its options, or FIELD=VALUE if it takes those."""

    def __init__(self, words: list[str]) -> None:
        command = get_command(application(words))
        for word in words:
            command = getattr(command, "commands", {}).get(word, command)
        self.options = {str(parameter.name): max(parameter.opts, key=len) for parameter in command.params}
        self.takes_fields = not {"overrides", "words"}.isdisjoint(self.options)

    def assigned(self, field: str, value: object) -> str:
        name = field.rpartition(".")[2]
        if "." in field and self.takes_fields:
            return as_argument(field, value)
        option = self.options.get(name) or self.options.get(f"{name}_field")
        return f"{option}{' ' if isinstance(value, Verbatim) else '='}{plain(value)}" if option else ""


def _escape_unknown_characters() -> None:
    """A character that the encoding of the output lacks is written as an escape sequence, as Python does for errors."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
