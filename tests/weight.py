"""How much there is to read: counts of the package that may fall and must not rise. `make lint` prints them.

    python -m tests.weight

A change that needs more raises a number of MOST, where a reviewer sees it.
"""

import ast
import re
from pathlib import Path

import glasshouse

SOURCE = Path(glasshouse.__file__).parent
# The claims get a package of their own, so they are not counted.
MOST = {
    "lines": 63_900,
    "files": 464,
    "public names": 30,
    "lines with Any": 815,
    "type: ignore": 25,
    "isinstance of models and tasks": 40,
}


def counts() -> dict[str, int]:
    """Every count of `MOST`, as the source has it now."""
    files = [path for path in sorted(SOURCE.rglob("*.py")) if "claims" not in path.relative_to(SOURCE).parts]
    texts = [path.read_text(encoding="utf-8") for path in files]
    lines = [line for text in texts for line in text.splitlines()]
    kinds = {name for package in ("models", "tasks") for name in _classes(SOURCE / package)}
    return {
        "lines": len(lines),
        "files": len(files),
        "public names": len(glasshouse.__all__),
        "lines with Any": sum(bool(re.search(r"\bAny\b", line)) for line in lines),
        "type: ignore": sum("type: ignore" in line for line in lines),
        "isinstance of models and tasks": sum(
            _asks_for(node, kinds) for text in texts for node in ast.walk(ast.parse(text))
        ),
    }


def _classes(package: Path) -> set[str]:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in package.rglob("*.py"))
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def _asks_for(node: ast.AST, kinds: set[str]) -> bool:
    """Whether a node is `isinstance(x, K)` with one of these classes as K, or among several."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"):
        return False
    named = {inner.id for inner in ast.walk(node.args[1]) if isinstance(inner, ast.Name)}
    return bool(named & kinds)


if __name__ == "__main__":
    for name, count in counts().items():
        print(f"{count:7,}  {name} (at most {MOST[name]:,})")
