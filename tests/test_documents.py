"""The documentation says what the program does."""

from pathlib import Path

import pytest

from glasshouse.cli.pages import page

ROOT = Path(__file__).parent.parent


def test_the_command_page_is_current():
    path = ROOT / "docs" / "commands.md"
    assert path.read_text() == page(), "docs/commands.md is not what the program says; run: make docs"


@pytest.mark.parametrize("name", ["README.md", "docs/tour.md", "docs/log.md"])
def test_links_lead_somewhere(name):
    import re

    path = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        assert target.startswith("http") or (path.parent / target).exists(), f"{name} links to {target}"
