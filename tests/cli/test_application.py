"""The help of every command: it has an example that parses, and it does not import torch."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from glasshouse.cli.application import application
from glasshouse.version import __version__

from .program import (
    call,
    worked,
)


def commands() -> list[tuple[str, ...]]:
    """The words of every command, inner ones included; a group that does nothing by itself is left out."""
    group: Any = typer.main.get_command(application())
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        inner = getattr(command, "commands", {})
        if not inner or command.invoke_without_command:
            found.append((name,))
        found += [(name, each) for each in inner]
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_help_has_an_example_that_parses(words: tuple[str, ...]) -> None:
    shown = " ".join(worked(call(*words, "--help")).out.split())
    assert "Usage: " in shown
    examples = re.search(r"Examples?: (glasshouse .*)$", shown)
    assert examples, shown
    for example in examples[1].split(" · "):
        arguments = shlex.split(example)[1:]
        command: Any = typer.main.get_command(application(arguments))
        while arguments and arguments[0] in getattr(command, "commands", {}):
            command = command.commands[arguments.pop(0)]
        command.make_context("glasshouse", arguments)  # raises a usage error for an option that is not there


def test_help_of_the_program_says_where_to_begin() -> None:
    shown = worked(call("--help")).out
    assert "Begin with: glasshouse demo" in shown
    for words in commands():
        assert words[0] in shown


def test_brackets_in_a_text_are_no_markup() -> None:
    assert "'data.files=[a.txt,b.jsonl.gz]'" in " ".join(worked(call("train", "--help")).out.split())


def test_the_version_is_printed() -> None:
    assert worked(call("--version")).out == f"glasshouse {__version__}\n"


def test_no_arguments_show_the_help() -> None:
    outcome = call()
    assert outcome.code in (0, 2)
    assert "Usage: " in outcome.out + outcome.err


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["recipes"], ["runs"]])
def test_torch_is_not_imported_before_it_is_needed(words: list[str], run: Path) -> None:
    script = f"""
import sys
from glasshouse.cli import main
sys.argv = ["glasshouse", *{words!r}]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
slow = {{"torch", "numba", "matplotlib"}} & set(sys.modules)
assert not slow, slow
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
