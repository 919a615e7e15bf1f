"""Estimators for scikit-learn: a text classifier that trains a recipe, and features from a frozen encoder.

Both work in pipelines, cross-validation and grid searches. The pickle of a trained classifier contains its weights, so that
it can go to another machine. Knows nothing of how a model is trained.
"""

import json
import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from glasshouse.records import atomic_files, checkpoint, progress_bar, run_folder, user_paths
from glasshouse.records.checkpoint import Checkpoint
from glasshouse.records.run_folder import RunFolder
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import Run
from glasshouse.specs import spec_files
from glasshouse.specs.errors import DataError, GlasshouseError, Interrupted, RunError, SpecError
from glasshouse.specs.spec import Spec
from glasshouse.training import loop

ROWS_FILE = "rows.jsonl"
# More than any number of steps: a run of `fit` is never resumed, so it needs no checkpoint before the last.
NEVER = 10**9
# Training uses the global random state of torch, so only one thread may train at a time.
_training_lock = threading.Lock()


class TextClassifier(ClassifierMixin, BaseEstimator):
    """A text classifier that trains a recipe with the task `classify`.

    `epochs`, `width`, `layers`, `learning_rate`, `batch` and `dropout` replace fields of the recipe, so that a grid search
    can vary them. Every other field can be changed with `overrides` ("model.position=rotary"). No rows are held out and the
    last weights are used, unless `overrides` changes this ("data.validation=0.1"). `class_weight` is None, "balanced", or a
    dictionary from class to weight. On the CPU, training uses one thread; "training.threads=4" sets another number.

    Each `fit` creates a new run in `folder`. The default is a temporary folder, which is deleted with the estimator. A
    pickle has the weights, the tokenizer and the spec of the run, and no training text. An estimator that is loaded from it
    has a temporary folder of its own.
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
        names = dict(zip(self.classes_.tolist(), _class_names(self.classes_), strict=True))
        labels = [names[value] for value in classes.tolist()]
        for name in ("_cached_run", "run_folder_"):
            self.__dict__.pop(name, None)
        if cleanup := self.__dict__.pop("_cleanup", None):
            cleanup()  # the folder of an earlier fit
        parent = self.folder or self._temporary_folder()
        run = _create(user_paths.expand(parent).absolute(), Path(self.recipe).stem, self._spec(names), texts, labels)
        try:
            with _training_lock, progress_bar.quiet(not self.verbose):
                loop.train(run, self.device)
        except Interrupted:
            # A grid search continues after other errors, but an interrupt must stop the whole search.
            raise KeyboardInterrupt from None
        except (GlasshouseError, OSError):
            run.delete_if_new()
            raise
        self.run_folder_ = str(run.path)
        return self

    def predict_proba(self, X: Sequence[str]) -> np.ndarray:
        """The probability of each class for each text, with the columns in the order of `classes_`."""
        texts, run = _texts(X), self.run_
        probabilities = np.zeros((len(texts), len(self.classes_)))
        columns = {name: column for column, name in enumerate(_class_names(self.classes_))}
        for row, prediction in enumerate(run.classify(texts)):
            for name, probability in prediction.items():
                probabilities[row, columns[name]] = probability
        return probabilities

    def predict(self, X: Sequence[str]) -> np.ndarray:
        """The most likely class of each text."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(1)]

    @property
    def run_(self) -> Run:
        """The trained run, with its metrics, spec and model."""
        check_is_fitted(self, "run_folder_")
        if "_cached_run" not in self.__dict__:
            if not Path(self.run_folder_).is_dir():
                remedy = "fit the classifier again, and set folder=... to keep its runs"
                raise RunError(f"the run folder {self.run_folder_} of this classifier no longer exists; {remedy}")
            self._cached_run = Run(self.run_folder_, self.device)
        return self._cached_run

    def _spec(self, names: Mapping[Any, str]) -> Spec:
        parameters = {
            "training.epochs": self.epochs,
            "model.width": self.width,
            "model.layers": self.layers,
            "training.learning_rate": self.learning_rate,
            "training.batch": self.batch,
            "model.dropout": self.dropout,
        }
        changes = [f"{field}={value}" for field, value in parameters.items() if value is not None]
        if isinstance(self.overrides, str):
            raise SpecError(f"is not a list; write overrides=[{self.overrides!r}]", "overrides", self.overrides)
        # On the CPU, precision and threads do not depend on the machine, so that the same data and seed give the same
        # classifier on another. A search can use the other cores with n_jobs.
        fixed = {"precision": "fp32", "threads": 1} if self.device == "cpu" else {}
        weights = {"class_weights": found} if (found := self._weight_overrides(names)) else {}
        training = {"seed": int(self.seed), "checkpoint_every": NEVER, **weights, **fixed}
        data = {"files": [ROWS_FILE], "field": "text", "label": "label", "validation": 0.0, "test": 0.0, "insist": True}
        spec = resolve_spec.spec_of(self.recipe, *self.overrides, *changes, data=data, training=training)
        if spec.task != "classify":
            raise SpecError(f"has task={spec.task!r}; choose a recipe with task='classify'", "recipe", self.recipe)
        return spec

    def _weight_overrides(self, names: Mapping[Any, str]) -> list[str]:
        """The value of training.class_weights."""
        if self.class_weight is None:
            return []
        if isinstance(self.class_weight, str):
            if self.class_weight != "balanced":
                raise SpecError("is not one of: None, 'balanced', a dictionary", "class_weight", self.class_weight)
            return ["balanced"]
        if unknown := [label for label in self.class_weight if label not in names]:
            raise DataError(f"class_weight has the key {unknown[0]!r}, which is not a class of y; use: {list(names)}")
        return [f"{names[label]}={float(weight)!r}" for label, weight in self.class_weight.items()]

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in super().__getstate__().items() if name not in ("_cached_run", "_cleanup")}
        if "run_folder_" in state:
            state["run_folder_"] = _packed(self.run_)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if isinstance(packed := self.__dict__.get("run_folder_"), dict):
            self.run_folder_ = str(_unpacked(packed, Path(self._temporary_folder()) / Path(self.recipe).stem))

    def _temporary_folder(self) -> str:
        """A new folder that is deleted with the estimator."""
        folder = tempfile.mkdtemp(prefix="glasshouse-")
        self._cleanup = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder

    def __sklearn_tags__(self) -> Any:
        return _with_text_input(super().__sklearn_tags__())


