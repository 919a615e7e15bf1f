"""Runs as estimators: scikit-learn's contract, its pipelines and searches, class weights, pickles, and clear refusals."""

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

import glasshouse
from glasshouse.sklearn import TextClassifier, TextFeatures
from glasshouse.specs.errors import DataError, GlasshouseError, RunError
from tests.refusals import refused

WORDS = {"fruit": ["apple", "pear", "plum"], "tool": ["saw", "drill", "rasp"]}
OVERRIDES = ("model.heads=2", "model.head.hidden=8", "training.threads=1")
TINY = {"width": 16, "layers": 1, "epochs": 5, "learning_rate": 5e-3, "dropout": 0.0, "overrides": OVERRIDES}


def rows(count=48, rare=0.5):
    """Texts whose class is that of their words; `rare` is the share of tools."""
    chance = np.random.default_rng(0)
    classes = np.where(np.arange(count) < round(count * rare), "tool", "fruit")
    return [" ".join(chance.choice(WORDS[each], 4)) for each in classes], classes


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> TextClassifier:
    """A classifier that a test must not change."""
    return TextClassifier(**TINY, folder=str(tmp_path_factory.mktemp("runs"))).fit(*rows())


@pytest.mark.parametrize("estimator", [TextClassifier(**TINY), TextFeatures("some-run")], ids=["classifier", "features"])
def test_the_contract_is_kept(estimator):
    name = type(estimator).__name__
    for check in ("check_no_attributes_set_in_init", "check_get_params_invariance", "check_set_params"):
        getattr(estimator_checks, check)(name, estimator)
    estimator_checks.check_estimator_cloneable(name, estimator)
    estimator_checks.check_estimator_repr(name, estimator)
    assert clone(estimator).get_params() == estimator.get_params()


def test_it_learns_and_answers_in_its_own_classes(fitted, capfd):
    texts, classes = rows()
    assert is_classifier(fitted)
    assert fitted.classes_.tolist() == ["fruit", "tool"]
    assert fitted.score(texts, classes) > 0.9
    shares = fitted.predict_proba(np.array(["saw rasp", "plum", " apple pear "], dtype=object))
    assert shares.shape == (3, 2)
    assert shares.sum(1) == pytest.approx(1.0)
    assert fitted.predict(["saw rasp", "plum"]).tolist() == ["tool", "fruit"]
    assert fitted.run_.classify(["saw rasp"])[0]["tool"] == pytest.approx(shares[0, 1])
    assert fitted.run_.facts["status"] == "done"
    assert fitted.predict_proba([]).shape == (0, 2)


def test_the_same_seed_gives_the_same_and_training_is_quiet(capfd):
    texts, classes = rows()
    numbers = np.where(classes == "tool", 10, 9)  # as words, "10" would come first
    twins = [TextClassifier(**{**TINY, "epochs": 2}).fit(texts, numbers) for _ in range(2)]
    assert capfd.readouterr() == ("", "")
    first, second = (each.predict_proba(texts) for each in twins)
    assert (first == second).all()
    assert twins[0].classes_.tolist() == [9, 10]
    assert twins[0].score(texts, numbers) > 0.6
    other = TextClassifier(**{**TINY, "epochs": 2}, seed=1, verbose=True).fit(texts, numbers).predict_proba(texts)
    assert not np.allclose(first, other)
    assert "step" in capfd.readouterr().err


