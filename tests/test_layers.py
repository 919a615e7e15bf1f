"""The layers: a package imports only from packages below it, and no modules import each other in a circle."""

import ast
from pathlib import Path

import pytest

import glasshouse
from tests.layers import LAYERS

ROOT = Path(glasshouse.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


def name_of(path: Path) -> str:
    words = ["glasshouse", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(words[:-1] if words[-1] == "__init__" else words)


NAMES = {name_of(module) for module in MODULES}


def imports_of(path: Path, late: bool) -> set[str]:
    """The modules of ours that a file imports; `late` counts those inside functions and under TYPE_CHECKING too."""
    found = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree) if late else tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("glasshouse"):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in NAMES else node.module for name in inner}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("glasshouse")}
    return found - {"glasshouse"}


def test_every_package_has_its_layer():
    named = {path.name.removesuffix(".py") for path in ROOT.iterdir() if path.name[0] != "_"}
    assert named - {"py.typed"} == set(LAYERS)


@pytest.mark.parametrize("path", [m for m in MODULES if m.parent != ROOT or m.name[0] != "_"], ids=name_of)
def test_imports_go_down(path):
    own = LAYERS.index(name_of(path).split(".")[1])
    upward = [name for name in imports_of(path, late=True) if LAYERS.index(name.split(".")[1]) < own]
    assert not upward, f"{name_of(path)} imports from a higher layer: {upward}"


def test_no_circles():
    # Late imports count too: a circle that only a late import breaks is still a circle to the reader.
    graph = {name_of(path): imports_of(path, late=True) for path in MODULES}
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, f"a circle: {' -> '.join([*above, name])}"
        if name not in done:
            for imported in graph.get(name, ()):
                visit(imported, (*above, name))
            done.add(name)

    for name in graph:
        visit(name, ())


# What a command may use besides the public interface: its own package, functions that format, and the
# message of Ctrl-C.
PRINTING = ("cli", "formatting", "interrupts", "pages", "metrics", "records.progress_bar", "specs.errors")


@pytest.mark.parametrize("path", sorted((ROOT / "cli").glob("*.py")), ids=name_of)
def test_commands_call_the_public_interface_alone(path):
    allowed = tuple(f"glasshouse.{name}" for name in PRINTING)
    others = [name for name in imports_of(path, late=True) if not name.startswith(allowed)]
    assert not others, f"{name_of(path)} reaches past `import glasshouse`: {others}"
