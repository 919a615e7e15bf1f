"""Claim: dropout and batch norm raise the speech classifier's accuracy and narrow its gap between training and test."""

from typing import ClassVar

from glasshouse.claims import margins, split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.from_scratch.speech_classifier import COURSE_SETTING, HELD_OUT, QUICK, SPLITS, best_setting
from glasshouse.claims.rules import higher, lower, not_lower
from glasshouse.data.sources.speeches import TEST_NEW
from glasshouse.results.study import StudyResults

PLAIN, REGULARISED = ARMS = ("plain", "regularised")
BATCH_NORM = "model.head.norm=batch"
# Name of an arm -> dropout rate.
DROPOUT = {f"dropout-{rate}": rate for rate in ("0.2", "0.3", "0.4", "0.5")}
REPORTED_DROPOUT, REPORTED_RATE = "0.2", "1e-3"
REPORTED = {PLAIN: 0.878, REGULARISED: 0.8967}
SETTINGS = {
    "reported": f"at the reported rates (dropout {REPORTED_DROPOUT}, learning rate {REPORTED_RATE})",
    "chosen": "at rates chosen on held-out segments",
}
TUNE = "training.learning_rate=5e-4,1e-3,2e-3,4e-3"
# Split of the test file -> what the gap between it and the training segments is called.
GAPS = {TEST_NEW: "gap", "test": "gap-to-all"}


