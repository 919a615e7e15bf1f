"""Is the speeches' language model better on every text with a feed-forward part of 256 than with one of 100?"""

from collections.abc import Mapping

from glasshouse.claims import paired_questions, rules, split_scores
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.from_scratch.speech_lm import QUICK, REPORTED, TEXTS, TRAIN, WORDS
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge_family
from glasshouse.pages.study_content import StudyResults

WIDE, NARROW = "256", "100"
RULE = VerdictRule(margin=paired_questions.TOKEN_MARGIN)
Losses = dict[str, dict[str, dict[int, float]]]  # arm -> text -> seed -> nats a token


class FeedForwardSize(Claim):
    """Both sizes as reported, and again with each at its own learning rate."""

    statement = "A feed-forward part of 256 is better than one of 100 on the training text and on all three test texts."
    source = "course work: a language model from scratch"
    reported = (
        "perplexity at 256 / 100: train 154.2 / 180.9, Obama 348.0 / 382.8, H. Bush 408.3 / 417.1, W. Bush 478.1 / 490.9"
    )
    rule = (
        "The loss with 256 against that with 100 on each of the four texts, paired by seed, Holm over the four, both at "
        "the reported learning rate of 1e-3. Upheld where 256 is better on all four; refuted where it is worse on one, or "
        "shown to differ by less than 0.02 nats a token (2 % of perplexity); else undecided. The same with a tenth of the "
        "training text held out and each size at its own best learning rate stands beside it: if the advantage is gone "
        "there, a note says so."
    )
    needs = ("speeches-text",)
    seeds = 16

    def try_it(self, bench: Bench) -> Finding:
        study = bench.compare("sizes", *WORDS, metric="test.loss", quick=QUICK)
        losses = _losses(bench, study)
        found = compared(losses)
        tuned = bench.compare(
            "own-rates",
            *WORDS,
            "data.validation=0.1",
            metric="test.loss",
            tune=None if bench.quick else "training.learning_rate=1e-3,2e-3,4e-3,8e-3",
            quick=QUICK,
        )
        again = compared(_losses(bench, tuned))
        rows = [
            Evidence(f"loss, {TEXTS[text]}, feed-forward {arm}", "", rules.shown(losses[arm][text]))
            for text in TEXTS
            for arm in (WIDE, NARROW)
        ]
        for text, each in found.items():
            reported = f"{REPORTED[WIDE][text]} against {REPORTED[NARROW][text]}"
            rows.append(
                Evidence(f"256 against 100, {TEXTS[text]} (reported: perplexity)", reported, paired_questions.told(each))
            )
        rows += [
            Evidence(f"256 against 100, {TEXTS[text]}, each at its own learning rate", "", paired_questions.told(each))
            for text, each in again.items()
        ]
        sizes = " and ".join(f"{arm.parameters:,}" for arm in study.arms)
        return Finding(
            verdict=better_everywhere(found),
            because="Loss with 256 against 100: "
            f"{'; '.join(f'{TEXTS[text]} {paired_questions.told(each)}' for text, each in found.items())}.",
            scope=f"the course's speeches; {rules.scope(study)}; each at its own learning rate: {rules.scope(tuned)}",
            rows=tuple(rows),
            studies=(study.name, tuned.name),
            notes=(
                f"the two have {sizes} parameters: it is the larger model that is said to be better, not a better use of "
                "as many",
                f"with each size at its own best learning rate the same rule says: {better_everywhere(again)}",
                *(f"{arm.name}: {note}" for arm in tuned.arms for note in arm.notes),
            ),
        )


def compared(losses: Mapping[str, Mapping[str, paired_questions.BySeed]]) -> dict[str, Difference]:
    """Text -> 256 against 100, corrected over the texts."""
    return judge_family({text: (losses[NARROW][text], losses[WIDE][text]) for text in losses[WIDE]}, RULE)


def better_everywhere(found: Mapping[str, Difference]) -> str:
    """The verdict on: 256 is better on every text; `found` is corrected already."""
    return rules.all_of(*(rules.direction(each) for each in found.values()))


def _losses(bench: Bench, study: StudyResults) -> Losses:
    return {
        arm.name: {
            text: split_scores.measured(bench, study, arm.name, TRAIN)["loss"]
            if text == TRAIN
            else bench.values(study, arm.name, f"{text}.loss")
            for text in TEXTS
        }
        for arm in study.arms
    }
