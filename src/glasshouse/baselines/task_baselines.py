"""The baselines of each task. A task that is not listed has none."""

from dataclasses import dataclass

from glasshouse.baselines import linear_models, word_models
from glasshouse.baselines.baseline import Family
from glasshouse.baselines.field_baselines import Method, Score, field_family
from glasshouse.baselines.language_models import language_models
from glasshouse.metrics.metric import ACCURACY, BITS_PER_BYTE, BLEU, EXACT, MACRO_F1, MICRO_F1, RMSE, Metric


@dataclass(frozen=True)
class TaskBaselines:
    """The baselines of a task, their number, and the metrics that rank them: the first one that was measured counts."""

    train: Family
    count: int
    criteria: tuple[Metric, ...]


def _of_field(field: str, methods: tuple[Method, ...], score: Score, *criteria: Metric) -> TaskBaselines:
    return TaskBaselines(field_family(field, methods, score, criteria), len(methods), criteria)


TASKS = {
    "classify": _of_field("label", linear_models.CLASSIFIERS, linear_models.score_classes, ACCURACY),
    "next-token": TaskBaselines(language_models, 3, (BITS_PER_BYTE,)),
    "translate": _of_field("target", word_models.TRANSLATORS, word_models.score_translations, BLEU, EXACT),
    "regress": _of_field("value", linear_models.REGRESSORS, linear_models.score_values, RMSE),
    "multi-label": _of_field(
        "labels", linear_models.MULTI_LABEL_CLASSIFIERS, linear_models.score_label_sets, MICRO_F1, MACRO_F1
    ),
    "tag": _of_field("tags", word_models.TAGGERS, word_models.score_tags, ACCURACY),
}
