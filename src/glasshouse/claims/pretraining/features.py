"""Claim: the frozen features of a pretrained encoder suffice for logistic regression and a support vector machine."""

from typing import ClassVar

from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Series
from glasshouse.claims.pretraining import arithmetic
from glasshouse.claims.pretraining.feature_comparison import FeatureComparison

ARITHMETIC = FeatureComparison(
    key="course",
    label="the sign of verbal arithmetic",
    source="course-arithmetic",
    classes=arithmetic.CLASSES,
    labels=448,
    text=("data.source=course-arithmetic-text",),
    fine_tuning=(),
    needs=("course-arithmetic", "course-arithmetic-text"),
)
# A task in which single words tell much and their order little.
EMOTION = FeatureComparison(
    key="emotion",
    label="the emotion of a tweet",
    source="tweet-emotion",
    classes=("anger", "joy", "optimism", "sadness"),
    labels=3257,
    text=("data.source=tweets", "data.vocabulary=2000"),
    fine_tuning=("training.epochs=5", "evaluation.every=100"),
    needs=("tweet-emotion", "tweets"),
)
GENERATED = FeatureComparison(
    key="generated",
    label="stand-in: verbal arithmetic, generated split",
    source="verbal-arithmetic",
    classes=arithmetic.CLASSES,
    labels=448,
    text=("data.source=arithmetic-text",),
    fine_tuning=(),
    needs=("verbal-arithmetic", "arithmetic-text"),
    decides=False,
    most_seeds=arithmetic.STAND_IN_SEEDS,
)
COMPARISONS = (ARITHMETIC, EMOTION, GENERATED)


class FrozenFeatures(Claim):
    """Classifies texts by linear models over the features of encoders that are not trained further."""

    group = GROUPS[5]
    statement = (
        "The frozen features of a pretrained encoder suffice: a logistic regression or a support vector machine over them "
        "is as accurate as full fine-tuning, and pretraining is what makes them good."
    )
    source = "course work on fine-tuning: a pretrained encoder as a feature extractor"
    reported = "asserted, no figures"
    why = (
        "An encoder that can fill gaps in sentences must represent what they mean. If the classes lie apart in its "
        "features, a linear classifier finds them, and nothing else needs training."
    )
    procedure = (
        "Every seed pretrains its own small encoder as a masked language model and takes the mean of its features over the "
        "tokens of each labelled text. A logistic regression and a linear support vector machine are fitted on the "
        "features of the training texts, their regularisation chosen by five-fold cross-validation on these texts alone. "
        "On the test texts both must lose at most two points of accuracy against full fine-tuning of the same encoder, "
        "whose learning rate is the best of five on validation texts. The regression must also be more accurate, by one "
        "point or it does not matter, than over the features of the same encoder before pretraining and than over counts "
        "of words and word pairs. It is judged per pretraining and test text, on two tasks: one about the order of "
        "numbers, one about single words."
    )
    would_change = (
        "An encoder that was pretrained on far more text, whose features might hold more of the task; features of another "
        "layer; or so few labels that full fine-tuning overfits."
    )
    studies = tuple(plan for comparison in COMPARISONS for plan in comparison.plans)
    quantities: ClassVar = {key: quantity for comparison in COMPARISONS for key, quantity in comparison.quantities.items()}
    parts = tuple(part for comparison in COMPARISONS for part in comparison.parts)
    figures = tuple(comparison.figure for comparison in COMPARISONS)

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        facts = []
        present = [comparison for comparison in COMPARISONS if bench.has(*comparison.needs)]
        for comparison in present[:1] if bench.quick else present:
            measured, studies = comparison.measure(bench)
            series |= measured
            facts += bench.facts(*studies)
        return Measurements(
            series,
            tuple(facts),
            notes=(
                "full fine-tuning uses the validation texts to choose a learning rate and a checkpoint; the linear "
                "classifiers do not use them",
                "counts of words do not depend on a seed; with fewer labels, the seed draws which texts are labelled",
            ),
        )
