"""The report of a run: translations, scales of headline figures (guessing, baselines), and notes about what is missing."""

import dataclasses
import re
from pathlib import Path

import pytest

import glasshouse
from glasshouse.baselines.baseline_results import BaselineResult, BaselineResults
from glasshouse.inspection import run_report, translation_samples
from glasshouse.metrics.metric import ACCURACY, BITS_PER_BYTE, PERPLEXITY, Metric
from glasshouse.metrics.translation import BLEU, signatures
from glasshouse.pages.report_page import render
from glasshouse.records.run_entries import RunEntryReader
from glasshouse.results.report import Translated
from glasshouse.runs import suggestions
from tests.training import small_runs

from .letter_translation import END, PROMPT, train_translator


def test_the_page_has_the_translations_marks_exact_ones_and_states_the_metric_signatures(letter_translator):
    report = run_report.collect(letter_translator)
    assert [name for name, _ in report.headline if name.startswith("test")] == [
        "test chrF",
        "test exact match",
        "test loss",
    ]
    # Of the validation split the report shows the main figure of the index, and not all others.
    figure = RunEntryReader().read(letter_translator.folder.path).figure
    assert [entry for entry in report.headline if entry[0].startswith("validation")] == [figure]
    assert [curve.name for curve in report.quality] == ["validation"]
    translations = report.translations
    assert translations is not None
    assert [each.source for each in translations.prompts] == [PROMPT]
    assert translations.prompts[0].translation == letter_translator.translate([PROMPT])[0][0].text
    assert len(translations.pairs) == translation_samples.MOST_PAIRS
    assert all(each.reference == each.source[::-1] for each in translations.pairs)
    again = letter_translator.translate([each.source for each in translations.pairs])
    assert [each.translation for each in translations.pairs] == [best[0].text for best in again]
    right = Translated("ab <b>", "ba", "ba")
    page = render(
        dataclasses.replace(report, translations=dataclasses.replace(translations, pairs=(*translations.pairs, right)))
    )
    assert "ab &lt;b&gt;" in page
    assert page.count('aria-label="equals the reference"') == 1 + sum(each.exact for each in translations.pairs)
    assert "say &#34;abc&#34; &amp; &lt;i&gt;go&lt;/i&gt;" in page
    for signature in signatures().values():
        assert signature in page
    assert len(re.findall('<p class="sentence (?:source|translation)"', page)) == 2
    assert report.attention is not None
    assert report.attention.sources == (*PROMPT, END)


@pytest.mark.slow
def test_the_page_notes_that_the_data_has_changed():
    run = train_translator()
    Path("pairs.tsv").write_text("".join(f"{'a' * length}\tb\n" for length in range(1, 30)))
    report = run_report.collect(glasshouse.open_run("pairs"))
    assert any("has changed" in note for note in report.notes)
    assert report.translations is not None
    assert report.translations.pairs == ()
    assert report.translations.prompts[0].source == PROMPT
    render(report)
    assert suggestions.commands(run)[0] == f"glasshouse translate pairs '{PROMPT}'"


def test_the_page_notes_curves_of_few_evaluations(tmp_path):
    """Only if the user chose the interval: a run has eight evaluations by default, however short it is."""
    (tmp_path / "text.txt").write_text("The state of our union is strong, and we will keep it so for all.\n" * 60)
    small = [word for word in small_runs.DEMO if not word.startswith("evaluation.every")]
    small += ["evaluation.baselines=false", "data.source=", f"data.files={tmp_path / 'text.txt'}"]
    usual = glasshouse.train("demo-lm", *small, "training.steps=16", name="usual", device="cpu")
    assert sum("validation.loss" in row for row in usual.metrics) == 8
    assert "fewer than 8" not in run_report.collect(usual).curves_note
    few = glasshouse.train("demo-lm", *small, "training.steps=16", "evaluation.every=10", name="few", device="cpu")
    note = "The validation curve has 2 evaluations, fewer than 8"
    assert note in run_report.collect(few).curves_note
    assert note in few.folder.report_file.read_text()
    assert f"With evaluation.every={usual.spec.evaluation.every} it would have more" in few.folder.report_file.read_text()


def beside(metric: Metric, *figures: float) -> BaselineResults:
    """Baselines with these figures on the test split."""
    results = [BaselineResult(f"b{i}", f"baseline {i}", {metric.name: figure}, {}, {}) for i, figure in enumerate(figures)]
    own = {metric.name: 1.0}
    return BaselineResults("task", "data", "test", 1, metric.name, "texts", own, tuple(results))


def test_a_perplexity_stands_beside_even_guesses_and_the_best_baseline() -> None:
    found = run_report.scale(PERPLEXITY, {"perplexity": 93.2}, beside(PERPLEXITY, 700.123, 512.4), "test", choices=4096)
    assert found == "guessing evenly: 4,096; baseline 1: 512"
    assert (
        run_report.scale(PERPLEXITY, {}, beside(PERPLEXITY, 12.345), "test", 65)
        == "guessing evenly: 65.00; baseline 0: 12.35"
    )


def test_an_accuracy_stands_beside_the_commonest_class() -> None:
    values = {"accuracy": 0.8, "majority": 0.4}
    found = run_report.scale(ACCURACY, values, beside(ACCURACY, 0.5, 0.7), "test", choices=5)
    assert found == "guessing evenly: 20.00%; always the commonest class of this split: 40.00%; baseline 1: 70.00%"


def test_a_baseline_counts_on_its_own_split_only() -> None:
    assert run_report.scale(BITS_PER_BYTE, {}, beside(BITS_PER_BYTE, 2.0), "validation", 0) == "guessing evenly: 8"
    assert (
        run_report.scale(BITS_PER_BYTE, {}, beside(BITS_PER_BYTE, 2.0), "test", 0)
        == "guessing evenly: 8; baseline 0: 2.0000"
    )


def test_a_figure_without_a_scale_has_none() -> None:
    assert run_report.scale(BLEU, {"bleu": 20.0}, None, "test", 0) == ""
