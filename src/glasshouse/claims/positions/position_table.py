"""Claim: sinusoidal positions generalise better to longer input than one-hot ones. The others are ranked for comparison."""

from collections.abc import Mapping
from typing import ClassVar

from glasshouse.claims import margins
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity
from glasshouse.claims.positions import course_models, length_extrapolation
from glasshouse.claims.positions.course_models import SETTINGS
from glasshouse.claims.positions.length_extrapolation import LENGTHS, LONGEST, NATS, TRAINED, TWICE
from glasshouse.claims.rules import higher, lower, zero

SINUSOIDAL, ONE_HOT = DECIDING = ("sinusoidal", "one-hot")
RANKED = ("learned", "relative", "relative-buckets", "alibi", "rotary", "none")
ARMS = (*DECIDING, *RANKED)
# Seeds of the positional encodings that are ranked and do not decide.
RANKED_SEEDS = 8
UNIGRAM = 1
# How large the fixed codes are. A one-hot vector has one entry that is not 0, so codes that are as large as the embeddings
# have entries eight times as large as codes with the amplitude of the sines (0.0625, which the sines have by themselves).
SIZES = {"embeddings": "codes as large as the embeddings", "amplitude": "codes with entries as large as the sines"}
SIZE_WORDS = {"embeddings": (), "amplitude": ("model.position_scale=0.0625",)}
WITHIN_WIDTH = {
    (size, setting): f"{TWICE} tokens, {what}, {where}"
    for size, what in SIZES.items()
    for setting, where in SETTINGS.items()
}
BEYOND_WIDTH = f"{LONGEST} tokens, more than one-hot vectors of width 64 can number"


class PositionTable(Claim):
    """Trains the language model with every positional encoding; evaluates at one, two and four times its length."""

    group = GROUPS[1]
    statement = "Sinusoidal positions generalise better to input longer than that of training than one-hot positions do."
    source = "course work on positions: a comparison of position encodings"
    reported = "asserted, no figures"
    why = (
        "Sines and cosines are defined at every position and change smoothly, so a new position resembles those of "
        "training. A one-hot vector of a new position has nothing in common with any other, and there are only as many as "
        "the model is wide."
    )
    procedure = (
        "The course's language model, 64 wide, is trained at 32 tokens with each positional encoding. At 64 tokens, which "
        "one-hot vectors can still number, the loss on the test texts must rise less with sinusoidal than with one-hot "
        "positions: with codes as large as the token embeddings and with equally large entries, at the course's learning "
        "rate and at the best of six for each, chosen on a held-out tenth of the training text. At 128 tokens, where "
        "one-hot vectors end, sinusoidal positions must be readable and have a lower loss than a model of single words. The "
        "other encodings are ranked and do not decide."
    )
    would_change = (
        "A wider model, in which one-hot vectors can number more positions. Smaller codes: a code that is hardly noticed "
        "hardly disturbs at new positions. A reader of long texts who cuts them into windows of 64 tokens: the comparison "
        "beside the verdict shows what one-hot positions lose by that."
    )
    needs = ("speeches-text",)
    studies = (
        *(
            course_models.language_models(size, setting, DECIDING, *SIZE_WORDS[size])
            for size in SIZES
            for setting in SETTINGS
        ),
        *(
            course_models.language_models("other-positions", setting, RANKED, most_seeds=RANKED_SEEDS)
            for setting in SETTINGS
        ),
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        **{
            key: quantity
            for setting, where in SETTINGS.items()
            for arm, size in (
                *((arm, size) for size in SIZES for arm in DECIDING),
                *((arm, "embeddings") for arm in RANKED),
            )
            for key, quantity in length_extrapolation.quantities(
                f"{setting}/{size}/{arm}", f"{arm}, {SIZES[size]}, {where}" if arm in DECIDING else f"{arm}, {where}"
            ).items()
        },
        **{f"{arm}/unreadable": length_extrapolation.unreadable_quantity(arm) for arm in ARMS},
        **{
            f"{setting}/unigram": Quantity(f"loss of a model of single words, {where}", "test.loss", NATS, per="")
            for setting, where in SETTINGS.items()
        },
    }
    parts = (
        *(
            lower(
                f"{setting}/{size}/{SINUSOIDAL}/rise-{TWICE}",
                than=f"{setting}/{size}/{ONE_HOT}/rise-{TWICE}",
                margin=margins.TOKEN_LOSS,
                name=f"the loss rises less from {TRAINED} to {TWICE} tokens",
                items=True,
                setting=where,
            )
            for (size, setting), where in WITHIN_WIDTH.items()
        ),
        zero(f"{SINUSOIDAL}/unreadable", name=f"{SINUSOIDAL} positions can be read at every length", setting=BEYOND_WIDTH),
        higher(
            f"{ONE_HOT}/unreadable",
            than=f"{SINUSOIDAL}/unreadable",
            margin=0.5,
            name=f"{ONE_HOT} positions cannot be read at {LONGEST} tokens",
            setting=BEYOND_WIDTH,
        ),
        *(
            lower(
                f"{setting}/embeddings/{SINUSOIDAL}/{LONGEST}",
                than=f"{setting}/unigram",
                margin=margins.TOKEN_LOSS,
                name=f"the loss at {LONGEST} tokens is lower than that of a model of single words, {where}",
                setting=BEYOND_WIDTH,
            )
            for setting, where in SETTINGS.items()
        ),
        *(
            lower(
                f"{setting}/{size}/{SINUSOIDAL}/{LONGEST}",
                than=f"{setting}/{size}/{ONE_HOT}/{TWICE}",
                margin=margins.TOKEN_LOSS,
                name=f"{SINUSOIDAL} at {LONGEST} tokens: lower loss than {ONE_HOT} in windows of {TWICE}",
                setting=f"{SIZES[size]}, {SETTINGS[setting]}",
                decides=False,
            )
            for size, setting in WITHIN_WIDTH
        ),
    )
    figures = tuple(
        LineFigure(
            f"loss-by-length-{setting}",
            f"input length in tokens (trained at {TRAINED}), {where}",
            f"loss in {NATS}",
            {
                **{arm: {length: f"{setting}/embeddings/{arm}/{length}" for length in LENGTHS} for arm in ARMS},
                f"{ONE_HOT}, small": {length: f"{setting}/amplitude/{ONE_HOT}/{length}" for length in LENGTHS},
            },
        )
        for setting, where in SETTINGS.items()
    )

    def measure(self, bench: Bench) -> Measurements:
        series, facts = {}, []
        for setting in course_models.settings(bench):
            studies = {size: bench.study(f"{size}-{setting}") for size in SIZES}
            others = bench.study(f"other-positions-{setting}")
            for size, study, arms in (
                *((size, study, DECIDING) for size, study in studies.items()),
                ("embeddings", others, RANKED),
            ):
                for arm in arms:
                    series.update(length_extrapolation.measure(bench, study, arm, f"{setting}/{size}/{arm}"))
                    series[f"{arm}/unreadable"] = length_extrapolation.count_unreadable(bench, study, arm)
                    facts += length_extrapolation.facts(bench, study, arm)
            fixed = studies["embeddings"]
            units = series[f"{setting}/embeddings/{SINUSOIDAL}/{TRAINED}"].values
            series[f"{setting}/unigram"] = course_models.ngram_loss(bench, fixed, UNIGRAM, units)
            facts += bench.facts(*studies.values(), others)
        return Measurements(length_extrapolation.without_unused_windows(series, self.parts), tuple(facts))
