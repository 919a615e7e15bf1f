"""Is the ALiBi classifier as accurate, and has the ALiBi language model a lower perplexity, in training and on each test?"""

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.positions import length_extrapolation
from glasshouse.metrics.verdicts import VerdictRule, judge
from glasshouse.pages.study_content import StudyResults

EMBEDDED, ALIBI = "learned", "alibi"
# Differences that do not matter: 2 % of perplexity, and one percentage point of accuracy.
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
        "ALiBi against learned positions, paired by seed. The classifier's test accuracy must be better, or no difference "
        "may reach one percentage point by an equivalence test. The language model's loss must be lower on the training "
        "text and on each of the three test texts. Upheld where all five hold; refuted where any fails: a classifier that "
        "is worse, a loss that is higher, or one shown to differ by less than 0.02 nats a token; else undecided."
    )
    needs = ("speeches-text", "speeches")
    seeds = 16

    def try_it(self, bench: Bench) -> Finding:
        arms = f"model.position={EMBEDDED},{ALIBI}"
        model = bench.compare(
            "language-model", "speech-lm", arms, metric="test.loss", margin=LOSS_MARGIN, quick=length_extrapolation.QUICK
        )
        short = (*length_extrapolation.QUICK, "training.epochs=0")
        classifier = bench.compare(
            "classifier", "speech-classifier", arms, metric="test.accuracy", margin=ACCURACY_MARGIN, quick=short
        )
        accuracy = classifier.arms[1].difference
        verdicts, said, rows = [rules.as_good(accuracy, parts=5)], [], []
        for name, losses in _losses(bench, model).items():
            found = judge(losses, VerdictRule(margin=LOSS_MARGIN))[ALIBI]
            verdicts.append(rules.direction(found, parts=5))
            said.append(f"{name} {length_extrapolation.percent(found.mean)} ({verdicts[-1]})")
            rows += [
                Evidence(f"perplexity, {name}, {arm}", "", length_extrapolation.Reading(values).shown)
                for arm, values in losses.items()
            ]
        rows += [
            Evidence(
                f"test accuracy in %, {arm}",
                "",
                rules.shown(bench.values(classifier, arm, "test.accuracy"), scale=100),
            )
            for arm in (EMBEDDED, ALIBI)
        ]
        return Finding(
            verdict=rules.all_of(*verdicts),
            because=f"Perplexity with ALiBi against learned positions: {', '.join(said)}. Classifier, accuracy: "
            f"{rules.sentence(accuracy)} ({verdicts[0]}).",
            scope=f"the course's speeches; {rules.scope(model)}; {rules.scope(classifier)}; inputs of {CONTEXT} tokens",
            rows=tuple(rows),
            studies=(model.name, classifier.name),
            notes=classifier.leaks,
        )


def _losses(bench: Bench, study: StudyResults) -> dict[str, dict[str, dict[int, float]]]:
    """Text -> arm -> seed -> nats a token, of the training text and of each test."""
    found = {
        "training": {
            arm: row[CONTEXT].losses for arm, row in length_extrapolation.ask(bench, study, (CONTEXT,), "train").items()
        }
    }
    for split, speaker in TESTS.items():
        found[speaker] = {arm: bench.values(study, arm, f"{split}.loss") for arm in (EMBEDDED, ALIBI)}
    return found
