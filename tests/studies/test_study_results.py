"""The results of a study: values, costs and verdicts from its folder, also if arms diverged or are unfinished."""

import json
import math
import re
from dataclasses import replace

from glasshouse.api import page_index, reports
from glasshouse.pages import page_links
from glasshouse.results.index import PageLink
from glasshouse.specs.errors import GlasshouseError
from glasshouse.studies import study_folder, study_results, study_values
from glasshouse.studies.study_options import Question
from glasshouse.verdicts.verdict import VerdictRule
from tests.records.example_folders import REPORT
from tests.refusals import refused
from tests.studies.example_studies import make_design, write_run, write_study


def test_values_come_from_the_folder_alone() -> None:
    study = study_folder.create(make_design("model.norm=layer,rms"), "norms")
    layer, rms = study.design().arms
    for seed, value in ((0, 3.0), (1, 3.5), (2, 4.0)):
        write_run(study.run(layer, seed), layer.spec, value)
    write_run(study.run(rms, 0), rms.spec, 2.0)
    write_run(study.run(rms, 1), rms.spec, None, status="failed")
    write_run(study.run(rms, 2), rms.spec, None, status="training")
    values = study_values.final_values(study, study.design())
    assert values["layer"] == {0: 3.0, 1: 3.5, 2: 4.0}
    assert values["rms"].keys() == {0, 1}
    assert values["rms"][0] == 2.0
    assert math.isnan(values["rms"][1])
    with refused(GlasshouseError, "test.bleu", "validation.loss"):
        study_values.final_value(study.run(layer, 0), "test.bleu")


def test_costs_are_of_the_steps_taken() -> None:
    layer, rms = make_design("model.norm=layer,rms").arms
    with_flops = (replace(layer, step_flops=7), replace(rms, step_flops=7))
    study = study_folder.create(make_design("model.norm=layer,rms", arms=with_flops), "norms")
    for seed, stopped in enumerate((None, 8, 14)):
        write_run(study.run(layer, seed), layer.spec, 3.0)
        write_run(study.run(rms, seed), rms.spec, 3.0)
        if stopped:
            study.run(rms, seed).record(stopped=stopped)
    study.run(rms, 0).record(outcome={"validation": {"loss": 3.0}})
    whole, early = study_results.collect(study).arms
    assert (whole.steps, whole.tokens, whole.flops, whole.notes) == (20, 1280, 140, ("a note",))
    assert (early.steps, early.tokens, early.flops) == (14, 896, 98)
    assert early.notes[1].startswith("stopped early after 8 to 14 of 20 steps in 2 of 3 seeds")
    assert early.seconds == 2.0, "the mean over the runs that recorded their time"


def test_an_arm_that_diverged_has_a_verdict_sentence() -> None:
    study = study_folder.create(make_design("model.norm=layer,rms"), "norms")
    layer, rms = study.design().arms
    for seed in range(3):
        write_run(study.run(layer, seed), layer.spec, 3.0 + 0.1 * seed)
        write_run(study.run(rms, seed), rms.spec, None, status="failed")
    results = reports.write_study(study)
    assert study_results.verdict_sentences(results) == {
        "rms": "rms diverged in every seed (3 of 3): its loss was not finite"
    }
    assert results.arms[1].diverged == (0, 1, 2)
    assert "NaN" not in (study.path / "comparison.json").read_text()
    assert "diverged" in study.report_file.read_text()
    assert "diverged" in (study.path / "table.md").read_text()


def test_a_first_arm_that_diverged_leaves_nothing_to_compare_with() -> None:
    study = study_folder.create(make_design("model.norm=layer,rms"), "norms")
    layer, rms = study.design().arms
    for seed in range(3):
        write_run(study.run(layer, seed), layer.spec, None, status="failed")
        write_run(study.run(rms, seed), rms.spec, 3.0 + 0.1 * seed)
    (sentence,) = study_results.verdict_sentences(reports.write_study(study)).values()
    assert "layer diverged in every seed" in sentence
    assert "nothing to be compared with" in sentence


