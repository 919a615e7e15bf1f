"""Every error code as one page, `docs/reference/errors.md`, read from the source. Messages are left out: they may change."""

import ast
from pathlib import Path

import glasshouse
from glasshouse.specs import errors

SOURCE = Path(glasshouse.__file__).parent
HEAD = """# Error codes

This page is generated from the code (`make pages`); a test checks that it is current. Every error that a user can correct
ends with a code in brackets. The code names the rule that was broken. It never changes; the words of a message may. From
Python: `except glasshouse.GlasshouseError as error: error.code`.
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD, "| code | class | raised in |", "|---|---|---|"]
    for code, places in sorted(codes().items()):
        classes, packages = (", ".join(f"`{name}`" for name in sorted(set(names))) for names in zip(*places, strict=True))
        lines.append(f"| `{code}` | {classes} | {packages} |")
    return "\n".join(lines) + "\n"


def codes() -> dict[str, set[tuple[str, str]]]:
    """Code -> (class of the error, package) for every place that raises it."""
    found: dict[str, set[tuple[str, str]]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _is_error(node.func) and len(node.args) > 1:
                code = node.args[0]
                if isinstance(code, ast.Constant) and isinstance(code.value, str):
                    found.setdefault(code.value, set()).add((_name(node.func), package))
    return found


def _is_error(function: ast.expr) -> bool:
    kind = getattr(errors, _name(function), None)
    return isinstance(kind, type) and issubclass(kind, errors.GlasshouseError)


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
