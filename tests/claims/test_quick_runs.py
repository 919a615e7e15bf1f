"""Every claim has a quick run: the specs of its studies resolve, and `glasshouse claim NAME --quick` goes to its end."""

import re
from pathlib import Path

import pytest

from glasshouse.claims import trials
from glasshouse.claims.bench import Bench
from glasshouse.specs import catalogue
from glasshouse.studies import arms
from tests.cli.program import call

# It has one arm, which is run with Slurm and without.
ONE_ARM = "slurm"


@pytest.mark.parametrize("name", [name for name in catalogue.names("claim") if name != ONE_ARM])
def test_the_specs_of_a_quick_run_resolve(name: str, tmp_path: Path) -> None:
    """Plans whose words in braces wait for earlier results are left to the quick run itself."""
    studies = {study.name: study for study in catalogue.find("claim", name).studies}
    bench = Bench(tmp_path, studies, first_seed=0, seeds=2, quick=True, device="cpu")
    for study in studies.values():
        if not re.search(r"\{[\w-]+\}", str((study.words, list(study.recipes.values())))):
            assert len(arms.expand(arms.parse(bench.words(study.name)))) > 1, study.name


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.names("claim"))
def test_a_quick_run_ends(name: str) -> None:
    claim = trials.find_claim(name)()
    if reason := trials.make_case(name, type(claim), []).missing or claim.obstacle("cpu", quick=True):
        pytest.skip(reason)
    outcome = call("claim", name, "--quick", "--device", "cpu")
    assert outcome.code == 0, outcome.err[-2000:]
    assert "This was a quick run, from which nothing follows" in outcome.out
