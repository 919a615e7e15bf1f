"""Claim: batch norm does badly in language models. Compared with layer norm and RMS norm, at small and large batch sizes."""

import copy
from typing import ClassVar

from torch import nn

from glasshouse.claims import margins, split_scores
from glasshouse.claims.attention import ngram_opponents
from glasshouse.claims.attention.quick_overrides import QUICK
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import equal, higher
from glasshouse.runs.run import Run

LAYER, RMS, BATCH = NORMS = ("layer", "rms", "batch")
BATCH_SIZES = (4, 16, 64, 256)


class BatchNormInText(Claim):
    """Trains a decoder with each norm at each batch size, and measures the effect of batch norm's running statistics."""

    group = GROUPS[0]
    statement = "Batch norm does badly in language models."
    source = "course work on the parts of a Transformer"
    reported = "asserted, no figures"
    why = (
        "Batch norm scales a feature by its mean and variance over the whole batch. These vary from batch to batch, and the "
        "trained model must replace them by averages from training."
    )
    procedure = (
        "One recipe is trained with layer norm, RMS norm and batch norm at batch sizes 4, 16, 64 and 256, each arm with the "
        "best of four learning rates, chosen on the validation text. Batch norm must have a higher test loss than layer "
        "norm at every batch size. The trained model is evaluated: its batch norm uses its running statistics, so no later "
        "token can influence a prediction."
    )
    would_change = (
        "A kind of batch norm whose statistics vary less, a batch of far more tokens, or a longer training, in which the "
        "running statistics settle."
    )
    data = PUBLIC_TEXT
    studies = (
        StudyPlan(
            "norms",
            (
                "demo-lm",
                "data.context=32",
                "training.steps=300",
                "evaluation.every=50",
                "evaluation.batch=256",
                f"training.batch={','.join(map(str, BATCH_SIZES))}",
                f"model.norm={','.join(NORMS)}",
            ),
            metric="test.loss",
            tune="training.learning_rate=1e-3,4e-3,1.6e-2,6.4e-2",
            margin=margins.TOKEN_LOSS,
            quick=QUICK,
        ),
    )
    quantities: ClassVar = {
        **{
            f"{batch}/{norm}": Quantity(f"test loss, batch size {batch}, {norm} norm", "test.loss", "nats per token")
            for batch in BATCH_SIZES
            for norm in NORMS
        },
        **{
            f"{batch}/statistics": Quantity(
                f"test loss, batch size {batch}, batch norm with the statistics of the test batch",
                "test.loss",
                "nats per token",
            )
            for batch in BATCH_SIZES
        },
        **ngram_opponents.ngram_quantities("nats per token"),
    }
    parts = (
        *(
            higher(
                f"{batch}/{BATCH}",
                than=f"{batch}/{LAYER}",
                margin=margins.TOKEN_LOSS,
                name=f"batch norm worse than layer norm, batch size {batch}",
            )
            for batch in BATCH_SIZES
        ),
        *(
            equal(
                f"{batch}/{RMS}",
                to=f"{batch}/{LAYER}",
                margin=margins.TOKEN_LOSS,
                name=f"RMS norm as good as layer norm, batch size {batch}",
                decides=False,
            )
            for batch in BATCH_SIZES
        ),
        *(
            higher(
                f"{batch}/{BATCH}",
                than=f"{batch}/statistics",
                margin=margins.TOKEN_LOSS,
                name=f"running statistics raise the loss of batch norm, batch size {batch}",
                decides=False,
            )
            for batch in BATCH_SIZES
        ),
    )
    figures = (
        LineFigure(
            "norms",
            "batch size",
            "test loss, nats per token",
            {f"{norm} norm": {batch: f"{batch}/{norm}" for batch in BATCH_SIZES} for norm in NORMS},
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("norms")
        series = {
            f"{batch}/{norm}": bench.values(study, arm_name(batch, norm), "test.loss")
            for batch in BATCH_SIZES
            for norm in NORMS
        }
        for batch in BATCH_SIZES:
            arm = arm_name(batch, BATCH)
            if bench.finished_runs(study, arm):
                scores = split_scores.cached_by_seed(bench, study, arm, "batch-statistics", _with_batch_statistics)
                series[f"{batch}/statistics"] = Series(scores["loss"])
        series |= ngram_opponents.ngram_series(bench, study)
        notes = (
            "In training, batch norm uses the mean and variance of all tokens of the batch, later tokens of the same text "
            "included. So its training loss may profit from the tokens to be predicted. Its loss with the statistics of the "
            "test batch is shown for comparison only: a language model cannot know them.",
            "Losses at different batch sizes cannot be compared: with the same number of steps, batch size 256 reads 64 "
            "times as much text as batch size 4.",
        )
        return Measurements(series, tuple(bench.facts(study)), notes)


def arm_name(batch: int, norm: str) -> str:
    """The name of an arm in the study."""
    return f"batch={batch}, norm={norm}"


def _with_batch_statistics(run: Run) -> dict[str, float]:
    """The test metrics of a run whose batch norm works as in training, with the mean and variance of each batch."""
    model = copy.deepcopy(run.model)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.running_mean = module.running_var = None
            module.track_running_stats = False
    return split_scores.score_model(run, model, "test")
