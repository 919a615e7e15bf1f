"""Claim: a learned position table works as well as fixed sines and cosines."""

from collections.abc import Mapping
from typing import ClassVar

from glasshouse.claims import margins
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity
from glasshouse.claims.positions import course_models
from glasshouse.claims.positions.course_models import ACCURACY_MARGIN, SETTINGS
from glasshouse.claims.rules import lower, not_higher, not_lower

LEARNED, SINUSOIDAL, ONE_HOT, NONE = ARMS = ("learned", "sinusoidal", "one-hot", "none")
# The course means sines by a fixed table. One-hot vectors are another one, which is shown beside it.
FIXED = {SINUSOIDAL: True, ONE_HOT: False}


class LearnedPositions(Claim):
    """Trains the language model and the classifier with learned positions, with fixed ones and without any."""

    group = GROUPS[1]
    statement = "A position table learned by backpropagation works as well as a fixed one."
    source = "course work on positions"
    reported = "asserted, no figures"
    why = (
        "The table starts as random vectors, which are as different from each other as fixed codes are. Training can only "
        "adapt them to the task."
    )
    procedure = (
        "The course's language model and classifier are trained with learned and with sinusoidal positions, which enter as "
        "large as the token embeddings, and are otherwise the same. The loss of the language model on the three test texts "
        "must not be higher by 0.02 nats per token, and the accuracy of the classifier on the test segments that do not "
        "occur in the training file not lower by two percentage points, which are four of these 199 segments. Both are "
        "done with the course's learning rate and with the best of several for each arm, chosen on a held-out tenth of the "
        "training file. One-hot positions and no positions at all are shown beside them."
    )
    would_change = (
        "Longer inputs or fewer training steps, so that late rows of the table are rarely trained. If no positions at all "
        "do as well, the task does not tell positional encodings apart, and another task may."
    )
    needs = ("speeches-text", "course-speeches")
    looks = (32,)
    studies = tuple(
        plan
        for setting in SETTINGS
        for plan in (
            course_models.language_models("language-model", setting, ARMS),
            course_models.classifiers("classifier", setting, ARMS),
        )
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        key: quantity
        for setting, where in SETTINGS.items()
        for arm in ARMS
        for key, quantity in (
            (f"{setting}/loss/{arm}", Quantity(f"test loss, {arm}, {where}", "test.loss", "nats per token")),
            *course_models.accuracy_quantities(setting, arm).items(),
        )
    }
    parts = (
        *(
            part
            for setting, where in SETTINGS.items()
            for fixed, decides in FIXED.items()
            for part in (
                not_higher(
                    f"{setting}/loss/{LEARNED}",
                    than=f"{setting}/loss/{fixed}",
                    margin=margins.TOKEN_LOSS,
                    name=f"language model: loss as low as with {fixed} positions",
                    items=True,
                    setting=where,
                    decides=decides,
                ),
                not_lower(
                    f"{setting}/test-new/{LEARNED}",
                    than=f"{setting}/test-new/{fixed}",
                    margin=ACCURACY_MARGIN,
                    name=f"classifier: as accurate on new segments as with {fixed} positions",
                    items=True,
                    setting=where,
                    decides=decides,
                ),
            )
        ),
        *(
            lower(
                f"{setting}/loss/{LEARNED}",
                than=f"{setting}/loss/{NONE}",
                margin=margins.TOKEN_LOSS,
                name="language model: lower loss than without positions",
                items=True,
                setting=where,
                decides=False,
            )
            for setting, where in SETTINGS.items()
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        series, facts = {}, []
        for setting in course_models.settings(bench):
            language_model, classifier = bench.study(f"language-model-{setting}"), bench.study(f"classifier-{setting}")
            for arm in ARMS:
                series[f"{setting}/loss/{arm}"] = bench.item_values(language_model, arm, "test", "loss")
                series.update(course_models.accuracies(bench, classifier, setting, arm))
            facts += bench.facts(language_model, classifier)
        return Measurements(series, tuple(facts))
