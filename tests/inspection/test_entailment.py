"""The inference metric: outputs of varied, known quality, correlations as defined, what is reported and what is refused."""

import json
from random import Random

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

import glasshouse
from glasshouse.data.sources.scenes import alterations, english, entailment_rules, parser
from glasshouse.data.sources.scenes.translations import ScenesGerman
from glasshouse.data.sources.scenes.translations_back import GermanScenes
from glasshouse.data.sources.scenes.wordings import wordings
from glasshouse.generation.sampling import Sampling
from glasshouse.inspection import entailment_metric, scene_outputs
from glasshouse.metrics import translation
from glasshouse.metrics.adequacy_correlation import agreement
from tests.refusals import refused

TINY = {
    "model": {"width": 16, "layers": 1, "heads": 2, "feed_forward": 32},
    "training": {"steps": 3, "epochs": 0.0, "batch": 8, "threads": 1, "precision": "fp32"},
    "evaluation": {"every": 100, "prompts": []},
}


def some_pairs(count):
    """Rows of captions with what truly holds of them."""
    chance = Random(0)
    for _ in range(count):
        meanings = [entailment_rules.described(chance) for _ in range(2)]
        sentences = [f"{english.caption(meaning, chance.choice(wordings(meaning)))}." for meaning in meanings]
        yield {"text": "\n".join(sentences), "label": entailment_rules.judge(*meanings)}
        yield {"text": "\n".join(sentences[:1] * 2), "label": "entailment"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory, shared_cache):
    """The folders of a translator and of a judge that have learned next to nothing."""
    folder = tmp_path_factory.mktemp("runs")
    rows = folder / "pairs.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in some_pairs(200)))
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        for name, recipe, data in (
            ("writer", "scene-translator", {}),
            ("judge", "scene-entailment", {"source": "", "files": [str(rows)]}),
        ):
            made[name] = glasshouse.train(recipe, name=name, device="cpu", data=data, **TINY).folder.path
    return made


def test_pairs_are_turned_round():
    there, back = (list(source.documents("test")) for source in (ScenesGerman(), GermanScenes()))
    assert [(d.text, d.fields["target"]) for d in there] == [(d.fields["target"], d.text) for d in back]
    assert ScenesGerman().fingerprint() != GermanScenes().fingerprint()


@pytest.mark.parametrize(("source", "language"), [(GermanScenes, "english"), (ScenesGerman, "german")])
def test_altered_captions_lose_as_much_as_was_changed(source, language):
    kept = {}
    for number, document in enumerate(source().documents("validation")):
        caption, changes = document.fields["target"], number % scene_outputs.CHANGES
        made = alterations.versions(caption, language, changes, Random(number))
        for kind, text in made.items():
            assert alterations.read(text, language), text
            kept.setdefault((kind, changes), []).append(parser.adequacy(parser.parse(caption), text))
        if not changes:
            assert made["swapped"] == caption
        else:
            # A word is exchanged for another, in place; the longest is "to the left of" for "over".
            assert abs(len(made["swapped"].split()) - len(caption.split())) <= 3
    assert set(kept["swapped", 0]) == set(kept["reworded", 0]) == {1.0}
    means = [np.mean(kept["swapped", changes]) for changes in range(scene_outputs.CHANGES)]
    assert means == sorted(means, reverse=True)
    assert means[-1] < 0.6
    assert kept["swapped", 1] == kept["reworded", 1]
    assert alterations.versions("no caption at all", language, 1, Random(0)) == {}
    assert alterations.versions("two circles two", language, 1, Random(0)) == {}


def test_statistics_are_those_of_other_packages_with_intervals_around_them():
    chance = np.random.default_rng(0)
    adequacy = chance.integers(0, 5, 300) / 4
    scores = {"good": adequacy + chance.normal(0, 0.1, 300), "bad": chance.normal(size=300), "inverse": -(adequacy**3)}
    scores["ties"] = scores["good"].round(1)
    found = agreement({**scores, "constant": np.ones(300)}, adequacy)
    assert found.pop("constant") == {}
    for name, each in found.items():
        assert each["pearson"].value == pytest.approx(stats.pearsonr(scores[name], adequacy).statistic)
        assert each["spearman"].value == pytest.approx(stats.spearmanr(scores[name], adequacy).statistic)
        assert each["area"].value == pytest.approx(roc_auc_score(adequacy == 1, scores[name]))
        assert all(estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9 for estimate in each.values())
    assert found["inverse"]["spearman"].value == pytest.approx(-1)
    assert found["good"]["pearson"].low > 0.9
    assert found["bad"]["pearson"].low < 0 < found["bad"]["pearson"].high
    assert found["bad"]["area"].low < 0.5 < found["bad"]["area"].high
    assert agreement({"good": scores["good"]}, np.ones(300)) == {"good": {}}
    assert set(agreement({"good": scores["good"]}, adequacy / 2)["good"]) == {"pearson", "spearman"}


