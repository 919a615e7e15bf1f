"""Is a table of positions that is learned as good as fixed sines and cosines?"""

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.positions import length_extrapolation

# Differences that do not matter: 2 % of perplexity, and one percentage point of accuracy.
LOSS_MARGIN, ACCURACY_MARGIN = 0.02, 0.01
FIXED, LEARNED = "sinusoidal", "learned"


class LearnedPositions(Claim):
    """The language model and the classifier, each with both."""

    statement = "A position table learned by backpropagation works as well as a fixed one."
    source = "course work on positions"
    reported = "asserted, no figures"
    rule = (
        "Learned against sinusoidal positions, paired by seed, in the language model (test loss) and the classifier (test "
        "accuracy). Upheld where in both learned is better, or no difference reaches the margin (0.02 nats a token, about "
        "2 % of perplexity; one percentage point of accuracy) by an equivalence test; refuted where in either it is worse "
        "and the margin may be reached; else undecided."
    )
    needs = ("speeches-text", "speeches")
    seeds = 16

    def try_it(self, bench: Bench) -> Finding:
        arms = f"model.position={FIXED},{LEARNED}"
        model = bench.compare(
            "language-model", "speech-lm", arms, metric="test.loss", margin=LOSS_MARGIN, quick=length_extrapolation.QUICK
        )
        short = (*length_extrapolation.QUICK, "training.epochs=0")
        classifier = bench.compare(
            "classifier", "speech-classifier", arms, metric="test.accuracy", margin=ACCURACY_MARGIN, quick=short
        )
        differences = [study.arms[1].difference for study in (model, classifier)]
        said = list(map(rules.sentence, differences))
        rows = [
            Evidence(f"test perplexity, {arm}", "", rules.shown(bench.values(model, arm, "test.perplexity")))
            for arm in (FIXED, LEARNED)
        ]
        rows += [
            Evidence(
                f"test accuracy in %, {arm}",
                "",
                rules.shown(bench.values(classifier, arm, "test.accuracy"), scale=100),
            )
            for arm in (FIXED, LEARNED)
        ]
        return Finding(
            verdict=rules.all_of(*(rules.as_good(each, parts=2) for each in differences)),
            because=f"Language model, loss: {said[0]}. Classifier, accuracy: {said[1]}.",
            scope=f"the course's speeches; {rules.scope(model)}; {rules.scope(classifier)}; inputs of 32 tokens",
            rows=tuple(rows),
            studies=(model.name, classifier.name),
            notes=classifier.leaks,
        )
