"""The baselines of each task: trained once for each data set, and kept in the cache. Knows nothing of runs."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from glasshouse.baselines import linear_models, word_models
from glasshouse.baselines.baseline import Baseline, BaselineData, TaskBaselines
from glasshouse.baselines.field_baselines import of_field
from glasshouse.baselines.language_models import language_models
from glasshouse.data import corpus_shards
from glasshouse.data.documents import Document
from glasshouse.data.prepared_data import PreparedData, find_source
from glasshouse.data.sources.remote_files import cache_folder
from glasshouse.metrics.metric import ACCURACY, BITS_PER_BYTE, EXACT, MACRO_F1, MICRO_F1
from glasshouse.metrics.regression import RMSE
from glasshouse.metrics.translation import BLEU
from glasshouse.records import atomic_files, kept_json
from glasshouse.specs.spec import DataSpec
from glasshouse.tasks.base import Task

# The baselines of each task. A task that is not listed has none.
TASKS = {
    "classify": of_field("label", linear_models.CLASSIFIERS, linear_models.score_classes, ACCURACY),
    "next-token": TaskBaselines(language_models, 2, (BITS_PER_BYTE,)),
    "translate": of_field("target", word_models.TRANSLATORS, word_models.score_translations, BLEU, EXACT),
    "regress": of_field("value", linear_models.REGRESSORS, linear_models.score_values, RMSE),
    "multi-label": of_field(
        "labels", linear_models.MULTI_LABEL_CLASSIFIERS, linear_models.score_label_sets, MICRO_F1, MACRO_F1
    ),
    "tag": of_field("tags", word_models.TAGGERS, word_models.score_tags, ACCURACY),
}
# The version of the cache. It is raised when the same data would give other scores, other titles or another file layout.
FORMAT = 4
# Tokens that are decoded at a time, if the text of a prepared folder is needed.
DECODED_TOKENS = 100_000


def held_out_split(prepared: PreparedData) -> str:
    """The split that baselines and the run are compared on: test, else validation; empty if neither has data."""
    return next((split for split in ("test", "validation") if prepared.splits[split].tokens_count > 1), "")


def load_or_train(
    data: DataSpec,
    prepared: PreparedData,
    task: Task,
    task_name: str,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Baseline]:
    """The baselines of a task on prepared data. `task_name` is a key of `TASKS`."""
    file = _file(prepared, task_name)
    # What is missing or damaged is computed again.
    with suppress(OSError, ValueError):
        kept: list[Baseline] = kept_json.read(file, list[Baseline])
        return kept
    documents = partial(_decoded, prepared) if corpus_shards.folder_of(data) else find_source(data, task.columns).documents
    held_out = held_out_split(prepared)
    choice = "validation" if held_out == "test" and prepared.splits["validation"].tokens_count > 1 else ""
    baselines = []
    for baseline in TASKS[task_name].train(BaselineData(prepared, documents, held_out, choice)):
        baselines.append(baseline)
        progress(len(baselines) / TASKS[task_name].count)
    # Without a cache they are trained again.
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write_json(file, list(map(asdict, baselines)))
    return baselines


def _file(prepared: PreparedData, task_name: str) -> Path:
    # Only language models depend on how the tokenizer splits the text.
    tokens = prepared.tokenizer.digest() if task_name == "next-token" else ""
    key = json.dumps([FORMAT, prepared.fingerprint, task_name, tokens])
    return cache_folder() / "baselines" / f"{hashlib.blake2b(key.encode(), digest_size=12).hexdigest()}.json"


def _decoded(prepared: PreparedData, split: str) -> Iterator[Document]:
    """The text of a split from its tokens, which is all that a prepared folder has."""
    shard = prepared.splits[split]
    for begin in range(0, shard.tokens_count, DECODED_TOKENS):
        tokens = np.asarray(shard.tokens[begin : begin + DECODED_TOKENS])
        words = tokens[~np.isin(tokens, list(shard.separators))].tolist()
        yield Document(prepared.tokenizer.decode(words), continues=begin > 0)