@pytest.mark.slow
def test_it_works_in_a_pipeline_cross_validation_and_a_grid():
    texts, classes = rows()
    upper = [text.upper() for text in texts]
    lower = FunctionTransformer(lambda found: [text.lower() for text in found])
    pipeline = make_pipeline(lower, TextClassifier(**{**TINY, "overrides": (*OVERRIDES, "model.head.wide=0")}))
    assert cross_val_score(pipeline, upper, classes, cv=2).min() > 0.8
    grid = {"textclassifier__learning_rate": [0.0, 5e-3]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(upper, classes)
    assert search.best_params_ == {"textclassifier__learning_rate": 5e-3}
    assert search.predict(["SAW RASP"]).tolist() == ["tool"]


@pytest.mark.slow
def test_a_grid_can_vary_overrides(tmp_path):
    texts, classes = rows(24)
    grid = {"overrides": [OVERRIDES, (*OVERRIDES, "model.position=rotary")]}
    search = GridSearchCV(TextClassifier(**{**TINY, "epochs": 1}, folder=str(tmp_path / "grid")), grid, cv=2)
    search.fit(texts, classes)
    found = sorted(path.name for path in (tmp_path / "grid").iterdir())
    assert found == ["classifier", *(f"classifier-{number}" for number in range(2, 6))], "a run for each fit"
    positions = {glasshouse.open_run(tmp_path / "grid" / name).spec.model.position for name in found}
    assert positions == {"learned", "rotary"}


def test_a_pickle_holds_the_weights_and_no_training_text(fitted, tmp_path):
    texts, _ = rows()
    expected = fitted.predict_proba(texts)
    written = pickle.dumps(fitted)
    assert texts[0].encode() not in written
    again = pickle.loads(written)
    assert again.run_folder_ != fitted.run_folder_
    assert again.get_params() == fitted.get_params()
    assert (again.predict_proba(texts) == expected).all()
    joblib.dump(again, tmp_path / "classifier.joblib")
    del again
    third = joblib.load(tmp_path / "classifier.joblib")
    assert (third.predict_proba(texts) == expected).all()
    assert not hasattr(clone(third), "run_folder_")


@pytest.mark.slow
def test_a_pickle_is_loaded_in_another_process_without_the_run(tmp_path):
    texts, classes = rows(12)
    one = TextClassifier(**{**TINY, "epochs": 1}, folder=str(tmp_path / "runs")).fit(texts, classes)
    expected = one.predict(texts).tolist()
    (tmp_path / "classifier.pickle").write_bytes(pickle.dumps(one))
    shutil.rmtree(tmp_path / "runs")
    program = (
        "import json, pickle, sys; one = pickle.load(open(sys.argv[1], 'rb')); "
        "print(json.dumps(one.predict(json.loads(sys.argv[2])).tolist()))"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "classifier.pickle"), json.dumps(texts)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == expected


def test_a_temporary_folder_goes_with_its_classifier(tmp_path):
    texts, classes = rows(12)
    one = TextClassifier(**{**TINY, "epochs": 1}).fit(texts, classes)
    path = Path(one.run_folder_)
    one.fit(texts, classes)
    assert not path.exists(), "it was trained anew"
    path = Path(one.run_folder_)
    other = pickle.loads(pickle.dumps(one))
    del one
    assert not path.exists()
    assert len(other.predict(texts)) == 12
    shutil.rmtree(Path(other.run_folder_).parent)
    with refused(RunError):
        TextClassifier.predict(unloaded(other), texts)


def unloaded(classifier: TextClassifier) -> TextClassifier:
    """The classifier as if its model had not been loaded yet."""
    classifier.__dict__.pop("_cached_run", None)
    return classifier


def test_what_was_not_fitted_or_cannot_be_is_refused(fitted):
    texts, classes = rows(12)
    with pytest.raises(NotFittedError):
        TextClassifier().predict(texts)
    with refused(GlasshouseError):
        fitted.predict("saw")
    with refused(GlasshouseError, "X[1]"):
        fitted.predict(["saw", 3])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        TextClassifier(**TINY).fit(texts, classes[:-1])
    with pytest.raises(ValueError, match="Unknown label type"):
        TextClassifier(**TINY).fit(texts, np.linspace(0.1, 0.9, 12))
    with refused(DataError):
        TextClassifier(**TINY).fit(texts, ["fruit"] * 12)
    with refused(GlasshouseError, "task='classify'"):
        TextClassifier("masked-model").fit(texts, classes)
    with refused(GlasshouseError, "'balanced'"):
        TextClassifier(class_weight="even").fit(texts, classes)
    with refused(GlasshouseError, "'bird'"):
        TextClassifier(class_weight={"bird": 2}).fit(texts, classes)
    failed = TextClassifier(**TINY)
    with pytest.raises(DataError):
        failed.fit(texts, ["fruit"] * 12)
    with pytest.raises(NotFittedError):
        failed.predict(texts)


def test_odd_rows_are_taken():
    texts = ["saw\nrasp\tdrill", "", 'a "quoted" plum', "apple", "saw " * 200, "plum"]
    classes = ["a=b, c", "x", "x", "x", "a=b, c", ""]
    one = TextClassifier(**{**TINY, "epochs": 1}, class_weight={"a=b, c": 3}).fit(texts, classes)
    assert one.classes_.tolist() == ["", "a=b, c", "x"]
    assert set(one.predict([*texts, "", "never seen"])) <= set(classes)


def test_class_weights_move_a_classifier_towards_the_rare(shared_cache):
    chance = np.random.default_rng(1)
    classes = np.where(np.arange(60) < 6, "tool", "fruit")
    texts = [" ".join(chance.choice(["saw", "plum", "box", "tin"], 3)) for _ in classes]  # nothing tells them apart
    given = {**TINY, "epochs": 8, "learning_rate": 3e-3}
    shares = {
        name: TextClassifier(**given, class_weight=weight).fit(texts, classes).predict_proba(texts)[:, 1].mean()
        for name, weight in (("none", None), ("balanced", "balanced"), ("dictionary", {"tool": 30.0}))
    }
    assert shares["none"] < 0.3 < shares["balanced"] < shares["dictionary"]


def test_features_of_a_frozen_run(fitted):
    texts, classes = rows()
    features = TextFeatures(fitted.run_folder_)
    found = features.fit_transform(texts)
    assert found.shape == (len(texts), 16)
    assert found.dtype == np.float32
    assert np.allclose(found, pickle.loads(pickle.dumps(features)).transform(texts))
    assert not np.allclose(found, TextFeatures(fitted.run_folder_, pooling="max").transform(texts))
    assert features.get_feature_names_out().shape == (16,)
    pipeline = make_pipeline(features, LogisticRegression())
    assert cross_val_score(pipeline, texts, classes, cv=2).min() > 0.9
    with refused(RunError):
        TextFeatures("nothing-of-the-kind").fit(texts)
    with refused(GlasshouseError):
        TextFeatures(fitted.run_folder_, pooling="middle").fit(texts)
