"""Claim: the advantage of attention over a recurrent network, and over a fixed window, grows with the input length."""

from itertools import pairwise
from typing import ClassVar

from glasshouse.claims import margins, split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import equal, higher
from glasshouse.claims.word_classifier import WORD_CLASSIFIER

LENGTHS = (8, 16, 32, 64)
SHORTEST, LONGEST = LENGTHS[0], LENGTHS[-1]
WINDOW_SIZE, STEPS = 8, 2000
ATTENTION, GRU, WINDOW = "attention", "gru", "window"
IN_WORDS = {
    ATTENTION: "attention",
    GRU: "a recurrent network (GRU)",
    WINDOW: f"attention within a window of {WINDOW_SIZE}",
}
OTHERS = (GRU, WINDOW)
# All answer from the vector of the last token, which asks the question.
RECIPE = (*WORD_CLASSIFIER, "data.source=recall", "model.dropout=0", "model.head.hidden=0", "model.head.pooling=last")
RECURRENT = ("model.kind=recurrent", "model.cell=gru", "model.layers=1", "model.position=none")
RECIPES = {
    ATTENTION: RECIPE,
    GRU: (*RECIPE, *RECURRENT, "model.attention=none"),
    WINDOW: (*RECIPE, "model.attention=local-window", f"model.window={WINDOW_SIZE}"),
}
TRAINING = (
    "data.vocabulary=128",
    "training.epochs=0",
    f"training.steps={STEPS}",
    "training.batch=64",
    "evaluation.every=500",
    "evaluation.batch=500",
)
TUNE = "training.learning_rate=5e-4,1.5e-3,4e-3,1.2e-2,3.6e-2"
QUICK = (*split_scores.QUICK, "training.steps=2", "training.batch=4", "evaluation.every=2")
# A growth by fewer percentage points would be no reason to choose a model by the length of its input.
GROWTH_MARGIN = 0.05
# Four colours occur in a text. Whoever knows them, and not which animal has which, is right as often as this.
COLOUR_GUESS = 1 / 4


class LongRange(Claim):
    """Trains three kinds of model to recall the beginning of a text, at several lengths."""

    group = GROUPS[2]
    statement = "The advantage of attention over a recurrent network, and over a fixed window, grows with the input length."
    source = "course work on recurrent networks and attention"
    reported = "asserted, no figures"
    why = (
        "Attention reaches every token in one step. A recurrent network must carry what it read through every step between, "
        "and a window does not see beyond its edge."
    )
    procedure = (
        "A text names four animals with their colours in its first quarter (at least its first four words), continues with "
        "noise, and asks for the colour of one of them with its last two words. Models with as many parameters and steps "
        f"({STEPS:,} of 64 texts) are trained on texts of {', '.join(map(str, LENGTHS[:-1]))} and {LONGEST} words, each arm "
        "at each length with the best of five learning rates, chosen on the validation texts: an encoder of two layers with "
        f"full attention, the same with attention to a distance below {WINDOW_SIZE}, and a GRU. The advantage is the "
        "difference of the accuracies on the test texts, seed by seed. From the shortest to the longest texts it must grow, "
        f"over the GRU and over the window; a growth below {100 * GROWTH_MARGIN:g} percentage points does not matter."
    )
    would_change = (
        "Far more steps or texts, with which a recurrent network may learn to carry the answer; or texts so long that "
        "attention does not learn the task either, after which its advantage falls again."
    )
    data = "generated text"
    studies = (
        StudyPlan(
            "lengths",
            (*RECIPES, *TRAINING, f"data.context={','.join(map(str, LENGTHS))}"),
            metric="test.accuracy",
            match="parameters",
            tune=TUNE,
            margin=margins.ACCURACY,
            quick=QUICK,
            recipes=RECIPES,
        ),
    )
    quantities: ClassVar = {
        **{
            f"accuracy/{length}/{arm}": Quantity(
                f"test accuracy, {length} words, {IN_WORDS[arm]}", "test.accuracy", "%", 100.0, higher_is_better=True
            )
            for length in LENGTHS
            for arm in RECIPES
        },
        **{
            f"advantage/{length}/{arm}": Quantity(
                f"advantage of attention over {IN_WORDS[arm]}, {length} words",
                "difference of test.accuracy",
                "percentage points",
                100.0,
            )
            for length in LENGTHS
            for arm in OTHERS
        },
    }
    parts = (
        *(
            higher(
                f"advantage/{LONGEST}/{arm}",
                than=f"advantage/{SHORTEST}/{arm}",
                margin=GROWTH_MARGIN,
                name=f"the advantage over {IN_WORDS[arm]} grows from {SHORTEST} to {LONGEST} words",
            )
            for arm in OTHERS
        ),
        *(
            higher(
                f"advantage/{longer}/{arm}",
                than=f"advantage/{shorter}/{arm}",
                margin=GROWTH_MARGIN,
                name=f"the advantage over {IN_WORDS[arm]} grows from {shorter} to {longer} words",
                decides=False,
            )
            for arm in OTHERS
            for shorter, longer in pairwise(LENGTHS)
        ),
        higher(
            f"accuracy/{SHORTEST}/{GRU}",
            than=COLOUR_GUESS,
            margin=GROWTH_MARGIN,
            name=f"check: {IN_WORDS[GRU]} recalls {SHORTEST} words better than a guess among the colours of the text",
            decides=False,
        ),
        equal(
            f"accuracy/{SHORTEST}/{WINDOW}",
            to=f"accuracy/{SHORTEST}/{ATTENTION}",
            margin=2 * margins.ACCURACY,
            name=f"control: a window of {WINDOW_SIZE} is full attention for {SHORTEST} words",
            decides=False,
        ),
    )
    figures = (
        LineFigure(
            "lengths",
            "words",
            "test accuracy, %",
            {IN_WORDS[arm]: {length: f"accuracy/{length}/{arm}" for length in LENGTHS} for arm in RECIPES},
        ),
        LineFigure(
            "advantage",
            "words",
            "advantage of attention, percentage points",
            {f"over {IN_WORDS[arm]}": {length: f"advantage/{length}/{arm}" for length in LENGTHS} for arm in OTHERS},
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("lengths")
        series = {
            f"accuracy/{length}/{arm}": bench.values(study, f"{arm}, context={length}", "test.accuracy")
            for length in LENGTHS
            for arm in RECIPES
        }
        for length in LENGTHS:
            for arm in OTHERS:
                pair = (series[f"accuracy/{length}/{ATTENTION}"], series[f"accuracy/{length}/{arm}"])
                series[f"advantage/{length}/{arm}"] = difference(*pair)
        return Measurements(series, tuple(bench.facts(study)))


def difference(left: Series, right: Series) -> Series:
    """Unit -> left minus right, for the units that both have; NaN if one of them diverged."""
    return Series({unit: value - right.values[unit] for unit, value in left.values.items() if unit in right.values})
