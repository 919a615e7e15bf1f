"""Defaults that adapt to the amount of the user's own data: the fields in `data.adapt`, with a line for each change."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.data.documents import SPLITS, Source
from glasshouse.formatting import size
from glasshouse.specs import declared
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec
from glasshouse.tokenizers.base import VocabularyTooLarge

# Fields that may change, unless the user names them.
ADAPTABLE = (
    *(f"data.{name}" for name in ("vocabulary", "context", "validation", "test")),
    *(f"model.{name}" for name in ("width", "layers", "heads", "feed_forward")),
    *("training.steps", "training.epochs", "evaluation.every"),
)
# Fields that may change besides if a recipe starts from pretrained weights.
FINE_TUNING = ("training.batch", "training.learning_rate", "training.freeze", "training.layer_decay")
# Fields that change together: if the user names one, all stay.
TOGETHER = (
    ("model.kind", "model.width", "model.layers", "model.heads", "model.head_width", "model.feed_forward"),
    ("training.steps", "training.epochs"),
    ("data.tokenizer", "data.vocabulary"),
    ("data.validation", "data.validation_files"),
    ("data.test", "data.test_files"),
)

# Evaluations in a run.
EVALUATIONS, FINE_TUNING_EVALUATIONS = 10, 8
# Bytes from which a text is large enough for the settings of a recipe.
LARGE_TEXT = 1_000_000
# Bytes of text for each entry of a byte-pair vocabulary: so many that most entries occur often.
BYTES_PER_ENTRY = 80
SMALLEST_VOCABULARY = 320
BYTES_PER_TOKEN = {"byte-pair": 3.0, "words": 6.0, "treebank-words": 6.0, "characters": 1.0}
# Fewer training tokens get a model of half the width and half the depth.
SMALL_TEXT_TOKENS = 100_000
# Passes over a small text. The weights of the best evaluation are kept, and later ones only cost time.
MOST_EPOCHS = 60
FEWEST_STEPS = 100
# Windows of text, or rows, that each held-out split should have.
HELD_OUT_WINDOWS, HELD_OUT_ROWS = 10, 50
LARGEST_CONTEXT = 256
# Steps of a run over rows.
FEWEST_ROW_STEPS, MOST_ROW_STEPS = 300, 20_000
MOST_ROW_EPOCHS = 60

# The rule of fine-tuning; `docs/fine-tuning.md` has the measurements behind the numbers.
# Passes over the rows: as many as give so many steps, within limits.
LEAST_STEPS = 200
# Tokens in a batch, padding not counted. Longer texts come in smaller batches, which bounds the memory.
BATCH_TOKENS = 4096
LARGEST_BATCH, SMALLEST_BATCH = 32, 8


@dataclass(frozen=True)
class FineTuning:
    """The settings of `training` for fewer than so many rows, and the most passes over them."""

    rows: float
    learning_rate: float
    most_epochs: float
    freeze: str = "none"
    layer_decay: float = 1.0


# With few rows only the head is trained: a few steps of everything else are too few to help. With some, the lower blocks,
# which hold what the pretraining learned of language, change less than the upper ones.
FEW_ROWS = FineTuning(rows=300, learning_rate=1e-2, most_epochs=60, freeze="backbone")
SOME_ROWS = FineTuning(rows=2000, learning_rate=3e-4, most_epochs=12, layer_decay=0.8)
MANY_ROWS = FineTuning(rows=math.inf, learning_rate=1e-4, most_epochs=4)


def regime(rows: int) -> FineTuning:
    return next(one for one in (FEW_ROWS, SOME_ROWS, MANY_ROWS) if rows < one.rows)


def fine_tuning_settings(rows: int, mean_length: float) -> dict[str, Any]:
    """Field -> value for training rows of a mean length in tokens, from a pretrained encoder."""
    chosen = regime(rows)
    batch = LARGEST_BATCH
    while batch > SMALLEST_BATCH and batch * mean_length > BATCH_TOKENS:
        batch //= 2
    epochs = min(max(LEAST_STEPS * batch / max(rows, 1), 3.0), chosen.most_epochs)
    steps = max(round(epochs * rows / batch), 1)
    return {
        "training.batch": batch,
        "training.epochs": round(epochs, 1),
        "training.learning_rate": chosen.learning_rate,
        "training.freeze": chosen.freeze,
        "training.layer_decay": chosen.layer_decay,
        "evaluation.every": max(steps // FINE_TUNING_EVALUATIONS, 1),
    }


def adaptable(named: Iterable[str], fine_tuned: bool = False) -> tuple[str, ...]:
    """The fields that may change if the user has named these. `fine_tuned`: the recipe starts from pretrained weights."""
    fixed = set(named)
    for group in TOGETHER:
        if fixed & set(group):
            fixed |= set(group)
    return tuple(name for name in (*ADAPTABLE, *(FINE_TUNING if fine_tuned else ())) if name not in fixed)


def check(spec: Spec) -> None:
    """Refuse a field that cannot adapt."""
    known = (*ADAPTABLE, *FINE_TUNING)
    if unknown := [name for name in spec.data.adapt if name not in known]:
        raise SpecError(f"names {unknown[0]!r}, which does not adapt to data; choose from {', '.join(known)}", "data.adapt")


@dataclass(frozen=True)
class DataFacts:
    """Bytes of text; for tables also the rows, and the 95th percentile and the mean of their lengths in words."""

    bytes: int
    rows: int = 0
    words: float = 0.0
    mean_words: float = 0.0


@dataclass
class _Changes:
    spec: Spec
    lines: list[str] = field(default_factory=list)

    def may(self, name: str) -> bool:
        return name in self.spec.data.adapt

    def set(self, name: str, value: Any, reason: str) -> None:
        old = declared.value_of(self.spec, name)
        if not self.may(name) or value == old:
            return
        self.spec = declared.with_section(self.spec, name, value)
        self.lines.append(f"{name}={value} instead of {old}: {reason}")


def measure(source: Source, columns: tuple[str, ...]) -> DataFacts:
    if not columns:
        return DataFacts(sum(source.bytes(split) for split in SPLITS))
    total, lengths = 0, []
    for split in SPLITS:
        for document in source.documents(split):
            texts = [document.text, *(document.fields[name] for name in ("target",) if name in columns)]
            total += sum(len(text.encode()) for text in texts)
            lengths.append(max(len(text.split()) for text in texts))
    if not lengths:
        return DataFacts(total)
    return DataFacts(total, len(lengths), float(np.quantile(lengths, 0.95)), float(np.mean(lengths)))


def adapt(spec: Spec, source: Source, columns: tuple[str, ...], specials: tuple[str, ...] = ()) -> tuple[Spec, list[str]]:
    """The spec that fits the data, with nothing left to adapt, and a line for each change."""
    facts = measure(source, columns)
    changes = _Changes(spec)
    if facts.rows:
        _adapt_to_rows(changes, facts)
    else:
        _adapt_to_text(changes, facts)
    if changes.spec.data.tokenizer == "byte-pair" and not changes.spec.data.tokenizer_file:
        if changes.spec.data != spec.data:
            progress, source = source.progress, prepared_data.find_source(changes.spec.data, columns)
            source.progress = progress
        _adapt_vocabulary(changes, facts, source, columns, specials)
    if changes.lines:
        changes.lines.append("a setting that you name stays as you name it")
    return settled(changes.spec), changes.lines


def _adapt_to_text(changes: _Changes, facts: DataFacts) -> None:
    data, reason = changes.spec.data, f"the text has {size(facts.bytes)}"
    tokens = facts.bytes / BYTES_PER_TOKEN.get(data.tokenizer, 3.0)
    if facts.bytes < LARGE_TEXT:
        for name, share in (("data.validation", data.validation), ("data.test", data.test)):
            if share and tokens * share < HELD_OUT_WINDOWS * data.context:
                changes.set(name, max(share, 0.1), reason)
        smallest = min(share for share in (changes.spec.data.validation, changes.spec.data.test, 1.0) if share)
        longest = max(1 << max(int(tokens * smallest / 2).bit_length() - 1, 0), 8)  # a power of two
        changes.set("data.context", min(data.context, longest), reason)
        if tokens < SMALL_TEXT_TOKENS:
            model = changes.spec.model
            if not model.width % 2 and not model.heads % 2 and model.layers > 1:
                for name in ("width", "layers", "heads", "feed_forward"):
                    changes.set(f"model.{name}", getattr(model, name) // 2, reason)
    spec = changes.spec
    per_step = spec.training.batch * spec.data.context
    train = tokens * (1 - spec.data.validation - spec.data.test)
    if steps := spec.training.steps:
        most = max(math.ceil(MOST_EPOCHS * train / per_step), FEWEST_STEPS)
        changes.set("training.steps", min(steps, most), f"{MOST_EPOCHS} passes over the text are enough")
    _adapt_evaluations(changes, changes.spec.training.steps or math.ceil(spec.training.epochs * train / per_step))


def _adapt_to_rows(changes: _Changes, facts: DataFacts) -> None:
    spec = changes.spec
    for name, share in (("data.validation", spec.data.validation), ("data.test", spec.data.test)):
        if share and facts.rows * share < HELD_OUT_ROWS:
            changes.set(name, max(share, 0.2), f"there are {facts.rows} rows")
    pieces = 1.2 if spec.data.tokenizer in ("words", "treebank-words") else 1.5
    if (length := facts.words * pieces) > spec.data.context:
        context = min(math.ceil(length / 16) * 16, LARGEST_CONTEXT)
        changes.set("data.context", context, f"one text in twenty has more than {facts.words:.0f} words")
    fine_tuned = any(map(changes.may, FINE_TUNING))
    if fine_tuned:
        data = changes.spec.data
        rows = round(facts.rows * (1 - data.validation - data.test))
        chosen = fine_tuning_settings(rows, min(facts.mean_words * pieces, data.context))
        if not changes.may("training.epochs"):
            del chosen["evaluation.every"]
        for name, value in chosen.items():
            changes.set(name, value, f"there are {facts.rows} rows")
    train = facts.rows * (1 - changes.spec.data.validation - changes.spec.data.test)
    per_epoch = max(train / changes.spec.training.batch, 1)
    if changes.may("training.epochs") and not fine_tuned and spec.training.epochs:
        enough = min(max(spec.training.epochs, FEWEST_ROW_STEPS / per_epoch), max(MOST_ROW_EPOCHS, spec.training.epochs))
        epochs = min(enough, max(MOST_ROW_STEPS / per_epoch, 1.0))
        if epochs != spec.training.epochs:
            changes.set("training.epochs", float(f"{epochs:.3g}"), f"there are {facts.rows} rows")
    if not (fine_tuned and changes.may("training.epochs")):
        training = changes.spec.training
        _adapt_evaluations(changes, training.steps or math.ceil(training.epochs * per_epoch))


def _adapt_evaluations(changes: _Changes, steps: int) -> None:
    changes.set("evaluation.every", max(math.ceil(steps / EVALUATIONS), 1), f"about {EVALUATIONS} evaluations")


def _adapt_vocabulary(
    changes: _Changes, facts: DataFacts, source: Source, columns: tuple[str, ...], specials: tuple[str, ...]
) -> None:
    """A vocabulary that the text can fill. A text that is small or has few different words is tokenised to find out."""
    data = changes.spec.data
    if not changes.may("data.vocabulary") or (facts.bytes >= LARGE_TEXT and _has_many_words(source, data.vocabulary)):
        return
    wanted = max(math.ceil(facts.bytes / BYTES_PER_ENTRY / 64) * 64, SMALLEST_VOCABULARY)
    vocabulary, reason = min(data.vocabulary, wanted), f"the text has {size(facts.bytes)}"
    try:
        smaller = replace(data, vocabulary=vocabulary)
        prepared_data.Preparation(smaller, source, columns, specials, source.progress).tokenizer()
    except VocabularyTooLarge as error:
        vocabulary, reason = error.possible, "the text has no more different pieces"
    changes.set("data.vocabulary", vocabulary, reason)


def _has_many_words(source: Source, vocabulary: int) -> bool:
    """Whether the first words of the training texts can fill a byte-pair vocabulary several times over."""
    words: set[str] = set()
    for document in source.documents("train"):
        words.update(document.text.split())
        if len(words) > vocabulary:
            return True
    return False


def apply(spec: Spec, adapted: Spec) -> Spec:
    """A spec with the values that another spec of the same data got, where it may change."""
    for name in spec.data.adapt:
        spec = declared.with_section(spec, name, declared.value_of(adapted, name))
    return settled(spec)


def settled(spec: Spec) -> Spec:
    """The spec with nothing left to adapt."""
    return declared.with_section(spec, "data.adapt", ())
