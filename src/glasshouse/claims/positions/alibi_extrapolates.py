"""Claim: an ALiBi language model trained at 32 tokens keeps its perplexity at 64 and 128 tokens."""

from collections.abc import Mapping
from typing import ClassVar

from glasshouse.claims import margins
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity
from glasshouse.claims.positions import course_models, length_extrapolation
from glasshouse.claims.positions.course_models import SETTINGS
from glasshouse.claims.positions.length_extrapolation import LONGER, LONGEST, TRAINED
from glasshouse.claims.rules import lower, not_higher, zero

ALIBI = "alibi"
ARMS = (ALIBI, "rotary", "sinusoidal", "none")
# Half the trained length shows what a shorter context costs.
LENGTHS = (TRAINED // 2, TRAINED, *LONGER)
BIGRAM = 2


class AlibiExtrapolates(Claim):
    """Also measures other positions and none, because flatness alone may be nothing special."""

    group = GROUPS[1]
    statement = "Trained at 32 tokens, an ALiBi language model has a flat perplexity at 64 and 128 tokens."
    source = "course work on positions"
    reported = "a figure without numbers"
    why = (
        "ALiBi only sees distances, and it weighs down distant tokens more and more. A longer input therefore brings "
        "nothing that the model has not met before."
    )
    procedure = (
        "The course's language model is trained with ALiBi at 32 tokens and evaluated at 32, 64 and 128 tokens on the "
        "three test texts, each scored token having at least half of that length before it. Flat means that the perplexity "
        "rises by less than 5 %; a fall counts as flat. It is done with the course's learning rate and with the best of "
        "six, chosen on a held-out tenth of the training text. The same is asked of rotary and sinusoidal positions and of "
        "a model without positions, which do not decide: flatness alone does not single out ALiBi, and a bigram model is "
        "flat by definition."
    )
    would_change = (
        "Inputs many times as long, or a text in which the distant past helps: these test texts are separate sentences. A "
        "stronger claim, that ALiBi extrapolates better than no positions at all, is not what this trial decides; the "
        "comparisons beside the verdict show how the others do."
    )
    needs = ("speeches-text",)
    studies = tuple(course_models.language_models("language-model", setting, ARMS) for setting in SETTINGS)
    quantities: ClassVar[Mapping[str, Quantity]] = {
        **{
            key: quantity
            for setting, where in SETTINGS.items()
            for arm in ARMS
            for key, quantity in length_extrapolation.quantities(f"{setting}/{arm}", f"{arm}, {where}", LENGTHS).items()
        },
        **{f"{arm}/unreadable": length_extrapolation.unreadable_quantity(arm) for arm in ARMS},
        **{
            f"{setting}/bigram": Quantity(f"loss of a bigram model, {where}", "test.loss", length_extrapolation.NATS, per="")
            for setting, where in SETTINGS.items()
        },
    }
    parts = (
        *(zero(f"{arm}/unreadable", name=f"{arm}: 64 and 128 tokens can be read", decides=arm == ALIBI) for arm in ARMS),
        *(
            not_higher(
                f"{setting}/{arm}/rise-{length}",
                than=0.0,
                margin=margins.FLAT,
                name=f"{arm}: flat up to {length} tokens",
                items=True,
                setting=where,
                decides=arm == ALIBI,
            )
            for setting, where in SETTINGS.items()
            for arm in ARMS
            for length in LONGER
        ),
        *(
            lower(
                f"{setting}/{ALIBI}/{LONGEST}",
                than=f"{setting}/{other}",
                margin=margins.TOKEN_LOSS,
                name=f"{ALIBI} at {LONGEST} tokens: lower loss than {label}",
                setting=where,
                decides=False,
            )
            for setting, where in SETTINGS.items()
            for other, label in ((f"none/{LONGEST}", "no positions"), ("bigram", "a bigram model"))
        ),
    )
    figures = tuple(
        LineFigure(
            f"loss-by-length-{setting}",
            f"input length in tokens (trained at {TRAINED}), {where}",
            f"loss in {length_extrapolation.NATS}",
            {arm: {length: f"{setting}/{arm}/{length}" for length in LENGTHS} for arm in ARMS},
        )
        for setting, where in SETTINGS.items()
    )

    def measure(self, bench: Bench) -> Measurements:
        series, facts = {}, []
        for setting in course_models.settings(bench):
            study = bench.study(f"language-model-{setting}")
            for arm in ARMS:
                series.update(length_extrapolation.measure(bench, study, arm, f"{setting}/{arm}", LENGTHS))
                series[f"{arm}/unreadable"] = length_extrapolation.count_unreadable(bench, study, arm, LENGTHS)
                facts += length_extrapolation.facts(bench, study, arm, LENGTHS)
            units = series[f"{setting}/{ALIBI}/{TRAINED}"].values
            series[f"{setting}/bigram"] = course_models.ngram_loss(bench, study, BIGRAM, units)
            facts += bench.facts(study)
        return Measurements(length_extrapolation.without_unused_windows(series, self.parts), tuple(facts))
