"""The runner of a study: a study whose seeds each start from the run of the same seed."""

from pathlib import Path

import pytest
import torch

from glasshouse.api import reports
from glasshouse.api.studies import Study
from glasshouse.runs.run import Run
from glasshouse.specs.errors import RunError
from glasshouse.studies import study_runner
from glasshouse.studies.run_queue import Place
from glasshouse.studies.study_folder import StudyFolder
from glasshouse.studies.study_options import StudyOptions
from glasshouse.training import cost_plan
from tests.refusals import refused
from tests.training import small_runs

SEEDS = (2, 7)


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """A folder with a pretrained run of each seed and the labelled rows. No test may change it."""
    folder = tmp_path_factory.mktemp("pretrained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        patch.setattr(cost_plan, "TIMING_STEPS", 1)
        for seed in SEEDS:
            small_runs.pretrain(folder, f"training.seed={seed}", "training.steps=2", name=f"seed-{seed}")
    return folder


def run_study(
    folder: Path, pretrained: Path, seeds: tuple[int, ...], replicas: str, *words: str, **options: str
) -> StudyFolder:
    words = (
        "classifier",
        *small_runs.FINE_TUNING,
        f"data.files={pretrained / 'rows.tsv'}",
        f"training.start_from={pretrained}/seed-{{seed}}",
        "training.epochs=0",
        "training.steps=2",
        *words,
    )
    asked = StudyOptions(metric="test.accuracy", seeds=seeds, name="study", replicas=replicas, **options)
    study = study_runner.run_study("compare", words, asked, Place("cpu"), reports.write_study, folder)
    assert isinstance(study, StudyFolder)
    return study


def backbone(run: Run) -> dict[str, torch.Tensor]:
    return {name: tensor for name, tensor in run.model.state_dict().items() if not name.startswith("head.")}


@pytest.mark.slow
@pytest.mark.parametrize("replicas", ["off", "2"])
def test_each_seed_starts_from_the_run_of_the_same_seed(
    replicas: str, pretrained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 1)
    study = Study(
        run_study(tmp_path, pretrained, SEEDS, replicas, "training.learning_rate=0", "training.freeze=none,backbone")
    )
    origins = {seed: backbone(Run(pretrained / f"seed-{seed}", "cpu")) for seed in SEEDS}
    assert not all(torch.equal(origins[2][name], origins[7][name]) for name in origins[2])
    for arm in ("none", "backbone"):
        for seed in SEEDS:
            run = study.run(arm, seed, "cpu")
            assert len(run.facts.get("together", ["."])) == (1 if replicas == "off" else 2)
            assert run.spec.training.start_from == str(pretrained / "seed-{seed}")
            started = backbone(run)
            assert all(torch.equal(started[name], origins[seed][name]) for name in origins[seed])


def test_a_seed_without_a_run_to_start_from_is_refused_before_anything_is_trained(pretrained: Path, tmp_path: Path) -> None:
    with refused(RunError, "'none'", "training.start_from", "seed-3"):
        run_study(tmp_path, pretrained, (*SEEDS, 3), "off", "training.freeze=none,backbone")
    assert not (tmp_path / "study").exists()


@pytest.mark.slow
def test_tuning_starts_from_the_runs_of_the_studys_seeds(
    pretrained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 1)
    folder = run_study(
        tmp_path, pretrained, SEEDS, "off", "training.freeze=none,backbone", tune="training.learning_rate=1e-4,1e-3"
    )
    design = folder.design()
    assert design.tuning is not None
    starts = [
        folder.tuning_run(arm, "1e-4", seed).spec().training.start_from
        for arm in design.arms
        for seed in design.tuning.seeds
    ]
    assert starts == [str(pretrained / f"seed-{seed}") for _ in design.arms for seed in SEEDS]
    assert all(design.tuning.chosen[arm.name] in ("1e-4", "1e-3") for arm in design.arms)
    assert all(arm.spec.training.start_from == str(pretrained / "seed-{seed}") for arm in design.arms)
