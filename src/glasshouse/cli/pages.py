"""The help of every command as one page, `docs/commands.md`: `python -m glasshouse.cli.pages` prints it."""

import re
from typing import Any

import typer.main
from typer.testing import CliRunner

from glasshouse.cli.application import application

HEAD = """# Commands

This page is generated from the program (`make docs`); a test checks that it is current.
"""


def page() -> str:
    """The whole page."""
    app = application()
    group: Any = typer.main.get_command(app)
    sections = [HEAD, _section(app, [])]
    for name, command in group.commands.items():
        sections.append(_section(app, [name]))
        for inner in getattr(command, "commands", {}):
            sections.append(_section(app, [name, inner]))
    return "\n".join(sections)


def _section(app: typer.Typer, words: list[str]) -> str:
    environment = {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1", "_TYPER_FORCE_DISABLE_TERMINAL": "1"}
    shown = CliRunner().invoke(app, [*words, "--help"], env=environment, prog_name="glasshouse").output
    plain = "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).strip("\n").splitlines())
    return f"## {' '.join(['glasshouse', *words])}\n\n```\n{plain}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
