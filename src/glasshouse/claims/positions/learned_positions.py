"""Claim: a learned position table works as well as fixed sines and cosines."""

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.positions import length_extrapolation

# Smaller differences do not matter: 2 % of perplexity, and one percentage point of accuracy.
LOSS_MARGIN, ACCURACY_MARGIN = 0.02, 0.01
FIXED, LEARNED = "sinusoidal", "learned"


class LearnedPositions(Claim):
    """Trains the language model and the classifier with learned and with sinusoidal positions."""

    statement = "A position table learned by backpropagation works as well as a fixed one."
    source = "course work on positions"
    reported = "asserted, no figures"
    rule = (
        "Learned positions are compared with sinusoidal positions, paired by seed, in the language model (test loss) "
        "and in the classifier (test accuracy). The margin is 0.02 nats per token, about 2 % of perplexity, and one "
        "percentage point of accuracy. The claim is upheld if in both models learned positions are better, or an "
        "equivalence test shows a difference smaller than the margin. It is refuted if in either model they are worse "
        "and the difference may reach the margin. Otherwise it is undecided."
    )
    needs = ("speeches-text", "speeches")
    seeds = 16

    def run_experiment(self, bench: Bench) -> Finding:
        arms = f"model.position={FIXED},{LEARNED}"
        language_model = bench.compare(
            "language-model", "speech-lm", arms, metric="test.loss", margin=LOSS_MARGIN, quick=length_extrapolation.QUICK
        )
        quick = (*length_extrapolation.QUICK, "training.epochs=0")
        classifier = bench.compare(
            "classifier", "speech-classifier", arms, metric="test.accuracy", margin=ACCURACY_MARGIN, quick=quick
        )
        differences = [study.arms[1].difference for study in (language_model, classifier)]
        sentences = list(map(rules.difference_sentence, differences))
        rows = [
            Evidence(
                f"test perplexity, {arm}",
                "",
                rules.format_with_seeds(bench.values(language_model, arm, "test.perplexity")),
            )
            for arm in (FIXED, LEARNED)
        ]
        rows += [
            Evidence(
                f"test accuracy in %, {arm}",
                "",
                rules.format_with_seeds(bench.values(classifier, arm, "test.accuracy"), scale=100),
            )
            for arm in (FIXED, LEARNED)
        ]
        return Finding(
            verdict=rules.all_of(*(rules.as_good(difference, parts=2) for difference in differences)),
            because=f"Language model, loss: {sentences[0]}. Classifier, accuracy: {sentences[1]}.",
            scope=f"the course's speeches; {rules.study_scope(language_model)}; {rules.study_scope(classifier)}; inputs "
            "of 32 tokens",
            rows=tuple(rows),
            studies=(language_model.name, classifier.name),
            notes=classifier.leaks,
        )
