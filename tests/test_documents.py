"""The documentation says what the program does, and its code runs."""

import re
from pathlib import Path

import pytest

import glasshouse
from glasshouse import workbench
from glasshouse.cli import parts_page
from glasshouse.cli.pages import page

ROOT = Path(__file__).parent.parent
TINY = {
    "data": {"vocabulary": 300, "context": 32},
    "model": {"width": 16, "layers": 2, "heads": 2, "feed_forward": 32},
    "training": {"steps": 4, "batch": 4, "threads": 1, "precision": "fp32"},
    "evaluation": {"tokens": 256, "sample_tokens": 4},
}


def test_the_command_page_is_current():
    path = ROOT / "docs" / "commands.md"
    assert path.read_text() == page(), "docs/commands.md is not what the program says; run: make docs"


def test_the_page_of_parts_is_current():
    path = ROOT / "docs" / "parts.md"
    assert path.read_text() == parts_page.page(), "docs/parts.md is not what the parts say; run: make docs"


WRITTEN = ("tour", "log", "parts", "battery", "interop", "tasks", "results", "verdicts", "replicas")
PAGES = ["README.md", *(f"docs/{name}.md" for name in WRITTEN)]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    path = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        assert target.startswith("http") or (path.parent / target).exists(), f"{name} links to {target}"


def test_the_tour_can_be_taken(monkeypatch, tmp_path):
    """Every block of the tour in turn, on a model of two layers and four steps."""
    real = workbench.train

    def train(recipe, **changes):
        name = changes.pop("name", None)
        sections = {section: {**table, **changes.get(section, {})} for section, table in TINY.items()}
        return real(recipe, name=name, device="cpu", **sections)

    monkeypatch.setattr(workbench, "train", train)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tour.md").read_text(), flags=re.DOTALL)
    scope: dict = {}
    for block in blocks:
        exec(compile(block, "docs/tour.md", "exec"), scope)
    assert len(blocks) > 8
    assert (tmp_path / "attention.png").stat().st_size > 1000
    assert scope["other"].spec.model.position == "learned"
    assert glasshouse.open_run("learned-positions").name == "learned-positions"