class RegularisedClassifier(Claim):
    """Tries the reported rates, and those that are best on held-out training segments, on new test segments."""

    group = GROUPS[3]
    statement = (
        "Dropout in attention, feed-forward part, blocks and head, and batch norm after the head's first layer, narrow "
        "the gap between training and test and raise the speech classifier's test accuracy."
    )
    source = "course work: a classifier from scratch, rates 0.2 to 0.5 tried"
    reported = "test accuracy 87.8 % -> 89.67 % at a rate of 0.2, which was chosen on the test file"
    why = (
        "Dropout and batch norm hinder memorisation. The plain classifier knows its training segments by heart and is "
        "often wrong on others."
    )
    procedure = (
        "The course's classifier is trained on the whole training file, plain and with dropout and batch norm. Both "
        "are compared on the test segments that do not occur in the training file: the accuracy must be higher, and "
        "the gap between training accuracy and this accuracy smaller. Everything is done at the reported rates, and at "
        "the dropout rate and learning rates that are best on a held-out tenth of the training file. Segments count as "
        "a sample, like seeds. The whole test file, most of which stands in the training file, is shown beside it."
    )
    would_change = (
        "A larger test file of new segments, since 199 leave a wide interval; or a test file full of training "
        "segments, which rewards memorisation. A smaller gap alone is no merit, because a lower training accuracy also "
        "makes the gap smaller."
    )
    needs = ("course-speeches",)
    studies = (
        StudyPlan(
            "held-out",
            (PLAIN, *DROPOUT),
            metric="validation.accuracy",
            tune=TUNE,
            most_seeds=8,
            quick=QUICK,
            recipes={
                PLAIN: (*COURSE_SETTING, *HELD_OUT),
                **{arm: (*COURSE_SETTING, *HELD_OUT, BATCH_NORM, f"model.dropout={rate}") for arm, rate in DROPOUT.items()},
            },
        ),
        *(
            StudyPlan(
                setting,
                ARMS,
                metric=f"{TEST_NEW}.accuracy",
                quick=QUICK,
                recipes={
                    PLAIN: (*COURSE_SETTING, f"training.learning_rate={plain_rate}"),
                    REGULARISED: (
                        *COURSE_SETTING,
                        BATCH_NORM,
                        f"model.dropout={dropout}",
                        f"training.learning_rate={regularised_rate}",
                    ),
                },
            )
            for setting, plain_rate, dropout, regularised_rate in (
                ("reported", REPORTED_RATE, REPORTED_DROPOUT, REPORTED_RATE),
                ("chosen", "{plain_rate}", "{dropout}", "{regularised_rate}"),
            )
        ),
    )
    quantities: ClassVar = {
        **{
            f"held-out/{arm}": Quantity(
                f"accuracy on held-out training segments, {arm.replace('-', ' ')}, at its best learning rate",
                "validation.accuracy",
                "%",
                100.0,
                higher_is_better=True,
            )
            for arm in (PLAIN, *DROPOUT)
        },
        **{
            f"{setting}/{split}/{arm}": Quantity(
                f"accuracy on {name}, {arm}, {where}",
                f"{split}.accuracy",
                "%",
                100.0,
                higher_is_better=True,
                reported=f"{100 * REPORTED[arm]:.4g}" if (setting, split) == ("reported", "test") else "",
            )
            for setting, where in SETTINGS.items()
            for split, name in (*SPLITS.items(), ("train", "training segments"))
            for arm in ARMS
        },
        **{
            f"{setting}/{gap}/{arm}": Quantity(
                f"training accuracy minus accuracy on {SPLITS[split]}, {arm}, {where}",
                f"train.accuracy - {split}.accuracy",
                "percentage points",
                100.0,
            )
            for setting, where in SETTINGS.items()
            for split, gap in GAPS.items()
            for arm in ARMS
        },
    }
    parts = (
        *(
            part
            for setting, where in SETTINGS.items()
            for split, gap in GAPS.items()
            for part in (
                higher(
                    f"{setting}/{split}/{REGULARISED}",
                    than=f"{setting}/{split}/{PLAIN}",
                    margin=margins.ACCURACY,
                    name=f"more accurate on {SPLITS[split]}",
                    items=True,
                    setting=where,
                    decides=split == TEST_NEW,
                ),
                lower(
                    f"{setting}/{gap}/{REGULARISED}",
                    than=f"{setting}/{gap}/{PLAIN}",
                    margin=margins.ACCURACY,
                    name=f"smaller gap between training and {SPLITS[split]}",
                    items=split == TEST_NEW,
                    setting=where,
                    decides=split == TEST_NEW,
                ),
            )
        ),
        not_lower(
            f"reported/test/{REGULARISED}",
            than=REPORTED[REGULARISED],
            margin=margins.ACCURACY,
            name="as accurate as reported on the test file",
            decides=False,
        ),
    )
    figures = (
        LineFigure(
            "held-out accuracy by dropout rate",
            "dropout rate",
            "accuracy in %",
            {"held-out training segments": {float(rate): f"held-out/{arm}" for arm, rate in DROPOUT.items()}},
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        held_out = bench.study("held-out")
        series = {f"held-out/{arm}": bench.values(held_out, arm, "validation.accuracy") for arm in (PLAIN, *DROPOUT)}
        best = best_setting({arm: series[f"held-out/{arm}"].values for arm in DROPOUT})
        chosen = {
            "plain_rate": _learning_rate(bench, held_out, PLAIN),
            "dropout": DROPOUT[best],
            "regularised_rate": _learning_rate(bench, held_out, best),
        }
        studies = {"reported": bench.study("reported"), "chosen": bench.study("chosen", **chosen)}
        for setting, study in studies.items():
            for arm in ARMS:
                training = split_scores.score_arm(bench, study, arm, "train")["accuracy"]
                series[f"{setting}/train/{arm}"] = Series(training)
                for split, gap in GAPS.items():
                    accuracy = bench.item_values(study, arm, split, "accuracy")
                    series[f"{setting}/{split}/{arm}"] = accuracy
                    # The gap to the whole test file decides nothing, and its items would be many.
                    series[f"{setting}/{gap}/{arm}"] = gap_series(
                        training, accuracy if split == TEST_NEW else Series(accuracy.values)
                    )
        facts = (
            *bench.facts(held_out, *studies.values()),
            ("dropout rate that is best on held-out segments", DROPOUT[best]),
        )
        return Measurements(series, facts)


def gap_series(training: dict[int, float], test: Series) -> Series:
    """Training accuracy minus test accuracy: for each seed, and for each item of the test."""
    items = {seed: tuple(training[seed] - correct for correct in row) for seed, row in (test.items or {}).items()}
    return Series({seed: training[seed] - value for seed, value in test.values.items()}, items if test.items else None)


def _learning_rate(bench: Bench, study: StudyResults, arm: str) -> str:
    """The learning rate that tuning chose for an arm. If every run diverged, any rate does as well as another."""
    runs = bench.finished_runs(study, arm)
    return f"{runs[0].spec.training.learning_rate:g}" if runs else REPORTED_RATE
