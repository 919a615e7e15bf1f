"""The documentation says what the program does, and its code runs."""

import re
from pathlib import Path

import pytest
from docs.generate.__main__ import PAGES

import glasshouse

ROOT = Path(__file__).parent.parent
TINY = {
    "data": {"vocabulary": 300, "context": 32},
    "model": {"width": 16, "layers": 2, "heads": 2, "feed_forward": 32},
    "training": {"steps": 4, "batch": 4, "threads": 1, "precision": "fp32"},
    "evaluation": {"tokens": 256, "sample_tokens": 4},
}


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name):
    assert (ROOT / "docs" / name).read_text() == PAGES[name](), f"docs/{name} is not what the program says; run: make docs"


WRITTEN = ("tour", "log", "parts", "battery", "interop", "tasks", "results", "verdicts", "replicas")
LINKED = ["README.md", *(f"docs/{name}.md" for name in WRITTEN)]


@pytest.mark.parametrize("name", LINKED)
def test_links_lead_somewhere(name):
    path = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        assert target.startswith("http") or (path.parent / target).exists(), f"{name} links to {target}"


def test_the_tour_can_be_taken(monkeypatch, tmp_path):
    """Every block of the tour in turn, on a model of two layers and four steps."""
    real = glasshouse.train

    def train(recipe, **changes):
        name = changes.pop("name", None)
        sections = {section: {**table, **changes.get(section, {})} for section, table in TINY.items()}
        return real(recipe, name=name, device="cpu", **sections)

    monkeypatch.setattr("glasshouse.api.training.train", train)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tour.md").read_text(), flags=re.DOTALL)
    scope: dict = {}
    for block in blocks:
        exec(compile(block, "docs/tour.md", "exec"), scope)
    assert len(blocks) > 8
    assert (tmp_path / "attention.png").stat().st_size > 1000
    assert scope["other"].spec.model.position == "learned"
    assert glasshouse.open_run("learned-positions").name == "learned-positions"
