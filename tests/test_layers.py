"""The layers: a package imports only from packages below it, and no modules import each other in a circle."""

import ast
import re
from functools import cache
from pathlib import Path

import glasshouse
from glasshouse.specs import errors
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
    "scaling.scaling_options",
    "generation.sampling_options",
    "llms.language_model",
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


# Methods that take a text apart.
APART = {"split", "rsplit", "partition", "rpartition", "startswith", "endswith", "removeprefix", "removesuffix", "replace"}
PROSE = {"note", "message", "remedy", "warning"}


def test_no_module_takes_its_own_messages_apart():
    """An error is a value with fields, and a note has a kind: no text of ours is read by the program again."""
    found = []
    for path in MODULES:
        tree = ast.parse(path.read_text())
        ours = {
            handler.name
            for handler in ast.walk(tree)
            if isinstance(handler, ast.ExceptHandler) and handler.name and handler.type and _catches_ours(handler.type)
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            of_pattern = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            taken = node.args if of_pattern else [node.func.value] if node.func.attr in APART else []
            texts = {ast.unparse(part).rpartition(".")[2] for part in taken}
            if texts & (PROSE | {f"str({name})" for name in ours}):
                found.append(f"{name_of(path)}, line {node.lineno}: {ast.unparse(node)}")
    assert not found


def _catches_ours(caught: ast.expr) -> bool:
    """Whether an `except` names one of our errors."""
    names = {node.id for node in ast.walk(caught) if isinstance(node, ast.Name)}
    return any(
        issubclass(kind, glasshouse.GlasshouseError) for kind in map(vars(errors).get, names) if isinstance(kind, type)
    )


def test_verdicts_are_judged_in_one_place():
    places = [name_of(path) for path in MODULES if re.search(r"^def judge\(", path.read_text(), re.MULTILINE)]
    assert places == ["glasshouse.verdicts.verdict"]
