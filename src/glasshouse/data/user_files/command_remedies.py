"""Remedies in errors about the user's own file, for commands that take options and no settings of a spec. Reads no file."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from glasshouse.specs import spec_fields
from glasshouse.specs.errors import DataError, LimitExceeded
from glasshouse.specs.spec import DataSpec

SETTING = re.compile(rf"\bdata\.({'|'.join(spec_fields.fields(DataSpec))})\b(=[^\s;,)]+)?")
# How an error about a limit names both ways to raise it.
LIMIT_OPTION = re.compile(r"(data\.limits)=(\S+) \(as an option: --limits \S+\)")
COLUMNS = ("field", "label", "target", "second")


@contextmanager
def for_command(options: Mapping[str, str], data: DataSpec | None = None) -> Iterator[None]:
    """Within the block, errors name options of a command in place of settings: `--field` for `field`.

    A remedy that needs a setting without an option is left out. `data` are those of the run that reads the file: a column
    that is not found must have its name there.
    """
    try:
        yield
    except DataError as error:
        kind = LimitExceeded if isinstance(error, LimitExceeded) else DataError
        raise kind(error.code, _rewritten(str(error), options, data)) from None


def _rewritten(message: str, options: Mapping[str, str], data: DataSpec | None) -> str:
    problem, *remedies = _with_options(LIMIT_OPTION.sub(r"\1=\2", message), options).split("; ")
    kept = [remedy for one in remedies if (remedy := _without_settings(one))]
    if remedies and not kept:
        columns = [name for name, _ in SETTING.findall(message) if name in COLUMNS]
        kept = [_column_remedy(getattr(data, columns[0])) if data and columns else "correct the file"]
    return "; ".join([problem, *kept])


def _with_options(message: str, options: Mapping[str, str]) -> str:
    """The message with the options of the command in place of settings."""

    def named(match: re.Match[str]) -> str:
        option, value = options.get(match[1]), (match[2] or "").removeprefix("=")
        return f"{option} {value}".strip() if option else match[0]

    return SETTING.sub(named, message)


def _without_settings(remedy: str) -> str:
    """A remedy without its alternatives that need a setting; empty if all do."""
    alternatives = [one for one in remedy.split(", or ") if not SETTING.search(one)]
    return ", or ".join(alternatives).removeprefix("otherwise ")


def _column_remedy(name: str) -> str:
    return f"make it column {name} of the file" if name.isdecimal() else f"call that column {name!r} in the file"