def test_the_page_and_the_reports_of_its_runs_lead_to_each_other() -> None:
    """Every run is linked, by paths that also hold after a move; a report that is made later is linked by the index."""
    losses = {"sinusoidal": [3.0, 3.1], "learned": [2.0, 2.1]}
    study = write_study("positions", make_design("model.position=sinusoidal,learned", seeds=(0, 1)), losses)
    first = study.run(study.design().arms[0], 0)
    page_index.write_page(first.report_file, REPORT)
    reports.write_study(study)
    found = dict(re.findall('<a data-run="([^"]*)" href="([^"]*)">', study.report_file.read_text()))
    assert list(found) == ["sinusoidal/seed-0", "sinusoidal/seed-1", "learned/seed-0", "learned/seed-1"]
    assert found["sinusoidal/seed-0"] == "sinusoidal/seed-0/report.html"
    assert found["learned/seed-1"] == "learned/seed-1/"
    assert all((study.path / address).exists() for address in found.values())
    later = study.path / "learned" / "seed-1" / "report.html"
    page_index.write_page(later, REPORT)
    for report in (first.report_file, later):
        assert page_links.links_of(report.read_text()) == [PageLink("the study positions", "../../report.html")]
    page_index.write(page_index.folders_of(study.path.parent))
    assert 'href="learned/seed-1/report.html">seed 1</a>' in study.report_file.read_text()
    assert [link.text for link in page_links.links_of(study.report_file.read_text())] == ["all runs and studies"]


def test_a_study_without_runs_has_a_report() -> None:
    study = study_folder.create(make_design("model.norm=layer,rms"), "norms")
    results = reports.write_study(study)
    assert results.status == "interrupted"
    assert all(arm.summary is None for arm in results.arms)


def test_a_sweep_lists_its_arms_by_value_after_the_first() -> None:
    question = Question(kind="sweep", words=("demo-lm", "model.layers=1..4"))
    study = study_folder.create(make_design("model.layers=1..4", question=question), "layers")
    for arm, value in zip(study.design().arms, (3.0, 4.0, 1.0, 2.0), strict=True):
        for seed in range(3):
            write_run(study.run(arm, seed), arm.spec, value + 0.01 * seed)
    results = study_results.collect(study)
    assert [arm.name for arm in results.arms] == ["1", "2", "3", "4"]
    assert any("3 has the best mean of 4 arms" in note for note in results.notes)


def test_a_verdict_that_one_seed_decides_comes_with_a_warning() -> None:
    differences = [-0.2, -0.05, -0.3, -0.15, -0.1]
    losses = {"layer": [3.0] * 5, "rms": [3.0 + difference for difference in differences]}
    rule = VerdictRule(margin=0.01)
    study = write_study("norms", make_design("model.norm=layer,rms", seeds=(0, 1, 2, 3, 7), rule=rule), losses)
    results = reports.write_study(study)
    assert results.arms[1].difference is not None
    fragile = results.arms[1].difference.fragile
    assert fragile is not None
    warning = f"one seed decides: without seed {fragile} the verdict would be another"
    assert study_results.verdict_sentences(results)["rms"].endswith(f"{warning}.")
    assert f"One seed decides: without seed {fragile}" in study.report_file.read_text()
    assert warning in (study.path / "table.md").read_text()
    losses = {"layer": [3.0] * 6, "rms": [2.0, 2.1, 2.05, 1.95, 1.9, 2.0]}
    steady = write_study("steady", make_design("model.norm=layer,rms", seeds=tuple(range(6)), rule=rule), losses)
    assert "one seed decides" not in "".join(study_results.verdict_sentences(reports.write_study(steady)).values())


def test_verdicts_are_stored_in_plain_words_and_a_quick_look_is_marked() -> None:
    question = Question(kind="compare", words=("demo-lm", "model.norm=layer,rms"), quick=True)
    study = study_folder.create(make_design("model.norm=layer,rms", question=question), "quick")
    layer, rms = study.design().arms
    for seed in range(3):
        write_run(study.run(layer, seed), layer.spec, 3.0 + 0.01 * seed)
        write_run(study.run(rms, seed), rms.spec, 2.5 + 0.01 * seed)
    results = reports.write_study(study)
    assert results.arms[0].plain == ""
    assert results.arms[1].plain.startswith("rms beat layer in 3 of 3 seeds: validation perplexity 12.3 instead of 20.3")
    assert results.arms[1].caution.startswith("a quick look")
    assert json.loads((study.path / "comparison.json").read_text())["arms"][1]["plain"] == results.arms[1].plain
    assert study_results.verdict_sentences(results)["rms"].startswith(results.arms[1].plain)
