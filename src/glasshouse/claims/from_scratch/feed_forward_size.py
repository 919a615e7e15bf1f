"""Claim: the speeches' language model is better on every text with a feed-forward part of 256 than with one of 100."""

from collections.abc import Mapping

from glasshouse.claims import paired_comparisons, rules, split_scores
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.from_scratch.speech_lm import QUICK, REPORTED, TEXTS, TRAIN, WORDS
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge_family
from glasshouse.pages.study_content import StudyResults

WIDE, NARROW = "256", "100"
RULE = VerdictRule(margin=paired_comparisons.TOKEN_MARGIN)
Losses = dict[str, dict[str, dict[int, float]]]  # arm -> text -> seed -> nats per token


class FeedForwardSize(Claim):
    """Trains both sizes at the reported learning rate, and again each at its own best learning rate."""

    statement = "A feed-forward part of 256 is better than one of 100 on the training text and on all three test texts."
    source = "course work: a language model from scratch"
    reported = (
        "perplexity at 256 / 100: train 154.2 / 180.9, Obama 348.0 / 382.8, H. Bush 408.3 / 417.1, W. Bush 478.1 / 490.9"
    )
    rule = (
        "The loss with 256 is compared with the loss with 100 on each of the four texts, paired by seed, with Holm's "
        "correction over the four texts. Both sizes have the reported learning rate of 1e-3. The claim is upheld if 256 "
        "is better on all four texts. It is refuted if 256 is worse on one text, or shown to differ by less than 0.02 "
        "nats per token (2 % of perplexity). Otherwise it is undecided. The comparison is repeated with a tenth of the "
        "training text held out and with each size at its own best learning rate. A note states the verdict of the same "
        "rule there; it does not decide."
    )
    needs = ("speeches-text",)
    seeds = 16

    def run_experiment(self, bench: Bench) -> Finding:
        study = bench.compare("sizes", *WORDS, metric="test.loss", quick=QUICK)
        losses = _losses(bench, study)
        differences = compare_sizes(losses)
        tuned_study = bench.compare(
            "own-rates",
            *WORDS,
            "data.validation=0.1",
            metric="test.loss",
            tune=None if bench.quick else "training.learning_rate=1e-3,2e-3,4e-3,8e-3",
            quick=QUICK,
        )
        tuned_differences = compare_sizes(_losses(bench, tuned_study))
        rows = [
            Evidence(f"loss, {TEXTS[text]}, feed-forward {arm}", "", rules.format_with_seeds(losses[arm][text]))
            for text in TEXTS
            for arm in (WIDE, NARROW)
        ]
        for text, difference in differences.items():
            reported = f"{REPORTED[WIDE][text]} against {REPORTED[NARROW][text]}"
            rows.append(
                Evidence(
                    f"256 against 100, {TEXTS[text]} (reported: perplexity)",
                    reported,
                    paired_comparisons.describe(difference),
                )
            )
        rows += [
            Evidence(
                f"256 against 100, {TEXTS[text]}, each at its own learning rate",
                "",
                paired_comparisons.describe(difference),
            )
            for text, difference in tuned_differences.items()
        ]
        sizes = " and ".join(f"{arm.parameters:,}" for arm in study.arms)
        described = (f"{TEXTS[text]} {paired_comparisons.describe(difference)}" for text, difference in differences.items())
        return Finding(
            verdict=better_everywhere(differences),
            because=f"Loss with 256 against 100: {'; '.join(described)}.",
            scope=f"the course's speeches; {rules.study_scope(study)}; each at its own learning rate: "
            f"{rules.study_scope(tuned_study)}",
            rows=tuple(rows),
            studies=(study.name, tuned_study.name),
            notes=(
                f"the two models have {sizes} parameters: the claim is that the larger model is better, not that it "
                "uses the same number of parameters better",
                f"with each size at its own best learning rate the verdict of the same rule is: "
                f"{better_everywhere(tuned_differences)}",
                *(f"{arm.name}: {note}" for arm in tuned_study.arms for note in arm.notes),
            ),
        )


def compare_sizes(losses: Mapping[str, Mapping[str, paired_comparisons.BySeed]]) -> dict[str, Difference]:
    """Text -> difference of 256 from 100, corrected over the texts."""
    return judge_family({text: (losses[NARROW][text], losses[WIDE][text]) for text in losses[WIDE]}, RULE)


def better_everywhere(differences: Mapping[str, Difference]) -> str:
    """The verdict on: 256 is better on every text. The differences are already corrected."""
    return rules.all_of(*(rules.direction(difference) for difference in differences.values()))


def _losses(bench: Bench, study: StudyResults) -> Losses:
    return {
        arm.name: {
            text: split_scores.score_arm(bench, study, arm.name, TRAIN)["loss"]
            if text == TRAIN
            else bench.values(study, arm.name, f"{text}.loss")
            for text in TEXTS
        }
        for arm in study.arms
    }