class TextFeatures(TransformerMixin, BaseEstimator):
    """A transformer from texts to the features of a frozen run; `run` is its name or its folder."""

    def __init__(self, run: str, pooling: str = "mean", device: str = "cpu", batch: int = 32) -> None:
        self.run = run
        self.pooling = pooling
        self.device = device
        self.batch = batch

    def fit(self, X: Sequence[str], y: Any = None) -> "TextFeatures":
        """Learn nothing; raise an error if the run does not exist or cannot compute features."""
        self.n_features_out_ = int(self._load_run().embed(["a"], self.pooling).shape[1])
        return self

    def transform(self, X: Sequence[str]) -> np.ndarray:
        """The features of each text, with the shape (texts, features)."""
        texts = _texts(X)
        return self._load_run().embed(texts, self.pooling, self.batch).float().cpu().numpy()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the features: feature0, feature1, ..."""
        check_is_fitted(self, "n_features_out_")
        return np.array([f"feature{index}" for index in range(self.n_features_out_)], dtype=object)

    def _load_run(self) -> Run:
        """The run; it is loaded again only if a parameter has changed."""
        key = (str(self.run), self.device)
        if self.__dict__.get("_cached_run", (None,))[0] != key:
            self._cached_run = (key, Run(self.run, self.device))
        return self._cached_run[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_cached_run"}

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = _with_text_input(super().__sklearn_tags__())
        tags.requires_fit = False
        return tags


def _texts(X: Any) -> list[str]:
    """Check the texts and strip surrounding whitespace, as reading them from a file does."""
    if isinstance(X, str):
        raise DataError("X is a single text; pass a list of texts")
    texts = X.tolist() if hasattr(X, "tolist") else list(X)
    if wrong := [(index, type(text)) for index, text in enumerate(texts) if not isinstance(text, str)]:
        raise DataError(f"X[{wrong[0][0]}] has the type {wrong[0][1].__name__}, not str; pass a sequence of str")
    return [text.strip() for text in texts]


def _class_names(classes: np.ndarray) -> list[str]:
    """The name of each class in the run: its value as text, or "class 0", ... if the texts are not unique or empty."""
    names = [str(value).strip() for value in classes.tolist()]
    if len(set(names)) < len(names) or "" in names:
        return [f"class {index}" for index in range(len(names))]
    return names


def _create(parent: Path, stem: str, spec: Spec, texts: list[str], labels: list[str]) -> RunFolder:
    """Create a run folder that contains its rows, under the first free name of `stem`, `stem-2`, ..."""
    rows = [json.dumps({"label": label, "text": text}) for label, text in zip(labels, texts, strict=True)]
    for path in (parent / name for name in run_folder.numbered_names(stem)):
        with_rows = replace(spec, data=replace(spec.data, files=(str(path / ROWS_FILE),)))
        if not path.exists():
            with suppress(FileExistsError):  # another process was sooner
                run = run_folder.create_at(path, with_rows, stem)
                atomic_files.write_text(path / ROWS_FILE, "\n".join(rows) + "\n")
                return run
    raise AssertionError


def _packed(run: Run) -> dict[str, Any]:
    """What a run needs to classify, as values that a pickle can contain: text, numbers, and safetensors as bytes."""
    from safetensors.torch import save

    weights = {name: tensor.contiguous() for name, tensor in run.saved_weights().items()}
    return {
        "spec": spec_files.to_toml(run.spec),
        "facts": json.dumps(run.facts),
        "tokenizer": run.folder.tokenizer_file.read_text(encoding="utf-8"),
        "step": run.model_step(),
        "weights": save(weights),
    }


def _unpacked(packed: Mapping[str, Any], path: Path) -> Path:
    from safetensors.torch import load

    with atomic_files.folder(path) as temporary:
        run = RunFolder(temporary)
        atomic_files.write_text(temporary / "spec.toml", packed["spec"])
        atomic_files.write_text(temporary / "run.json", packed["facts"])
        atomic_files.write_text(run.tokenizer_file, packed["tokenizer"])
        saved = Checkpoint(int(packed["step"]), {"model": load(packed["weights"])}, {"best": {}})
        checkpoint.save(run.checkpoints, saved)
    return path


def _with_text_input(tags: Any) -> Any:
    tags.input_tags.two_d_array = False
    tags.input_tags.one_d_array = True
    tags.input_tags.string = True
    tags.no_validation = True
    return tags
