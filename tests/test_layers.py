"""The layers: a package imports only from packages below it, and no modules import each other in a circle."""

import ast
from functools import cache
from pathlib import Path

import glasshouse
from tests.layers import LAYERS

ROOT = Path(glasshouse.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


def name_of(path: Path) -> str:
    words = ["glasshouse", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(words[:-1] if words[-1] == "__init__" else words)


NAMES = {name_of(module) for module in MODULES}


@cache
def imports_of(path: Path, late: bool) -> frozenset[str]:
    """The modules of ours that a file imports; `late` counts those inside functions and under TYPE_CHECKING too."""
    found = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree) if late else tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("glasshouse"):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in NAMES else node.module for name in inner}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("glasshouse")}
    return frozenset(found - {"glasshouse"})


def test_every_package_has_its_layer():
    named = {path.name.removesuffix(".py") for path in ROOT.iterdir() if path.name[0] != "_"}
    assert named - {"py.typed"} == set(LAYERS)


def test_imports_go_down():
    upward = [
        f"{name_of(path)} imports {name}"
        for path in MODULES
        if path.parent != ROOT or path.name[0] != "_"
        for name in imports_of(path, late=True)
        if LAYERS.index(name.split(".")[1]) < LAYERS.index(name_of(path).split(".")[1])
    ]
    assert not upward, "imports from a higher layer"


def test_no_circles():
    # Late imports count too: a circle that only a late import breaks is still a circle to the reader.
    graph = {name_of(path): sorted(imports_of(path, late=True)) for path in MODULES}
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, f"a circle: {' -> '.join([*above, name])}"
        if name not in done:
            for imported in graph.get(name, ()):
                visit(imported, (*above, name))
            done.add(name)

    for name in graph:
        visit(name, ())


# What a command may use: the public interface, its own package, functions that format, declared options, and the message
# of Ctrl-C.
PRINTING = (
    "cli",
    "formatting",
    "interrupts",
    "pages",
    "results",
    "verdicts",
    "metrics",
    "records.progress_bar",
    "specs.errors",
    "specs.options",
    "studies.study_options",
    "scaling.fit_options",
    "generation.sampling_options",
    "launching",
    "api",
)


def test_commands_call_the_public_interface_alone():
    allowed = tuple(f"glasshouse.{name}" for name in PRINTING)
    others = [
        f"{name_of(path)} imports {name}"
        for path in sorted((ROOT / "cli").glob("*.py"))
        for name in imports_of(path, late=True)
        if not name.startswith(allowed)
    ]
    assert not others, "commands that reach past `import glasshouse`"
