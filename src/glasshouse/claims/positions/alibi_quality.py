"""Claim: with ALiBi the classifier is as accurate, and the language model has a lower perplexity on all four texts."""

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.positions import length_extrapolation
from glasshouse.metrics.verdicts import VerdictRule, judge
from glasshouse.pages.study_content import StudyResults

LEARNED, ALIBI = "learned", "alibi"
# Smaller differences do not matter: 2 % of perplexity, and one percentage point of accuracy.
LOSS_MARGIN, ACCURACY_MARGIN = 0.02, 0.01
TESTS = {"test-obama": "Obama", "test-h-bush": "H. Bush", "test-w-bush": "W. Bush"}
CONTEXT = 32


class AlibiQuality(Claim):
    """Five comparisons of ALiBi with learned positions."""

    statement = (
        "The ALiBi classifier is as accurate as that with position embeddings, and the ALiBi language model has a lower "
        "perplexity in training and on all three test sets."
    )
    source = "course work on positions"
    reported = "a figure without numbers"
    rule = (
        "ALiBi is compared with learned positions, paired by seed. The classifier's test accuracy must be better, or an "
        "equivalence test must show a difference of less than one percentage point. The language model's loss must be "
        "lower on the training text and on each of the three test texts. The claim is upheld if all five comparisons "
        "hold. It is refuted if any fails: if the classifier is worse, if a loss is higher, or if a loss is shown to "
        "differ by less than 0.02 nats per token. Otherwise it is undecided."
    )
    needs = ("speeches-text", "speeches")
    seeds = 16

    def run_experiment(self, bench: Bench) -> Finding:
        arms = f"model.position={LEARNED},{ALIBI}"
        language_model = bench.compare(
            "language-model", "speech-lm", arms, metric="test.loss", margin=LOSS_MARGIN, quick=length_extrapolation.QUICK
        )
        quick = (*length_extrapolation.QUICK, "training.epochs=0")
        classifier = bench.compare(
            "classifier", "speech-classifier", arms, metric="test.accuracy", margin=ACCURACY_MARGIN, quick=quick
        )
        accuracy = classifier.arms[1].difference
        verdicts, changes, rows = [rules.as_good(accuracy, parts=5)], [], []
        for text, losses in _losses(bench, language_model).items():
            difference = judge(losses, VerdictRule(margin=LOSS_MARGIN))[ALIBI]
            verdicts.append(rules.direction(difference, parts=5))
            changes.append(f"{text} {length_extrapolation.format_perplexity_change(difference.mean)} ({verdicts[-1]})")
            rows += [
                Evidence(f"perplexity, {text}, {arm}", "", length_extrapolation.LengthResult(by_seed).with_seeds)
                for arm, by_seed in losses.items()
            ]
        rows += [
            Evidence(
                f"test accuracy in %, {arm}",
                "",
                rules.format_with_seeds(bench.values(classifier, arm, "test.accuracy"), scale=100),
            )
            for arm in (LEARNED, ALIBI)
        ]
        return Finding(
            verdict=rules.all_of(*verdicts),
            because=f"Perplexity with ALiBi against learned positions: {', '.join(changes)}. Classifier, accuracy: "
            f"{rules.difference_sentence(accuracy)} ({verdicts[0]}).",
            scope=f"the course's speeches; {rules.study_scope(language_model)}; {rules.study_scope(classifier)}; inputs of "
            f"{CONTEXT} tokens",
            rows=tuple(rows),
            studies=(language_model.name, classifier.name),
            notes=classifier.leaks,
        )


def _losses(bench: Bench, study: StudyResults) -> dict[str, dict[str, dict[int, float]]]:
    """Text -> arm -> seed -> nats per token, for the training text and each test text."""
    training = length_extrapolation.score_lengths(bench, study, (CONTEXT,), "train")
    losses = {"training": {arm: by_length[CONTEXT].losses for arm, by_length in training.items()}}
    for split, speaker in TESTS.items():
        losses[speaker] = {arm: bench.values(study, arm, f"{split}.loss") for arm in (LEARNED, ALIBI)}
    return losses
