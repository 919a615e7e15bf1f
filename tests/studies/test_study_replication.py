"""Replications: fresh seeds for runs and for tuning, the specs of the original, and the words of both studies."""

from dataclasses import replace

from glasshouse.api import reports
from glasshouse.specs import spec_files
from glasshouse.specs.errors import RunError, SpecError
from glasshouse.studies import study_folder, study_replication, study_results
from glasshouse.studies.study_folder import FIRST_TUNING_SEED, Tuning
from tests.refusals import refused
from tests.studies.example_studies import make_design, planned_arms, write_study

NORMS = "model.norm=layer,rms"
BETTER = {"layer": [3.0, 3.1, 3.2], "rms": [2.0, 2.1, 2.2001]}
UNDECIDED = {"layer": [3.0, 3.1, 3.2], "rms": [2.0, 3.9, 3.3]}


def test_the_seeds_are_those_that_no_study_of_the_question_has_used() -> None:
    original = study_folder.create(make_design(NORMS, seeds=(0, 4, 9)), "norms")
    assert study_replication.fresh_seeds(original, None) == (10, 11, 12)
    study_folder.create(make_design(NORMS, seeds=(10, 11, 12), replicates="norms"), "norms-replication")
    study_folder.create(make_design(NORMS, seeds=(50, 51)), "another")
    assert study_replication.fresh_seeds(original, None) == (13, 14, 15)
    assert study_replication.fresh_seeds(original, 5) == (13, 14, 15, 16, 17)
    assert study_replication.fresh_seeds(original, "70,80") == (70, 80)
    with refused(SpecError, "11", "norms"):
        study_replication.fresh_seeds(original, "70,11")


def test_a_sequential_study_reserves_all_the_seeds_of_its_looks() -> None:
    design = make_design(NORMS, seeds=(0, 1, 2, 3))
    original = study_folder.create(
        replace(design, question=replace(design.question, until_decided=True, batch=4, max_seeds=10)), "norms"
    )
    assert study_replication.fresh_seeds(original, None) == (10, 11, 12, 13)


def test_tuning_has_fresh_seeds_too() -> None:
    untuned = study_folder.create(make_design(NORMS), "untuned")
    assert study_replication.first_tuning_seed(untuned) == FIRST_TUNING_SEED
    seeds = (FIRST_TUNING_SEED, FIRST_TUNING_SEED + 1)
    tuning = Tuning("training.learning_rate", {"layer": ["0.1"], "rms": ["0.1"]}, seeds)
    original = study_folder.create(make_design(NORMS, tuning=tuning), "norms")
    assert study_replication.first_tuning_seed(original) == FIRST_TUNING_SEED + 2
    again = replace(tuning, seeds=(FIRST_TUNING_SEED + 2, FIRST_TUNING_SEED + 3))
    study_folder.create(make_design(NORMS, tuning=again, seeds=(3, 4), replicates="norms"), "again")
    assert study_replication.first_tuning_seed(original) == FIRST_TUNING_SEED + 4


def test_the_arms_are_those_of_the_original_whatever_became_of_the_recipe() -> None:
    arms = planned_arms(NORMS, "training.steps=77")
    original = study_folder.create(make_design(NORMS, arms=arms), "norms")
    variants = study_replication.variants_of(original)
    assert [variant.name for variant in variants] == ["layer", "rms"]
    assert variants[0].spec.training.steps == 77
    assert [spec_files.to_toml(variant.spec) for variant in variants] == [arm.asked for arm in arms]


def test_a_replication_is_not_replicated() -> None:
    study_folder.create(make_design(NORMS), "norms")
    study_folder.create(make_design(NORMS, seeds=(3, 4), replicates="norms"), "again")
    assert study_replication.find_original("norms").name == "norms"
    with refused(SpecError, "again", "--replicate norms"):
        study_replication.find_original("again")
    with refused(RunError):
        study_replication.find_original("nowhere")


def test_both_studies_say_whether_the_verdict_was_the_same() -> None:
    original = write_study("norms", make_design(NORMS, finished=True), BETTER)
    assert study_results.collect(original).replications == ()
    design = make_design(NORMS, seeds=(3, 4, 5), replicates="norms", finished=True)
    again = write_study("norms-replication", design, BETTER)
    other = write_study("second", replace(design, seeds=(6, 7, 8), created=1.8e9), UNDECIDED)
    same, differs = study_results.collect(original).replications
    assert (same.original, same.replication, same.words) == ("norms", "norms-replication", {"rms": ("better", "better")})
    assert differs.words == {"rms": ("better", "undecided")}
    assert study_results.collect(again).replications == (same,)
    assert study_results.collect(other).replications == (differs,)
    page = reports.write_study(original) and original.report_file.read_text()
    assert 'href="../norms-replication/report.html"' in page
    page = reports.write_study(again) and again.report_file.read_text()
    assert 'href="../norms/report.html"' in page


def test_a_replication_without_its_original_has_a_report() -> None:
    again = write_study("again", make_design(NORMS, replicates="gone"), BETTER)
    (outcome,) = reports.write_study(again).replications
    assert (outcome.original, outcome.words, outcome.finished) == ("gone", {}, False)
