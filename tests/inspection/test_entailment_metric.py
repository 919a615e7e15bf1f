"""The entailment metric: how a judge reads its pairs, which metrics are reported, and which options are refused."""

import pytest

import glasshouse
from glasshouse.data.sources.scenes.translations import GermanScenes
from glasshouse.generation.sampling_options import Sampling
from glasshouse.inspection import entailment_metric
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused


def test_a_judge_reads_texts_in_the_form_of_its_training_pairs(judge):
    entailment_judge = entailment_metric.Judge(glasshouse.open_run(judge, device="cpu"))
    assert entailment_judge.full_stop == "."
    assert entailment_judge.unknown_share(["two red circles", "zwei rote Kreise"]) == 0.5
    probabilities = entailment_judge.probabilities(["a star", "two nemo."], ["a star\n", "a star"])
    expected = entailment_judge.run.classify(["a star.\na star.", "two nemo.\na star."])
    assert probabilities.shape == (2, 3)
    for row, labels in zip(probabilities, expected, strict=True):
        assert row == pytest.approx([labels[label] for label in entailment_metric.LABELS], abs=1e-5)


@pytest.mark.slow
def test_every_split_has_its_metrics(scene_translator, judge):
    metrics = glasshouse.evaluate(scene_translator, device="cpu", metric="entailment", judge=judge, examples=12)
    assert set(metrics) == {"validation", "test"}
    for values in metrics.values():
        assert values["translated"] == 12
        assert 0 <= values["entailment_both"] <= values["entailment"] <= 1
        assert 0 <= values["adequacy"] <= 1
        assert values["unknown_share"] == 0
        assert {"bleu", "chrf", "exact"} <= set(values)
        assert values["outputs.swapped"] == values["outputs.reworded"] == 12
        assert values["outputs.all"] == sum(values[f"outputs.{kind}"] for kind in entailment_metric.KINDS)
        for score in ("bleu", "chrf", "entailment", "entailment_both"):
            low, high = (values[f"pearson.{score}.swapped.{end}"] for end in ("low", "high"))
            assert -1 <= low <= high <= 1
        assert values["spearman.bleu.swapped"] > 0.3, "with the same wording, words differ where facts differ"


def test_a_file_of_pairs_is_judged_too(scene_translator, judge, tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("ein Stern\tsome penguins waddle\nzwei Haie\ttwo sharks\n")
    run = glasshouse.open_run(scene_translator, device="cpu")
    metrics = run.evaluate(file, metric="entailment", judge=glasshouse.open_run(judge, device="cpu"))
    assert set(metrics) == {str(file)}
    assert metrics[str(file)]["translated"] == 2
    assert metrics[str(file)]["unknown_share"] == pytest.approx(2 / 5)
    assert not [key for key in metrics[str(file)] if "." in key]


def test_options_that_do_not_fit_are_refused(scene_translator, judge):
    for arguments, kind in (
        ({"metric": "entailment"}, GlasshouseError),
        ({"metric": "meteor", "judge": judge}, GlasshouseError),
        ({"judge": judge}, GlasshouseError),
        ({"metric": "entailment", "judge": scene_translator}, GlasshouseError),
        ({"metric": "entailment", "judge": judge, "examples": 0}, GlasshouseError),
    ):
        with refused(kind):
            glasshouse.evaluate(scene_translator, device="cpu", **arguments)
    with refused(GlasshouseError, "'classify'"):
        glasshouse.evaluate(judge, device="cpu", metric="entailment", judge=judge)


def test_samples_depend_only_on_the_seed_and_their_index(scene_translator):
    run = glasshouse.open_run(scene_translator, device="cpu")
    texts = [document.text for document in GermanScenes().documents("test")][:9]
    sampled = entailment_metric.sample(run, texts, Sampling(temperature=1.0, seed=3))
    assert sampled == entailment_metric.sample(run, texts, Sampling(temperature=1.0, seed=3), batch=4)
    assert sampled != entailment_metric.sample(run, texts, Sampling(temperature=1.0, seed=4))
    greedy = [n_best[0].text for n_best in run.translate(texts, beams=1)]
    assert entailment_metric.sample(run, texts, Sampling(temperature=0.0)) == greedy
