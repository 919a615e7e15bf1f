"""The claim slurm: its verdict on made-up values, and what it says without Slurm. `tests/slurm` has a run with one."""

import pytest

import glasshouse
from glasshouse.claims import trials
from glasshouse.claims.language_models import slurm_training
from glasshouse.claims.language_models.slurm_training import SlurmTraining
from glasshouse.results.claim import REFUTED, UPHELD
from glasshouse.specs.errors import RunError
from tests.claims.judging import judge
from tests.refusals import refused

SAME = {part.quantity: {0: 0.0, 1: 0.0} for part in SlurmTraining.parts}


def test_one_weight_that_differs_refutes():
    assert judge(SlurmTraining, {**SAME, "step": {0: 510.0, 1: 700.0}}).verdict == UPHELD
    for key in SAME:
        assert judge(SlurmTraining, {**SAME, key: {0: 0.0, 1: -1e-9}}).verdict == REFUTED


def test_without_slurm_it_says_what_is_missing(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with refused(RunError, "sbatch", "glasshouse claim slurm"):
        glasshouse.try_claim("slurm", device="cpu")
    assert not trials.trial_folder("slurm", 1).exists()
    [case] = [case for case in glasshouse.claims.list_claims() if case.name == "slurm"]
    assert "sbatch" in case.missing


@pytest.mark.parametrize(("progress", "step"), [("not started", 0), ("", 0), ("step 1,024 of 2,000, 3 s left", 1024)])
def test_the_step_that_the_list_of_jobs_shows(progress, step):
    job = glasshouse.cluster.JobStatus("a-1", "a", "", 7, "running", progress, "", None, "", True)
    assert slurm_training._shown_step(job) == step