def test_copies_of_a_source_do_not_narrow_an_interval():
    chance = np.random.default_rng(1)
    truth = chance.normal(size=40)
    score = truth + chance.normal(size=40)

    def found(*sources, times=9):
        return agreement({"score": np.tile(score, times)}, np.tile(truth, times), *sources)["score"]["pearson"]

    alone, copied, naive = found(times=1), found(np.tile(np.arange(40), 9)), found()
    assert copied.value == pytest.approx(alone.value)
    assert copied.high - copied.low == pytest.approx(alone.high - alone.low, rel=0.3)
    assert naive.high - naive.low < (copied.high - copied.low) / 2


def test_scores_of_single_sentences():
    found = translation.sentence_scores(["a red star", "a fish", "two"], ["a red star", "a red star", "a red star"])
    for name in ("bleu", "chrf"):
        assert found[name][0] == pytest.approx(100)
        assert found[name][0] > found[name][1] > found[name][2]


def test_samples_depend_on_the_seed_and_their_place_alone(folders):
    run = glasshouse.open_run(folders["writer"], device="cpu")
    texts = [document.text for document in GermanScenes().documents("test")][:9]
    sampled = scene_outputs.sample(run, texts, Sampling(temperature=1.0, seed=3))
    assert sampled == scene_outputs.sample(run, texts, Sampling(temperature=1.0, seed=3), batch=4)
    assert sampled != scene_outputs.sample(run, texts, Sampling(temperature=1.0, seed=4))
    greedy = [found[0].text for found in run.translate(texts, beams=1)]
    assert scene_outputs.sample(run, texts, Sampling(temperature=0.0)) == greedy


def test_a_judge_reads_what_it_learned_to_read(folders):
    judge = entailment_metric.Judge(glasshouse.open_run(folders["judge"], device="cpu"))
    assert judge.stop == "."
    assert judge.unknown(["two red circles", "zwei rote Kreise"]) == 0.5
    given = judge.probabilities(["a star", "two nemo."], ["a star\n", "a star"])
    plain = judge.run.classify(["a star.\na star.", "two nemo.\na star."])
    assert given.shape == (2, 3)
    for row, expected in zip(given, plain, strict=True):
        assert row == pytest.approx([expected[label] for label in entailment_metric.LABELS], abs=1e-5)


def test_every_split_has_its_figures(folders):
    found = glasshouse.evaluate(folders["writer"], device="cpu", metric="entailment", judge=folders["judge"], examples=12)
    assert set(found) == {"validation", "test"}
    for values in found.values():
        assert values["translated"] == 12
        assert 0 <= values["entailment_both"] <= values["entailment"] <= 1
        assert 0 <= values["adequacy"] <= 1
        assert values["unknown_share"] == 0
        assert {"bleu", "chrf", "exact"} <= set(values)
        assert values["outputs.swapped"] == values["outputs.reworded"] == 12
        assert values["outputs.all"] == sum(values[f"outputs.{kind}"] for kind in scene_outputs.KINDS)
        for score in ("bleu", "chrf", "entailment", "entailment_both"):
            low, high = (values[f"pearson.{score}.swapped.{end}"] for end in ("low", "high"))
            assert -1 <= low <= high <= 1
        assert values["spearman.bleu.swapped"] > 0.3, "with the wording kept, words are lost with facts"


def test_a_file_of_pairs_is_judged_too(folders, tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("ein Stern\tsome penguins waddle\nzwei Haie\ttwo sharks\n")
    found = glasshouse.evaluate(folders["writer"], file, "cpu", metric="entailment", judge=folders["judge"])
    assert set(found) == {str(file)}
    assert found[str(file)]["translated"] == 2
    assert found[str(file)]["unknown_share"] == pytest.approx(2 / 5)
    assert not [key for key in found[str(file)] if "." in key]


def test_what_cannot_be_judged_is_refused(folders):
    writer, judge = folders["writer"], folders["judge"]
    for arguments, code in (
        ({"metric": "entailment"}, "metric-without-judge"),
        ({"metric": "meteor", "judge": judge}, "unknown-metric"),
        ({"judge": judge}, "judge-without-metric"),
        ({"metric": "entailment", "judge": writer}, "not-a-judge"),
        ({"metric": "entailment", "judge": judge, "examples": 0}, "bad-option"),
    ):
        with refused(code):
            glasshouse.evaluate(writer, device="cpu", **arguments)
    with refused("not-a-translator", "'classify'"):
        glasshouse.evaluate(judge, device="cpu", metric="entailment", judge=judge)
