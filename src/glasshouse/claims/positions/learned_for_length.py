"""Claim: learned positions cure the trouble of fixed encodings with long input. Judged at the trained length and beyond."""

from collections.abc import Mapping
from typing import ClassVar

from glasshouse.claims import margins
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity
from glasshouse.claims.positions import course_models, length_extrapolation
from glasshouse.claims.positions.course_models import SETTINGS
from glasshouse.claims.positions.length_extrapolation import LENGTHS, LONGER, LONGEST, NATS, TRAINED
from glasshouse.claims.rules import higher, lower, not_higher, zero

LEARNED, SINUSOIDAL = "learned", "sinusoidal"
SHORT_ARMS = (LEARNED, SINUSOIDAL, "one-hot", "alibi")
LONG_ARMS = (LEARNED, SINUSOIDAL)
LENGTHENED = "learned-lengthened"
# At the longest input, the batch has as many tokens per step as at the trained length.
LONG_WORDS = (
    f"data.context={LONGEST}",
    f"training.batch={16 * TRAINED // LONGEST}",
    f"evaluation.stride={LONGEST}",
)


class LearnedForLength(Claim):
    """Trains at 32 tokens and evaluates beyond; trains at 128 and evaluates there; then lengthens the position table."""

    group = GROUPS[1]
    statement = "Learned positions cure the trouble that fixed encodings have with very long input."
    source = "course work on positions"
    reported = "asserted, no figures"
    why = (
        "A fixed code was made for nobody's data, and far positions look alike or unlike anything seen in training. A "
        "learned table can give every position the vector that serves it best."
    )
    procedure = (
        "A cure must work beyond the length of training and at it. Beyond: trained at 32 tokens, the course's language "
        "model with learned positions must be able to read 64 and 128 tokens, without weights that were never trained. At "
        "it: trained at 128 tokens, with as many tokens per step, learned positions must have a lower loss than sinusoidal "
        "ones on the three test texts. Losses are compared with the course's learning rate and with the best of six for "
        "each, chosen on a held-out tenth of the training text. How much sinusoidal positions, a table lengthened by "
        "untrained rows and ALiBi lose beyond the trained length is shown beside it; which arms cannot be read is counted "
        "for all alike."
    )
    would_change = (
        "A way to extend a learned table that counts as part of it, such as interpolation between its rows or further "
        "training at the longer length. A text so long that far rows of the table are trained often."
    )
    needs = ("speeches-text",)
    studies = tuple(
        study
        for setting in SETTINGS
        for study in (
            course_models.language_models(f"trained-at-{TRAINED}", setting, SHORT_ARMS),
            course_models.language_models(f"trained-at-{LONGEST}", setting, LONG_ARMS, *LONG_WORDS),
        )
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        **{
            key: quantity
            for setting, where in SETTINGS.items()
            for arm, label in (*((arm, arm) for arm in SHORT_ARMS), (LENGTHENED, "learned, table lengthened"))
            for key, quantity in length_extrapolation.quantities(f"{setting}/{arm}", f"{label}, {where}").items()
        },
        **{
            key: quantity
            for setting, where in SETTINGS.items()
            for arm in LONG_ARMS
            for key, quantity in length_extrapolation.quantities(
                f"{setting}/long/{arm}", f"{arm}, trained at {LONGEST} tokens, {where}", (LONGEST,)
            ).items()
        },
        **{f"{arm}/unreadable": length_extrapolation.unreadable_quantity(arm) for arm in SHORT_ARMS},
    }
    parts = (
        *(
            zero(
                f"{arm}/unreadable",
                name=f"{arm}, trained at {TRAINED} tokens: 64 and 128 tokens can be read",
                decides=arm == LEARNED,
            )
            for arm in SHORT_ARMS
        ),
        *(
            lower(
                f"{setting}/long/{LEARNED}/{LONGEST}",
                than=f"{setting}/long/{SINUSOIDAL}/{LONGEST}",
                margin=margins.TOKEN_LOSS,
                name=f"trained at {LONGEST} tokens: lower loss there than {SINUSOIDAL}",
                items=True,
                setting=where,
            )
            for setting, where in SETTINGS.items()
        ),
        *(
            higher(
                f"{setting}/{SINUSOIDAL}/rise-{length}",
                than=0.0,
                margin=margins.FLAT,
                name=f"the trouble: the loss of {SINUSOIDAL} rises up to {length} tokens",
                items=True,
                setting=where,
                decides=False,
            )
            for setting, where in SETTINGS.items()
            for length in LONGER
        ),
        *(
            not_higher(
                f"{setting}/{arm}/rise-{length}",
                than=0.0,
                margin=margins.FLAT,
                name=f"{arm}: flat up to {length} tokens",
                items=True,
                setting=where,
                decides=False,
            )
            for setting, where in SETTINGS.items()
            for arm in (LENGTHENED, "alibi")
            for length in LONGER
        ),
    )
    figures = tuple(
        LineFigure(
            f"loss-by-length-{setting}",
            f"input length in tokens (trained at {TRAINED}), {where}",
            f"loss in {NATS}",
            {arm: {length: f"{setting}/{arm}/{length}" for length in LENGTHS} for arm in (*SHORT_ARMS, LENGTHENED)},
        )
        for setting, where in SETTINGS.items()
    )

    def measure(self, bench: Bench) -> Measurements:
        series, facts = {}, []
        for setting in course_models.settings(bench):
            short, long = bench.study(f"trained-at-{TRAINED}-{setting}"), bench.study(f"trained-at-{LONGEST}-{setting}")
            for arm in SHORT_ARMS:
                series.update(length_extrapolation.measure(bench, short, arm, f"{setting}/{arm}"))
                series[f"{arm}/unreadable"] = length_extrapolation.count_unreadable(bench, short, arm)
                facts += length_extrapolation.facts(bench, short, arm)
            key = f"{setting}/{LENGTHENED}"
            series.update(length_extrapolation.measure(bench, short, LEARNED, key, lengthen=True))
            for arm in LONG_ARMS:
                series.update(length_extrapolation.measure(bench, long, arm, f"{setting}/long/{arm}", (LONGEST,)))
            facts += bench.facts(short, long)
        return Measurements(length_extrapolation.without_unused_windows(series, self.parts), tuple(facts))
