"""Every claim in the catalogue declares what a reader and a registration need."""

import subprocess
import sys

import pytest

from glasshouse.claims import registration
from glasshouse.claims.claim import GROUPS, Claim, LineFigure
from glasshouse.specs import catalogue

TEXTS = ("statement", "source", "reported", "why", "procedure", "would_change", "data")


@pytest.mark.parametrize("name", catalogue.names("claim"))
def test_a_claim_declares_its_plan(name):
    claim = catalogue.find("claim", name)
    assert issubclass(claim, Claim)
    for field in TEXTS:
        text = getattr(claim, field)
        assert text.strip() == text != "", field
    assert claim.statement.endswith(".")
    assert claim.procedure.endswith(".")
    assert claim.group in GROUPS
    assert set(claim.needs) <= set(catalogue.names("source"))
    assert claim.looks[0] >= 2
    assert any(part.decides for part in claim.parts)
    plan = registration.register(name, claim(), 1)
    assert registration.from_json(registration.to_json(plan), name) == plan
    lines = [line for figure in claim.figures if isinstance(figure, LineFigure) for line in figure.lines.values()]
    drawn = {key for line in lines for key in line.values()}
    assert drawn <= set(claim.quantities)
    assert "/" not in name


@pytest.mark.slow
def test_every_claim_loads_without_the_optional_packages():
    program = """
import sys
for name in ("fastapi", "uvicorn", "prometheus_client", "xllamacpp", "gguf", "transformers", "openai"):
    sys.modules[name] = None
from glasshouse.specs import catalogue
for name in catalogue.names("claim"):
    catalogue.find("claim", name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
