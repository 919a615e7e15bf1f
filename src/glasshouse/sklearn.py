"""Runs as scikit-learn's estimators: a classifier of texts that trains a recipe, and features from a frozen encoder.

Both work in its pipelines, cross-validation and grid searches. Weights stay in run folders: a pickle holds parameters and a
path. Knows nothing of how a model is trained or read.
"""

import json
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from glasshouse.records import atomic_files, progress_bar
from glasshouse.records import run_folder as folders
from glasshouse.records.run_folder import RunFolder
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import Run
from glasshouse.specs import spec_files
from glasshouse.specs.errors import DataError, GlasshouseError, Interrupted, RunError, SpecError
from glasshouse.specs.spec import Spec
from glasshouse.training import loop
from glasshouse.version import __version__

ROWS = "rows.jsonl"
# Larger than any number of steps: there is nothing held out to measure on the way, and nothing to resume.
NEVER = 10**9
# Training draws from torch's one random state, so the threads of a process take turns.
_turn = threading.Lock()


class TextClassifier(ClassifierMixin, BaseEstimator):
    """A recipe of the task `classify`, trained on texts and their classes.

    `epochs`, `width`, `layers`, `learning_rate`, `batch` and `dropout` replace what the recipe says, so that a grid can vary
    them; any other field goes into `overrides` ("model.position=rotary"). Nothing is held out and the last weights count,
    unless `overrides` says otherwise ("data.validation=0.1"). `class_weight` is None, "balanced", or a weight by class. On
    the CPU one thread is used ("training.threads=4" asks for more).

    Each `fit` makes a new run in `folder`. By default that is a temporary one, deleted with the estimator; once pickled, it
    is left to the system, because the pickle needs it.
    """

    def __init__(
        self,
        recipe: str = "classifier",
        overrides: Sequence[str] = (),
        epochs: float | None = None,
        width: int | None = None,
        layers: int | None = None,
        learning_rate: float | None = None,
        batch: int | None = None,
        dropout: float | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        seed: int = 0,
        device: str = "cpu",
        folder: str | None = None,
        verbose: bool = False,
    ) -> None:
        self.recipe = recipe
        self.overrides = overrides
        self.epochs = epochs
        self.width = width
        self.layers = layers
        self.learning_rate = learning_rate
        self.batch = batch
        self.dropout = dropout
        self.class_weight = class_weight
        self.seed = seed
        self.device = device
        self.folder = folder
        self.verbose = verbose

    def fit(self, X: Sequence[str], y: Sequence[Any]) -> "TextClassifier":
        """Train on texts and their classes."""
        texts = _texts(X)
        classes = column_or_1d(y)
        check_consistent_length(texts, classes)
        check_classification_targets(classes)
        self.classes_ = np.unique(classes)
        names = dict(zip(self.classes_.tolist(), _names(self.classes_), strict=True))
        labels = [names[each] for each in classes.tolist()]
        self._forget()
        parent = self.folder
        if parent is None:
            parent = tempfile.mkdtemp(prefix="glasshouse-")
            self._keeper = weakref.finalize(self, shutil.rmtree, parent, ignore_errors=True)
        run = _create(Path(parent).expanduser().absolute(), Path(self.recipe).stem, self._spec(names), texts, labels)
        try:
            with _turn, progress_bar.quiet(not self.verbose):
                loop.train(run, self.device)
        except Interrupted:
            # A grid search goes on after an error of ours; a person who stops it means the whole of it.
            raise KeyboardInterrupt from None
        except (GlasshouseError, OSError):
            run.discard_unbegun()
            raise
        self.run_folder_ = str(run.path)
        return self

    def predict_proba(self, X: Sequence[str]) -> np.ndarray:
        """The probability of each class, in the order of `classes_`."""
        texts, run = _texts(X), self.run_
        found = np.zeros((len(texts), len(self.classes_)))
        columns = {name: column for column, name in enumerate(_names(self.classes_))}
        for row, shares in enumerate(run.classify(texts)):
            for name, share in shares.items():
                found[row, columns[name]] = share
        return found

    def predict(self, X: Sequence[str]) -> np.ndarray:
        """The likeliest class of each text."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(1)]

    @property
    def run_(self) -> Run:
        """The trained run: its metrics, spec and model."""
        check_is_fitted(self, "run_folder_")
        if "_opened" not in self.__dict__:
            if not Path(self.run_folder_).is_dir():
                raise RunError(
                    "unknown-run",
                    f"the run folder {self.run_folder_} of this classifier is gone, and its weights with it; fit it again, "
                    "and give TextClassifier a folder of your own (folder=...) to keep",
                )
            self._opened = Run(self.run_folder_, self.device)
        return self._opened

    def _spec(self, names: Mapping[Any, str]) -> Spec:
        given = {
            "training.epochs": self.epochs,
            "model.width": self.width,
            "model.layers": self.layers,
            "training.learning_rate": self.learning_rate,
            "training.batch": self.batch,
            "model.dropout": self.dropout,
        }
        changes = [f"{field}={value}" for field, value in given.items() if value is not None]
        if isinstance(self.overrides, str):
            raise SpecError(
                "wrong-type", f"overrides={self.overrides!r} is a text; give a list of them: [{self.overrides!r}]"
            )
        # On a CPU nothing is chosen by measuring, so that the same data and seed give the same classifier; searches have
        # n_jobs for the other cores.
        fixed = {"precision": "fp32", "threads": 1} if self.device == "cpu" else {}
        training = {"seed": int(self.seed), "checkpoint_every": NEVER, "class_weights": self._weights(names), **fixed}
        data = {"files": [ROWS], "field": "text", "label": "label", "validation": 0.0, "test": 0.0}
        spec = resolve_spec.spec_of(self.recipe, *self.overrides, *changes, data=data, training=training)
        if spec.task != "classify":
            raise SpecError(
                "wrong-task", f"recipe={self.recipe!r} is of task={spec.task!r}; TextClassifier needs one of task='classify'"
            )
        return spec

    def _weights(self, names: Mapping[Any, str]) -> list[str]:
        if self.class_weight is None:
            return []
        if isinstance(self.class_weight, str):
            if self.class_weight != "balanced":
                raise SpecError(
                    "bad-option", f"class_weight={self.class_weight!r} is not None, 'balanced' or a dictionary of weights"
                )
            return ["balanced"]
        if strange := [each for each in self.class_weight if each not in names]:
            raise DataError(
                "unknown-label", f"class_weight names {strange[0]!r}, which is no class of y; they are: {list(names)}"
            )
        return [f"{names[each]}={float(weight)!r}" for each, weight in self.class_weight.items()]

    def _forget(self) -> None:
        """Let go of the run of an earlier fit."""
        for name in ("_opened", "run_folder_"):
            self.__dict__.pop(name, None)
        if keeper := self.__dict__.pop("_keeper", None):
            keeper()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_opened", None)
        if keeper := state.pop("_keeper", None):
            keeper.detach()
        return state

    def __sklearn_tags__(self) -> Any:
        return _of_text(super().__sklearn_tags__())


class TextFeatures(TransformerMixin, BaseEstimator):
    """A vector for each text from the encoder of a run that stays as it is; `run` is its name or its folder."""

    def __init__(self, run: str, pooling: str = "mean", device: str = "cpu", batch: int = 32) -> None:
        self.run = run
        self.pooling = pooling
        self.device = device
        self.batch = batch

    def fit(self, X: Sequence[str], y: Any = None) -> "TextFeatures":
        """Learns nothing; finds the run, and refuses one that gives no vectors."""
        self.n_features_out_ = int(self._opened().embed(["a"], self.pooling).shape[1])
        return self

    def transform(self, X: Sequence[str]) -> np.ndarray:
        """(texts, features)."""
        texts = _texts(X)
        return self._opened().embed(texts, self.pooling, self.batch).float().cpu().numpy()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """What the features are called."""
        check_is_fitted(self, "n_features_out_")
        return np.array([f"feature{index}" for index in range(self.n_features_out_)], dtype=object)

    def _opened(self) -> Run:
        asked = (str(self.run), self.device)
        if self.__dict__.get("_open", (None,))[0] != asked:
            self._open = (asked, Run(self.run, self.device))
        return self._open[1]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_open", None)
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = _of_text(super().__sklearn_tags__())
        tags.requires_fit = False
        return tags


def _texts(X: Any) -> list[str]:
    """The texts, without space around them, as they are when they are read from a file."""
    if isinstance(X, str):
        raise DataError("one-text", "X is one text; give a list of them")
    found = X.tolist() if hasattr(X, "tolist") else list(X)
    for place, text in enumerate(found):
        if not isinstance(text, str):
            raise DataError(
                "wrong-type", f"X[{place}] is of type {type(text).__name__}, and a text is needed; give a sequence of str"
            )
    return [text.strip() for text in found]


def _names(classes: np.ndarray) -> list[str]:
    """How each class is called in the run: as it is written, where that tells them apart."""
    names = [str(each).strip() for each in classes.tolist()]
    if len(set(names)) < len(names) or "" in names:
        return [f"class {index}" for index in range(len(names))]
    return names


def _create(parent: Path, stem: str, spec: Spec, texts: list[str], labels: list[str]) -> RunFolder:
    """A new run folder with its rows in it, under the first free of `stem`, `stem-2`, ..."""
    facts = {"format": folders.FORMAT, "glasshouse": __version__, "recipe": stem, "created": time.time(), "status": "new"}
    rows = [json.dumps({"label": label, "text": text}) for label, text in zip(labels, texts, strict=True)]
    attempt = 1
    while True:
        path = parent / (stem if attempt == 1 else f"{stem}-{attempt}")
        if not path.exists():
            here = replace(spec, data=replace(spec.data, files=(str(path / ROWS),)))
            try:
                with atomic_files.folder(path) as temporary:
                    atomic_files.write_text(temporary / ROWS, "\n".join(rows) + "\n")
                    atomic_files.write_text(temporary / "spec.toml", spec_files.to_toml(here))
                    atomic_files.write_json(temporary / "run.json", facts)
                return RunFolder(path)
            except FileExistsError:
                pass
        attempt += 1


def _of_text(tags: Any) -> Any:
    """The tags of an estimator whose X is a sequence of texts."""
    tags.input_tags.two_d_array = False
    tags.input_tags.one_d_array = True
    tags.input_tags.string = True
    tags.no_validation = True
    return tags
