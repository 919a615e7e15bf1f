"""The documentation says what the program does, and its code runs."""

import ast
import re
from pathlib import Path

import pytest
from docs.generate.__main__ import PAGES

import glasshouse
from tests.layers import LAYERS

ROOT = Path(__file__).parent.parent
TINY: dict[str, dict[str, object]] = {
    "data": {"vocabulary": 300, "context": 32},
    "model": {"width": 16, "layers": 2, "heads": 2, "feed_forward": 32},
    "training": {"steps": 4, "batch": 4, "threads": 1, "precision": "fp32"},
    "evaluation": {"tokens": 256, "sample_tokens": 4},
}


# The pages in `docs/claims` and `docs/certificates.md` are records of measurements; `CHANGELOG.md` names files now gone.
DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
DOCUMENTS += ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
RECORDS = ("docs/claims/", "docs/certificates.md", "CHANGELOG.md")


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name):
    assert (ROOT / "docs" / name).read_text() == PAGES[name](), f"docs/{name} is not what the program says; run: make pages"


@pytest.mark.slow
def test_the_pages_of_claims_follow_from_their_record():
    assert glasshouse.claims.check_claims(ROOT / "docs" / "claims") == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    path = ROOT / name
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", without_code(path.read_text())):
        assert target.startswith(("http", "mailto:")) or (path.parent / target).exists(), f"{name} links to {target}"


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if not name.startswith(RECORDS)])
def test_files_that_a_page_names_exist(name):
    """Names in code spans, such as `src/glasshouse/specs/spec.py`, `verdicts/statistics.py` or `benchmarks/cost.py`."""
    for named in re.findall(r"`(?:python )?((?:[\w.-]+/)+[\w-]+\.(?:py|toml|md|js|html))[` ]", (ROOT / name).read_text()):
        if not named.startswith(WRITTEN_BY_USERS):
            places = (ROOT, ROOT / "src", ROOT / "src" / "glasshouse", ROOT / "docs", ROOT / "tests")
            assert any((place / named).exists() for place in places), f"{name} names {named}"


# What a user's own folders hold, and the package of the how-to pages.
WRITTEN_BY_USERS = ("runs/", "studies/", "my_", "examples/")


def test_the_architecture_names_real_functions():
    """Every row of a table that names a file and functions: the functions are defined in that file."""
    rows = re.findall(r"\]\((\.\./src/[^)]+\.py)\) \| (`[^|]+) \|", (ROOT / "docs" / "architecture.md").read_text())
    assert len(rows) > 40
    for file, functions in rows:
        defined = definitions((ROOT / "docs" / file).read_text())
        for function in re.findall(r"`([^`]+)`", functions):
            assert function in defined, f"docs/architecture.md names {function} in {file}"


def definitions(source: str) -> set[str]:
    """The names of functions, classes and methods in a file; a method is `Class.method`."""
    names = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return names


def test_the_architecture_lists_the_layers_in_order():
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text[text.index("## Layers") : text.index("## Where do I change")]
    assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == LAYERS


def test_the_reference_lists_every_public_name():
    text = (ROOT / "docs" / "reference" / "python.md").read_text()
    listed = re.findall(r"^::: glasshouse\.(\w+)$", text, re.MULTILINE)
    assert sorted(listed) == sorted(set(glasshouse.__all__) - {"__version__"})
    faces = re.findall(r"`(?:glasshouse\.)?(\w+)`", text[text.index("the packages") : text.index("what stands below")])
    shown = {name for face in faces for name in dir(getattr(glasshouse, face)) if name[0] != "_"}
    for module, name in re.findall(r"^::: (glasshouse\.api\.\w+)\.(\w+)$", text, re.MULTILINE):
        assert name in shown, f"{name} of {module} is shown by no package"


def test_the_site_has_every_page():
    """Every page of `docs/` is in the navigation of the site, except those of single claims, which the index links."""
    navigation = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)
    pages = {name.removeprefix("docs/") for name in DOCUMENTS if name.startswith("docs/")}
    pages = {name for name in pages if not name.startswith("claims/")} | {"claims/index.md"}
    notebooks = {path.with_suffix(".md").name for path in (ROOT / "docs").glob("*.ipynb")}
    from_docs = {name for name in navigation if not name.startswith("project/")}
    assert from_docs == pages | notebooks | {"index.md"}, "index.md is made from README.md"
    assert all((ROOT / name.removeprefix("project/")).exists() for name in navigation if name.startswith("project/"))


def without_code(markdown: str) -> str:
    """A page without its code blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", markdown, flags=re.DOTALL | re.MULTILINE))


@pytest.fixture
def run_blocks(monkeypatch):
    """A function that runs the Python blocks of a page in turn, with models of two layers and four steps."""
    real = glasshouse.train

    def train(recipe, **changes):
        name = changes.pop("name", None)
        sections = {section: {**table, **changes.get(section, {})} for section, table in TINY.items()}
        return real(recipe, name=name, device="cpu", **sections)

    monkeypatch.setattr("glasshouse.api.training.train", train)

    def run(page: str) -> tuple[int, dict]:
        """The number of blocks, and the names that they define."""
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
        scope: dict = {}
        for block in blocks:
            exec(compile(block, page, "exec"), scope)
        return len(blocks), scope

    return run


@pytest.mark.slow
def test_the_tour_can_be_taken(run_blocks, tmp_path):
    blocks, scope = run_blocks("docs/tour.md")
    assert blocks > 8
    assert (tmp_path / "attention.png").stat().st_size > 1000
    assert scope["other"].spec.model.position == "learned"
    assert glasshouse.open_run("learned-positions").name == "learned-positions"


def test_the_python_of_the_readme_runs(run_blocks, capsys):
    blocks, scope = run_blocks("README.md")
    assert blocks == 1
    assert scope["run"].spec.model.position == "learned"
    assert "blocks.1.attention.weights" in capsys.readouterr().out
