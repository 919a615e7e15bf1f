"""Claim: the speeches' language model is better on every text with a feed-forward part of 256 than with one of 100."""

from typing import ClassVar

from glasshouse.claims import margins, speech_texts
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, StudyPlan
from glasshouse.claims.from_scratch import speech_lm
from glasshouse.claims.from_scratch.speech_lm import COURSE_SETTING, FEED_FORWARD, NARROW, REPORTED, SIZES, WIDE
from glasshouse.claims.rules import lower
from glasshouse.claims.speech_texts import TEXTS, TRAIN

# The learning rate of the course, and the best of several for each size. Tuning needs held-out text: a tenth. The last
# checkpoint counts in both settings, so nothing is chosen during training.
SETTINGS = {"reported": "at the reported learning rate", "tuned": "at tuned learning rates"}
OVERRIDES = {"reported": (speech_lm.REPORTED_RATE,), "tuned": ("data.validation=0.1", "evaluation.every=100000")}
TUNE = {"reported": None, "tuned": "training.learning_rate=5e-4,1e-3,2e-3,4e-3,8e-3,1.6e-2"}


class FeedForwardSize(Claim):
    """Trains both sizes at the reported learning rate, and again each at its own best learning rate."""

    group = GROUPS[3]
    statement = "A feed-forward part of 256 is better than one of 100 on the training text and on all three test texts."
    source = "course work: a language model from scratch"
    reported = (
        "perplexity at 256 / 100: train 154.2 / 180.9, Obama 348.0 / 382.8, H. Bush 408.3 / 417.1, W. Bush 478.1 / 490.9"
    )
    why = (
        "A larger feed-forward part has more parameters and fits its text faster. At a low learning rate and few steps "
        "a model that learns faster is ahead on every text."
    )
    procedure = (
        "The course's language model is trained with a feed-forward part of 256 and with one of 100. The losses on "
        "each of the four texts after the last step are compared, paired by seed; the windows of a test text are a sample, "
        "those of the training text are not. Everything is done twice: with the course's learning rate of 1e-3 for both "
        "sizes, and with the best of six learning rates for each size, chosen on a held-out tenth of the training text."
    )
    would_change = (
        "More steps or a higher learning rate: a small text is soon memorised, and then a larger model gains nothing "
        "on new text."
    )
    needs = ("speeches-text",)
    studies = tuple(
        StudyPlan(
            f"sizes-{setting}",
            (*COURSE_SETTING, FEED_FORWARD, *OVERRIDES[setting]),
            metric="test.loss",
            tune=TUNE[setting],
            quick=speech_lm.QUICK,
        )
        for setting in SETTINGS
    )
    quantities: ClassVar = {
        f"{setting}/{text}/{size}": Quantity(
            f"loss on {name}, feed-forward {size}, {where}",
            f"{text}.loss",
            "nats per token",
            reported=f"perplexity {REPORTED[size][text]}" if setting == "reported" else "",
        )
        for setting, where in SETTINGS.items()
        for text, name in TEXTS.items()
        for size in SIZES
    }
    parts = tuple(
        lower(
            f"{setting}/{text}/{WIDE}",
            than=f"{setting}/{text}/{NARROW}",
            margin=margins.TOKEN_LOSS,
            name=f"lower loss on {name}",
            # The training text is not a sample of anything: the claim names it.
            items=text != TRAIN,
            setting=where,
        )
        for setting, where in SETTINGS.items()
        for text, name in TEXTS.items()
    )

    def measure(self, bench: Bench) -> Measurements:
        series, facts = {}, []
        for setting in SETTINGS:
            study = bench.study(f"sizes-{setting}")
            for size in SIZES:
                losses = speech_texts.losses(bench, study, size)
                series.update({f"{setting}/{text}/{size}": values for text, values in losses.items()})
            facts += bench.facts(study)
        return Measurements(series, tuple(facts))
