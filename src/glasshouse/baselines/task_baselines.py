"""The baselines of each task. A task that is not listed has none."""

from collections.abc import Iterator
from dataclasses import dataclass

from glasshouse.baselines import (
    multi_label_classifiers,
    text_classifiers,
    text_regressors,
    word_taggers,
    word_translators,
)
from glasshouse.baselines.baseline import Baseline, BaselineData, Family
from glasshouse.baselines.compressors import compressors
from glasshouse.baselines.field_baselines import Method, Score, field_family
from glasshouse.baselines.ngram_models import best_ngram_model
from glasshouse.metrics.metric import ACCURACY, BITS_PER_BYTE, BLEU, EXACT, MACRO_F1, MICRO_F1, RMSE, Metric


@dataclass(frozen=True)
class TaskBaselines:
    """The baselines of a task, their number, and the metrics that rank them: the first one that was measured counts."""

    train: Family
    count: int
    criteria: tuple[Metric, ...]


def _language_models(data: BaselineData) -> Iterator[Baseline]:
    yield from best_ngram_model(data)
    yield from compressors(data)


def _of_field(field: str, methods: tuple[Method, ...], score: Score, *criteria: Metric) -> TaskBaselines:
    return TaskBaselines(field_family(field, methods, score, criteria), len(methods), criteria)


TASKS = {
    "classify": _of_field("label", text_classifiers.METHODS, text_classifiers.score_classes, ACCURACY),
    "next-token": TaskBaselines(_language_models, 3, (BITS_PER_BYTE,)),
    "translate": _of_field("target", word_translators.METHODS, word_translators.score_translations, BLEU, EXACT),
    "regress": _of_field("value", text_regressors.METHODS, text_regressors.score_values, RMSE),
    "multi-label": _of_field(
        "labels", multi_label_classifiers.METHODS, multi_label_classifiers.score_label_sets, MICRO_F1, MACRO_F1
    ),
    "tag": _of_field("tags", word_taggers.METHODS, word_taggers.score_tags, ACCURACY),
}
