"""The control of the claims about attention: what their test must answer if the truth is known."""

from typing import ClassVar

from glasshouse.claims import control_series, margins, split_scores
from glasshouse.claims.attention import ngram_opponents
from glasshouse.claims.attention.quick_overrides import QUICK
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, Measurements, Quantity, StudyPlan
from glasshouse.claims.rules import equal, higher, lower

FULL, ONE_CHARACTER = "all-characters", "one-character"
FIRST, AGAIN = "first", "again"
OFFSET = 500
MARGIN = margins.CHARACTER_LOSS
# Added to the second half of the A/A comparison: an effect of twice the margin, and one of a quarter of it.
LARGE_EFFECT, SMALL_EFFECT = 2 * MARGIN, MARGIN / 4


def _plan(name: str, seed_offset: int) -> StudyPlan:
    recipe = ("characters", "evaluation.batch=512")
    return StudyPlan(
        name,
        (FULL, ONE_CHARACTER),
        metric="test.loss",
        margin=MARGIN,
        seed_offset=seed_offset,
        quick=(*QUICK, "training.batch=4"),
        # A window of 1 leaves only the character itself, so attention has nothing to attend to.
        recipes={FULL: recipe, ONE_CHARACTER: (*recipe, "model.attention=local-window", "model.window=1")},
    )


class AttentionControl(Claim):
    """Trains one model twice with different seeds, and a model that sees one character only."""

    group = GROUPS[0]
    statement = (
        "The comparisons of this group find no difference between two trainings of one model, find an effect that was added "
        "to the values, and rank a trained model above models that count characters."
    )
    source = "a control of this project"
    reported = "no difference; the added effect; better than counting"
    why = "A test that is fooled by a known answer cannot be trusted with an unknown one."
    procedure = (
        "The character model of this group is trained twice under two names, with different seeds. The two must be shown to "
        f"differ by less than the margin ({MARGIN:g} nats per character). After {LARGE_EFFECT:g} is added to the second "
        "half, it must be shown to be higher; after a quarter of the margin, it must not be shown to differ by the margin. "
        "The model must beat a bigram and a trigram model of the same characters, and itself if attention sees one "
        "character."
    )
    would_change = "Nothing should. Another answer means that the comparisons of this group are not to be trusted."
    data = PUBLIC_TEXT
    # Two trainings of one model differ by chance alone, which must be small against the margin.
    looks = (64,)
    is_control = True
    studies = (_plan(FIRST, 0), _plan(AGAIN, OFFSET))
    quantities: ClassVar = {
        FIRST: Quantity("test loss, first training", "test.loss", "nats per character"),
        AGAIN: Quantity("test loss, second training with other seeds", "test.loss", "nats per character"),
        "large": Quantity(f"test loss, second training, plus {LARGE_EFFECT:g}", "test.loss", "nats per character"),
        "small": Quantity(f"test loss, second training, plus {SMALL_EFFECT:g}", "test.loss", "nats per character"),
        ONE_CHARACTER: Quantity("test loss if attention sees one character", "test.loss", "nats per character"),
        **ngram_opponents.ngram_quantities("nats per character"),
    }
    parts = (
        equal(AGAIN, to=FIRST, margin=MARGIN, name="A/A: two trainings of one model are equal"),
        higher("large", than=FIRST, margin=MARGIN, name="planted: twice the margin is found"),
        equal("small", to=FIRST, margin=MARGIN, name="planted: a quarter of the margin is not refuted", decides=False),
        *(
            lower(FIRST, than=ngram_opponents.key(order), margin=MARGIN, name=f"better than an n-gram model, n = {order}")
            for order in ngram_opponents.ORDERS
        ),
        higher(ONE_CHARACTER, than=FIRST, margin=MARGIN, name="worse if attention sees one character"),
    )

    def measure(self, bench: Bench) -> Measurements:
        first, again = bench.study(FIRST), bench.study(AGAIN)
        losses = bench.values(first, FULL, "test.loss")
        second = control_series.shift_units(bench.values(again, FULL, "test.loss"), -OFFSET)
        ngrams = {
            name: split_scores.same_for_every(losses.values, series.values[0])
            for name, series in ngram_opponents.ngram_series(bench, first).items()
        }
        return Measurements(
            {
                FIRST: losses,
                AGAIN: second,
                "large": control_series.plant(second, LARGE_EFFECT),
                "small": control_series.plant(second, SMALL_EFFECT),
                ONE_CHARACTER: bench.values(first, ONE_CHARACTER, "test.loss"),
                **ngrams,
            },
            tuple(bench.facts(first, again)),
        )
