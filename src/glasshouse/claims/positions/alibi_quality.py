"""Claim: with ALiBi the classifier is as accurate and the language model better than with learned positions."""

from collections.abc import Mapping
from typing import ClassVar

from glasshouse.claims import margins, speech_texts
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity
from glasshouse.claims.positions import course_models
from glasshouse.claims.positions.course_models import ACCURACY_MARGIN, SETTINGS
from glasshouse.claims.rules import lower, not_lower
from glasshouse.claims.speech_texts import TEXTS, TRAIN

LEARNED, ALIBI, NONE = ARMS = ("learned", "alibi", "none")
OTHERS = {LEARNED: "learned positions", NONE: "no positions"}


class AlibiQuality(Claim):
    """Trains the language model and the classifier with learned positions, with ALiBi and without positions."""

    group = GROUPS[1]
    statement = (
        "The ALiBi classifier is as accurate as one with position embeddings, and the ALiBi language model has a lower "
        "perplexity on the training text and on all three test texts."
    )
    source = "course work on positions"
    reported = "a figure without numbers"
    why = (
        "ALiBi lets a token attend mostly to its neighbours from the first step on. A table of positions must learn from "
        "data that near tokens matter more."
    )
    procedure = (
        "The course's language model and classifier are trained with learned positions and with ALiBi and are otherwise "
        "the same. The language models are compared by their loss on the training text and on each of the three test "
        "texts, the classifiers by their accuracy on the test segments that do not occur in the training file, of which "
        "there are 199: it may be lower by less than two percentage points, or four segments. Everything is done twice: "
        "with the course's learning rate, and with the best of several for each arm, chosen on a held-out tenth of the "
        "training file. Models without positions are shown beside them, because what ALiBi gains may be what the table "
        "costs."
    )
    would_change = (
        "A longer training or a larger text, from which a table of positions can learn what ALiBi is given; or a position "
        "encoding that is better than both. More new test segments would make the answer about the classifier sharper."
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
        **{
            f"{setting}/{text}/{arm}": Quantity(f"loss on {name}, {arm}, {where}", f"{text}.loss", "nats per token")
            for setting, where in SETTINGS.items()
            for text, name in TEXTS.items()
            for arm in ARMS
        },
        **{
            key: quantity
            for setting in SETTINGS
            for arm in ARMS
            for key, quantity in course_models.accuracy_quantities(setting, arm).items()
        },
    }
    parts = tuple(
        part
        for other, opponent in OTHERS.items()
        for setting, where in SETTINGS.items()
        for part in (
            *(
                lower(
                    f"{setting}/{text}/{ALIBI}",
                    than=f"{setting}/{text}/{other}",
                    margin=margins.TOKEN_LOSS,
                    name=f"lower loss on {name} than with {opponent}",
                    # The training text is not a sample of anything: the claim names it.
                    items=text != TRAIN,
                    setting=where,
                    decides=other == LEARNED,
                )
                for text, name in TEXTS.items()
            ),
            not_lower(
                f"{setting}/test-new/{ALIBI}",
                than=f"{setting}/test-new/{other}",
                margin=ACCURACY_MARGIN,
                name=f"classifier as accurate on new segments as with {opponent}",
                items=True,
                setting=where,
                decides=other == LEARNED,
            ),
        )
    )

    def measure(self, bench: Bench) -> Measurements:
        series, facts = {}, []
        for setting in course_models.settings(bench):
            language_model, classifier = bench.study(f"language-model-{setting}"), bench.study(f"classifier-{setting}")
            for arm in ARMS:
                losses = speech_texts.losses(bench, language_model, arm)
                series.update({f"{setting}/{text}/{arm}": values for text, values in losses.items()})
                series.update(course_models.accuracies(bench, classifier, setting, arm))
            facts += bench.facts(language_model, classifier)
        return Measurements(series, tuple(facts))
