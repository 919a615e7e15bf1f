"""The baselines of each task. A task that is not listed has none."""

from glasshouse.baselines import linear_models, word_models
from glasshouse.baselines.baseline import TaskBaselines
from glasshouse.baselines.field_baselines import of_field
from glasshouse.baselines.language_models import language_models
from glasshouse.metrics.metric import ACCURACY, BITS_PER_BYTE, EXACT, MACRO_F1, MICRO_F1
from glasshouse.metrics.regression import RMSE
from glasshouse.metrics.translation import BLEU

TASKS = {
    "classify": of_field("label", linear_models.CLASSIFIERS, linear_models.score_classes, ACCURACY),
    "next-token": TaskBaselines(language_models, 3, (BITS_PER_BYTE,)),
    "translate": of_field("target", word_models.TRANSLATORS, word_models.score_translations, BLEU, EXACT),
    "regress": of_field("value", linear_models.REGRESSORS, linear_models.score_values, RMSE),
    "multi-label": of_field(
        "labels", linear_models.MULTI_LABEL_CLASSIFIERS, linear_models.score_label_sets, MICRO_F1, MACRO_F1
    ),
    "tag": of_field("tags", word_models.TAGGERS, word_models.score_tags, ACCURACY),
}
