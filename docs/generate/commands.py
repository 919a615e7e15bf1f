"""Generates `docs/reference/commands.md`, the help of every command.

The page is made from the definitions of the commands, not from the printed help: its layout depends on the version of typer.
"""

from typing import Any

import typer.main

from glasshouse.cli.application import application

HEAD = """# Commands

This page is generated from the program (`make pages`); a test checks that it is current. `glasshouse COMMAND --help` prints
the same text. Each command is also a Python function: `import glasshouse; help(glasshouse.train)`.
"""


def page() -> str:
    """The whole page."""
    group: Any = typer.main.get_command(application())
    return "\n".join([HEAD, *_sections(group, ["glasshouse"])])


def _sections(command: Any, words: list[str]) -> list[str]:
    """The sections of a command and its subcommands; a group that does nothing by itself has no section."""
    subcommands = getattr(command, "commands", {})
    section = [] if subcommands and not command.invoke_without_command else [_section(command, words)]
    return section + [inner for name in subcommands for inner in _sections(subcommands[name], [*words, name])]


def _section(command: Any, words: list[str]) -> str:
    parameters = [p for p in command.params if p.name != "help"]
    arguments = [p.metavar or p.name.upper() for p in parameters if p.param_type_name == "argument"]
    usage = " ".join([*words, *arguments, *(["[OPTIONS]"] if len(arguments) < len(parameters) else [])])
    paragraphs = [f"## {' '.join(words)}", f"`{usage}`", command.help.strip()]
    rows = [_row(p) for p in parameters]
    if rows:
        paragraphs.append("\n".join(["| | meaning | default |", "|---|---|---|", *rows]))
    if command.epilog:
        examples = command.epilog.replace("\\[", "[").split(": ", 1)[1].split(" · ")
        paragraphs.append("```\n" + "\n".join(examples) + "\n```")
    return "\n\n".join(paragraphs) + "\n"


def _row(parameter: Any) -> str:
    is_option = parameter.param_type_name == "option"
    name = f"`{parameter.opts[0]}`" if is_option else f"`{parameter.metavar or parameter.name.upper()}`"
    no_default = parameter.required or parameter.default is None or parameter.default is False or parameter.default == ""
    default = "" if no_default else f"`{parameter.default}`"
    return f"| {name} | {parameter.help or ''} | {default} |"
