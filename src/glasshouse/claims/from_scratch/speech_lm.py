"""Claim: a decoder of the reported size reaches the reported perplexities on the speeches in 500 steps."""

import math
from typing import ClassVar

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.from_scratch import ngram_scores
from glasshouse.claims.rules import lower, not_higher
from glasshouse.claims.speech_texts import TEXTS, TRAIN
from glasshouse.results.study import StudyResults

WIDE, NARROW = SIZES = ("256", "100")
# Feed-forward size -> text -> reported final perplexity.
REPORTED = {
    WIDE: {TRAIN: 154.2, "test-obama": 348.0, "test-h-bush": 408.3, "test-w-bush": 478.1},
    NARROW: {TRAIN: 180.9, "test-obama": 382.8, "test-h-bush": 417.1, "test-w-bush": 490.9},
}
# Share of a perplexity: the same 2 % as margins.TOKEN_LOSS, here of a single reported run.
MARGIN = 0.02
WINDOW = 32
# The words of the assignment, with the vocabulary of both training files. Windows do not overlap, as in a training batch: a
# token has 16 tokens before it on average. By default windows overlap by half, which gives each token more context.
COURSE_SETTING = (
    "speech-lm",
    "data.tokenizer=treebank-words",
    f"evaluation.stride={WINDOW}",
    "evaluation.batch=256",
)
REPORTED_RATE = "training.learning_rate=1e-3"
FEED_FORWARD = f"model.feed_forward={','.join(SIZES)}"
QUICK = (*split_scores.QUICK, "training.steps=6", "evaluation.every=6", "training.batch=4", "model.width=16")


class SpeechLM(Claim):
    """Trains the assignment's decoder in both reported sizes, and a trigram model over the same tokens."""

    group = GROUPS[3]
    statement = (
        "A decoder of 4 layers, 2 heads, width 64 and feed-forward 256 reaches, in 500 steps of 16 windows of 32 "
        "words, a perplexity of 154.2 on its training text and 348.0, 408.3 and 478.1 on test texts of Obama, H. Bush "
        "and W. Bush."
    )
    source = "course work: a language model from scratch"
    reported = "train 154.2, Obama 348.0, H. Bush 408.3, W. Bush 478.1 (943,611 parameters, one run)"
    why = (
        "The figures come from one run. Another seed, or another program with the same settings, should come close to them."
    )
    procedure = (
        "Our decoder of the same sizes is trained with the course's words, vocabulary, learning rate and number of "
        "steps. Its perplexity on each of the four texts is measured in windows of 32 words that do not overlap. The "
        "mean over seeds must not be higher than the reported figure by more than 2 %, because a single run is a rough "
        "mark. The smaller decoder with feed-forward 100 and a Kneser-Ney trigram model over the same words are shown "
        "beside it."
    )
    would_change = (
        "Another rule of evaluation: windows that overlap give each word more context and lower every perplexity. "
        "Another division into words changes every perplexity too."
    )
    needs = ("speeches-text",)
    studies = (StudyPlan("sizes", (*COURSE_SETTING, FEED_FORWARD, REPORTED_RATE), metric="test.loss", quick=QUICK),)
    quantities: ClassVar = {
        **{
            f"{size}/{text}": Quantity(
                f"perplexity on {name}, feed-forward {size}", f"{text}.perplexity", reported=f"{REPORTED[size][text]}"
            )
            for size in SIZES
            for text, name in TEXTS.items()
        },
        **{
            f"trigram/{text}": Quantity(f"perplexity on {name}, trigram model", f"{text}.perplexity", per="")
            for text, name in TEXTS.items()
            if text != TRAIN
        },
        f"{WIDE}/overlap": Quantity(
            f"perplexity on all three test texts, feed-forward {WIDE}, windows that overlap by half", "test.perplexity"
        ),
    }
    parts = (
        *(
            not_higher(
                f"{size}/{text}",
                than=figure,
                margin=MARGIN * figure,
                name=f"as low as reported on {TEXTS[text]}" + ("" if size == WIDE else f", feed-forward {size}"),
                decides=size == WIDE,
            )
            for size, figures in REPORTED.items()
            for text, figure in figures.items()
        ),
        *(
            lower(
                f"{WIDE}/{text}",
                than=f"trigram/{text}",
                margin=MARGIN * figure,
                name=f"lower than a trigram model on {TEXTS[text]}",
                decides=False,
            )
            for text, figure in REPORTED[WIDE].items()
            if text != TRAIN
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("sizes")
        series = {
            f"{size}/{text}": values
            for size in SIZES
            for text, values in text_scores(bench, study, size, "perplexity").items()
        }
        overlapping = split_scores.score_arm(bench, study, WIDE, "test", stride=WINDOW // 2)
        series[f"{WIDE}/overlap"] = Series(overlapping["perplexity"])
        for text, scores in trigram_scores(bench, study).items():
            series[f"trigram/{text}"] = split_scores.same_for_every(series[f"{WIDE}/{TRAIN}"].values, scores["perplexity"])
        return Measurements(series, (*bench.facts(study), ("reported parameters", "943,611 and about 863,000")))


def text_scores(bench: Bench, study: StudyResults, arm: str, metric: str) -> dict[str, Series]:
    """Text -> the metric of an arm's runs on it. The final evaluation leaves out the training text."""
    training = Series(split_scores.score_arm(bench, study, arm, TRAIN)[metric])
    return {TRAIN: training} | {text: bench.values(study, arm, f"{text}.{metric}") for text in TEXTS if text != TRAIN}


def trigram_scores(bench: Bench, study: StudyResults) -> dict[str, dict[str, float]]:
    """Test text -> metrics of a trigram model of the training text, over the tokens of the study's runs."""
    tests = [text for text in TEXTS if text != TRAIN]
    runs = (run for arm in study.arms for run in bench.finished_runs(study, arm.name))
    if (run := next(runs, None)) is None:
        return dict.fromkeys(tests, dict.fromkeys(("loss", "perplexity"), math.nan))
    scores: dict[str, dict[str, float]] = bench.cached("trigram", lambda: ngram_scores.score_splits(run, *tests), study)
    return scores
