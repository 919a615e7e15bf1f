"""Control of the language models and classifiers from scratch: trials whose answers are known beforehand.

One thing under two names must come out equal, a planted effect must be found, and a trained model must beat trivial ones.
"""

from typing import ClassVar

from glasshouse.claims import control_series, margins, split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.from_scratch import speech_classifier, speech_lm
from glasshouse.claims.from_scratch.speech_classifier import OPPONENTS
from glasshouse.claims.rules import equal, higher, lower
from glasshouse.data.sources.speeches import TEST_NEW
from glasshouse.results.study import StudyResults

# The second name of an arm has other seeds. They are shifted back so that units pair.
SEED_OFFSET = 500
NAMES = {"first": 0, "second": SEED_OFFSET}
# Learning rates: that of the course, and one at which nothing is learned.
TRAINED, UNTRAINED = RATES = ("1e-3", "1e-9")
LOSS_MARGIN, ACCURACY_MARGIN = margins.TOKEN_LOSS, 2 * margins.ACCURACY
# Planted effect -> its size in margins.
PLANTED = {"large": 2.0, "small": 0.25}
TEST = "test-obama"
# Language models differ less between seeds than classifiers do, so fewer of them are enough.
LANGUAGE_MODELS = 32
LEARNING_RATES = f"training.learning_rate={','.join(RATES)}"
LANGUAGE_MODEL = (*speech_lm.COURSE_SETTING, LEARNING_RATES, "training.steps=500")
CLASSIFIER = (*speech_classifier.COURSE_SETTING, LEARNING_RATES, "training.epochs=0", "training.steps=500")


class FromScratchControl(Claim):
    """Trains the language model and the classifier twice under two names, and compares both with trivial opponents."""

    group = GROUPS[3]
    statement = (
        "A sound trial finds no difference between two names for one model, finds a planted effect of twice the "
        "margin, and sees that training helps."
    )
    source = "a control of this group of claims"
    reported = "known beforehand"
    why = "A trial that fails here would be wrong about other claims too."
    procedure = (
        "The course's language model and classifier are trained for 500 steps under two names, with different seeds. "
        "The two must be equal within the margin, in loss and in accuracy on new segments. An effect of twice the "
        "margin is added to the second, which must be found. The trained models must be better than untrained ones, "
        "and the classifier better than the commonest class. An effect of a quarter of the margin, a trigram model and "
        "a linear model are shown beside it, since their answers are not known beforehand."
    )
    would_change = "An error in the program or in its statistics."
    needs = ("speeches-text", "course-speeches")
    # The first trial, with 32 classifiers, could not show that two sets of them are equally accurate on 199 new segments.
    looks = (96,)
    is_control = True
    studies = tuple(
        study
        for name, offset in NAMES.items()
        for study in (
            StudyPlan(
                f"language-model-{name}",
                LANGUAGE_MODEL,
                metric="test.loss",
                most_seeds=LANGUAGE_MODELS,
                seed_offset=offset,
                quick=speech_lm.QUICK,
            ),
            StudyPlan(
                f"classifier-{name}",
                CLASSIFIER,
                metric=f"{TEST_NEW}.accuracy",
                seed_offset=offset,
                quick=speech_classifier.QUICK,
            ),
        )
    )
    quantities: ClassVar = {
        **{
            f"loss/{key}": Quantity(f"loss on Obama, {label}", f"{TEST}.loss", "nats per token", per=per)
            for key, label, per in (
                *((name, f"language model under its {name} name", "seed") for name in NAMES),
                *((size, f"second name with a planted {size} effect", "seed") for size in PLANTED),
                ("untrained", "language model that learns nothing", "seed"),
                ("trigram", "trigram model", ""),
            )
        },
        **{
            f"accuracy/{key}": Quantity(
                f"accuracy on new segments, {label}", f"{TEST_NEW}.accuracy", "%", 100.0, higher_is_better=True, per=per
            )
            for key, label, per in (
                *((name, f"classifier under its {name} name", "seed") for name in NAMES),
                *((size, f"second name with a planted {size} effect", "seed") for size in PLANTED),
                ("untrained", "classifier that learns nothing", "seed"),
                *((opponent, label, "") for opponent, label in OPPONENTS.items()),
            )
        },
    }
    parts = (
        equal("loss/second", "loss/first", LOSS_MARGIN, name="two names for one language model"),
        equal("accuracy/second", "accuracy/first", ACCURACY_MARGIN, name="two names for one classifier", items=True),
        higher("loss/large", "loss/first", LOSS_MARGIN, name="planted loss of twice the margin"),
        higher("accuracy/large", "accuracy/first", ACCURACY_MARGIN, name="planted accuracy of twice the margin", items=True),
        # A sound trial may also leave these two undecided.
        equal("loss/small", "loss/first", LOSS_MARGIN, name="planted loss of a quarter of the margin", decides=False),
        equal(
            "accuracy/small",
            "accuracy/first",
            ACCURACY_MARGIN,
            name="planted accuracy of a quarter of the margin",
            items=True,
            decides=False,
        ),
        lower("loss/first", "loss/untrained", LOSS_MARGIN, name="training lowers the loss"),
        higher("accuracy/first", "accuracy/untrained", ACCURACY_MARGIN, name="training raises the accuracy", items=True),
        higher(
            "accuracy/first",
            "accuracy/commonest",
            ACCURACY_MARGIN,
            name="more accurate than the commonest class",
            items=True,
        ),
        lower("loss/first", "loss/trigram", LOSS_MARGIN, name="lower loss than a trigram model", decides=False),
        higher(
            "accuracy/first",
            "accuracy/linear",
            ACCURACY_MARGIN,
            name="more accurate than a linear model",
            items=True,
            decides=False,
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        series, facts = {}, []
        for name, offset in NAMES.items():
            language_model, classifier = bench.study(f"language-model-{name}"), bench.study(f"classifier-{name}")
            series[f"loss/{name}"] = control_series.shift_units(
                bench.values(language_model, TRAINED, f"{TEST}.loss"), -offset
            )
            series[f"accuracy/{name}"] = control_series.shift_units(
                bench.item_values(classifier, TRAINED, TEST_NEW, "accuracy"), -offset
            )
            if name == "first":
                series |= _trivial(bench, language_model, classifier)
            facts += bench.facts(language_model, classifier)
        for size, effect in PLANTED.items():
            series[f"loss/{size}"] = control_series.plant(series["loss/second"], effect * LOSS_MARGIN)
            series[f"accuracy/{size}"] = control_series.plant(series["accuracy/second"], effect * ACCURACY_MARGIN)
        return Measurements(series, tuple(facts))


def _trivial(bench: Bench, language_model: StudyResults, classifier: StudyResults) -> dict[str, Series]:
    """The trivial opponents of the first language model and the first classifier."""
    untrained = bench.values(language_model, UNTRAINED, f"{TEST}.loss")
    trigram = speech_lm.trigram_scores(bench, language_model)[TEST]["loss"]
    answers = bench.cached("opponents", speech_classifier.opponent_answers)[TEST_NEW]
    return {
        "loss/untrained": untrained,
        "loss/trigram": split_scores.same_for_every(untrained.values, trigram),
        "accuracy/untrained": bench.item_values(classifier, UNTRAINED, TEST_NEW, "accuracy"),
        **{f"accuracy/{name}": split_scores.same_for_every(untrained.values, correct) for name, correct in answers.items()},
    }
