"""The control of the claims about positions: comparisons whose answers are known before anything is trained."""

from collections.abc import Mapping
from typing import ClassVar

from glasshouse.claims import control_series, margins
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity
from glasshouse.claims.positions import course_models, length_extrapolation
from glasshouse.claims.positions.course_models import REPORTED, TRAINED
from glasshouse.claims.positions.length_extrapolation import NATS, TWICE
from glasshouse.claims.rules import equal, higher, lower, zero

ALIBI, NONE = ARMS = ("alibi", "none")
# The second name of the model has other seeds. They are shifted back so that units pair.
FIRST, SECOND = "first", "second"
SEED_OFFSETS = {FIRST: 0, SECOND: 500}
MEASURES = {TRAINED: "test loss", f"rise-{TWICE}": f"rise of the loss from {TRAINED} to {TWICE} tokens"}
# Planted effect -> its size in margins: large enough to matter, and too small to matter.
PLANTED = {"large": 2.0, "small": 0.25}
UNIGRAM = 1


class PositionsControl(Claim):
    """Trains the language model with ALiBi under two names, and plants effects of known size in its losses and rises."""

    group = GROUPS[1]
    statement = (
        "Two names for one language model have the same loss and the same rise of the loss with the length of the input; an "
        "effect of twice the margin is found in both; and the model beats a model of single words."
    )
    source = "made for this group of claims"
    reported = "known beforehand: all of it holds"
    why = "A sound trial must answer what is known. If it does not, its other verdicts mean nothing."
    procedure = (
        "The course's language model with ALiBi is trained under two names, with different seeds. Loss and rise of the loss "
        "must be equal within 0.02 nats per token, and must be found higher after 0.04 nats are added to the second. Inputs "
        "of 64 and 128 tokens must be readable, and the loss must be lower than that of a model of single words. An effect "
        "of a quarter of the margin, which may be found too small or stay undecided, and no positions are shown beside it."
    )
    would_change = "An error in the trials themselves: in how runs are trained, scored, paired or judged."
    needs = ("speeches-text",)
    looks = (32,)
    is_control = True
    studies = tuple(
        course_models.language_models(name, REPORTED, ARMS, seed_offset=offset) for name, offset in SEED_OFFSETS.items()
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        **{
            f"{name}/{measure}": Quantity(f"{label}, {ALIBI}, {what}", "test.loss", NATS)
            for measure, label in MEASURES.items()
            for name, what in (
                (FIRST, "first name"),
                (SECOND, "second name"),
                *((size, f"second name with {margin:g} margins added") for size, margin in PLANTED.items()),
            )
        },
        "unreadable": length_extrapolation.unreadable_quantity(ALIBI),
        "none": Quantity("test loss, no positions", "test.loss", NATS),
        "unigram": Quantity("loss of a model of single words", "test.loss", NATS, per=""),
    }
    parts = (
        *(
            part
            for measure, label in MEASURES.items()
            for part in (
                equal(
                    f"{SECOND}/{measure}",
                    to=f"{FIRST}/{measure}",
                    margin=margins.TOKEN_LOSS,
                    name=f"{label}: the same under two names",
                ),
                higher(
                    f"large/{measure}",
                    than=f"{FIRST}/{measure}",
                    margin=margins.TOKEN_LOSS,
                    name=f"{label}: twice the margin is found",
                ),
                equal(
                    f"small/{measure}",
                    to=f"{FIRST}/{measure}",
                    margin=margins.TOKEN_LOSS,
                    name=f"{label}: a quarter of the margin is too small or undecided",
                    decides=False,
                ),
            )
        ),
        zero("unreadable", name=f"{ALIBI} can be read at every length"),
        lower(
            f"{FIRST}/{TRAINED}", than="unigram", margin=margins.TOKEN_LOSS, name="lower loss than a model of single words"
        ),
        lower(
            f"{FIRST}/{TRAINED}", than="none", margin=margins.TOKEN_LOSS, name="lower loss than no positions", decides=False
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        studies = {name: bench.study(f"{name}-{REPORTED}") for name in SEED_OFFSETS}
        series = {}
        for name, offset in SEED_OFFSETS.items():
            measured = length_extrapolation.measure(bench, studies[name], ALIBI, name)
            series.update(
                {
                    f"{name}/{measure}": control_series.shift_units(measured[f"{name}/{measure}"], -offset)
                    for measure in MEASURES
                }
            )
        for size, margin in PLANTED.items():
            series.update(
                {
                    f"{size}/{measure}": control_series.plant(series[f"{SECOND}/{measure}"], margin * margins.TOKEN_LOSS)
                    for measure in MEASURES
                }
            )
        first = studies[FIRST]
        series["unreadable"] = length_extrapolation.count_unreadable(bench, first, ALIBI)
        series["none"] = length_extrapolation.measure(bench, first, NONE, NONE)[f"{NONE}/{TRAINED}"]
        series["unigram"] = course_models.ngram_loss(bench, first, UNIGRAM, series["none"].values)
        return Measurements(
            length_extrapolation.without_unused_windows(series, self.parts), tuple(bench.facts(*studies.values()))
        )
