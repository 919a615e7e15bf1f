"""`import glasshouse` offers the same names to people, to editors and at run time."""

import ast
import subprocess
import sys
from inspect import getdoc, isfunction
from pathlib import Path

import glasshouse
from glasshouse.api import runs

SOURCE = Path(glasshouse.__file__)


def typed_imports() -> dict[str, str]:
    """Name -> module of the imports that only an editor follows."""
    [block] = [node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If)]
    return {
        alias.name: node.module.removeprefix("glasshouse.")
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def test_an_editor_sees_what_there_is_at_run_time():
    shown = {name: module for module, names in glasshouse._NAMES.items() for name in names.split()}
    assert typed_imports() == shown
    assert (SOURCE.parent / "py.typed").exists()


def test_every_name_is_there_and_every_function_is_described():
    for name in glasshouse.__all__:
        found = getattr(glasshouse, name)
        if isfunction(found):
            assert getdoc(found), name
            assert "return" in found.__annotations__, name


def test_the_docstring_of_a_run_is_its_index():
    assert glasshouse.Run.__doc__
    missing = [name for name in dir(glasshouse.Run) if name[0] != "_" and f"`{name}`" not in glasshouse.Run.__doc__]
    assert missing == []


def test_the_methods_of_a_run_are_functions_of_the_interface():
    tree = ast.parse(Path(runs.__file__).read_text())
    [block] = [
        node for kind in tree.body if isinstance(kind, ast.ClassDef) for node in kind.body if isinstance(node, ast.If)
    ]
    typed = {ast.unparse(node).partition(" = ")[0]: ast.unparse(node).partition(" = ")[2] for node in block.body}
    assert typed == {name: f"{module}.{name}" for module, names in runs.METHODS.items() for name in names.split()}
    for name in typed:
        assert isfunction(getattr(glasshouse.Run, name)), name


def test_the_import_is_light():
    script = "import sys, glasshouse; assert not {'torch', 'numpy', 'rich'} & set(sys.modules), sorted(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_unknown_name_is_no_attribute():
    assert not hasattr(glasshouse, "workbench")
    assert "train" in dir(glasshouse)
