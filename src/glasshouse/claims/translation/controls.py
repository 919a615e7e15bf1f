"""The control of the claims about translation: what their test must answer if the truth is known."""

from typing import ClassVar

from glasshouse.claims import control_series, margins, split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, StudyPlan
from glasshouse.claims.rules import equal, higher, lower
from glasshouse.claims.translation import course_translator, trivial_translators
from glasshouse.claims.translation.course_translator import COURSE_LISTS, MARGIN

WIDE, NARROW = ARMS = ("64", "32")
FIRST, AGAIN = "first", "again"
OFFSET = 500
SOURCE = COURSE_LISTS["small"]
# Half as many as in the claims. The answers do not depend on it.
STEPS = course_translator.STEPS // 2
# Added to the second half of the A/A comparison: an effect of twice the margin, and one of a quarter of it.
LARGE_EFFECT, SMALL_EFFECT = 2 * MARGIN, MARGIN / 4


def _plan(name: str, seed_offset: int) -> StudyPlan:
    words = (
        course_translator.RECIPE,
        *course_translator.LENGTH,
        *course_translator.LAYER,
        *course_translator.OPTIMISER,
        f"training.steps={STEPS}",
        f"data.source={SOURCE}",
        f"model.width={','.join(ARMS)}",
    )
    return StudyPlan(name, words, metric="test.loss", margin=MARGIN, seed_offset=seed_offset, quick=course_translator.QUICK)


class TranslationControl(Claim):
    """Trains one translator twice with different seeds, and compares it with rules that need no training."""

    group = GROUPS[4]
    statement = (
        "The comparisons of this group find no difference between two trainings of one translator, find an effect that was "
        "added to the values, and rank a trained translator above copying the word and appending `way`."
    )
    source = "a control of this project"
    reported = "no difference; the added effect; better than a rule"
    why = "A test that is fooled by a known answer cannot be trusted with an unknown one."
    procedure = (
        "The course's encoder-decoder of hidden size 64 is trained twice on the course's small list under two names, with "
        f"different seeds. The two must be shown to differ by less than the margin ({MARGIN:g} nats per character). After "
        f"{LARGE_EFFECT:g} is added to the second half, it must be shown to be higher; after a quarter of the margin, it "
        "must not be shown to differ by the margin. The translator must have a lower loss than a trigram model of Pig "
        "Latin, and translate more words exactly than copying them or appending `way` to them does."
    )
    would_change = "Nothing should. Another answer means that the comparisons of this group are not to be trusted."
    needs = (SOURCE,)
    # Two trainings of one model differ by chance alone, which must be small against the margin.
    looks = (32,)
    is_control = True
    studies = (_plan(FIRST, 0), _plan(AGAIN, OFFSET))
    quantities: ClassVar = {
        **{
            key: Quantity(f"test loss, {label}", "test.loss", "nats per character")
            for key, label in (
                (FIRST, "h 64, first training"),
                (AGAIN, "h 64, second training with other seeds"),
                ("large", f"h 64, second training, plus {LARGE_EFFECT:g}"),
                ("small", f"h 64, second training, plus {SMALL_EFFECT:g}"),
                ("narrow", "h 32, first training"),
                ("narrow-again", "h 32, second training with other seeds"),
                ("trigram", "a trigram model of Pig Latin, which never sees the English word"),
            )
        },
        **{
            key: Quantity(f"test words exactly right, {label}", "test.exact", "%", 100.0, higher_is_better=True)
            for key, label in (
                ("exact", "h 64, first training"),
                ("way", "`way` appended to each"),
                ("copy", "each copied"),
            )
        },
    }
    parts = (
        equal(AGAIN, to=FIRST, margin=MARGIN, name="A/A: two trainings of one translator are equal, h 64"),
        equal("narrow-again", to="narrow", margin=MARGIN, name="A/A: two trainings of one translator are equal, h 32"),
        higher("large", than=FIRST, margin=MARGIN, name="planted: twice the margin is found"),
        equal("small", to=FIRST, margin=MARGIN, name="planted: a quarter of the margin is not refuted", decides=False),
        lower(FIRST, than="trigram", margin=MARGIN, name="better than a trigram model"),
        *(
            higher("exact", than=rule, margin=2 * margins.ACCURACY, name=f"more words right than by the rule: {label}")
            for rule, label in (("way", "append `way`"), ("copy", "copy the word"))
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        first, again = bench.study(FIRST), bench.study(AGAIN)
        losses = bench.values(first, WIDE, "test.loss")
        second = control_series.shift_units(bench.values(again, WIDE, "test.loss"), -OFFSET)
        trivial = bench.cached("trivial", lambda: trivial_translators.score_trivially(SOURCE))
        return Measurements(
            {
                FIRST: losses,
                AGAIN: second,
                "large": control_series.plant(second, LARGE_EFFECT),
                "small": control_series.plant(second, SMALL_EFFECT),
                "narrow": bench.values(first, NARROW, "test.loss"),
                "narrow-again": control_series.shift_units(bench.values(again, NARROW, "test.loss"), -OFFSET),
                "exact": bench.values(first, WIDE, "test.exact"),
                **{key: split_scores.same_for_every(losses.values, value) for key, value in trivial.items()},
            },
            tuple(bench.facts(first, again)),
        )
