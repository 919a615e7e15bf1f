"""Claim: batch norm does badly in language models. Compared with layer norm and RMS norm, at small and large batch sizes."""

import copy
import math
from collections.abc import Mapping

from torch import nn

from glasshouse.claims import paired_comparisons, rules, split_scores
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge_family
from glasshouse.pages import line_figure
from glasshouse.pages.study_content import StudyResults
from glasshouse.runs.run import Run

LAYER, RMS, BATCH = "layer", "rms", "batch"
BATCH_SIZES = (4, 16, 64, 256)
RULE = VerdictRule(margin=paired_comparisons.TOKEN_MARGIN)


class BatchNormInText(Claim):
    """Trains a decoder with each norm at each batch size, and measures the effect of batch norm's running statistics."""

    statement = "Batch norm does badly in language models."
    source = "course work on the parts of a Transformer"
    reported = "asserted, no figures"
    rule = (
        "One recipe is trained with layer norm, RMS norm and batch norm at batch sizes 4, 16, 64 and 256. Each arm has "
        "its own best learning rate, chosen on the validation text. Batch norm is compared with layer norm by test "
        "loss, paired by seed, with Holm's correction over the four batch sizes. The claim is upheld if batch norm is "
        "worse at every batch size. It is refuted if batch norm is better at one batch size, or shown to differ by less "
        "than 0.02 nats per token. Otherwise it is undecided. The trained model is evaluated: it normalises by its "
        "running statistics, so no later token can influence a prediction."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        batches, norms = (BATCH_SIZES[:2], (LAYER, BATCH)) if bench.quick else (BATCH_SIZES, (LAYER, RMS, BATCH))
        grid = (f"training.batch={','.join(map(str, batches))}", f"model.norm={','.join(norms)}")
        study = bench.compare(
            "norms",
            *("demo-lm", "data.context=32", "training.steps=300", "evaluation.every=50", "evaluation.batch=256", *grid),
            metric="test.loss",
            tune=None if bench.quick else "training.learning_rate=1e-3,4e-3,1.6e-2",
            quick=(*split_scores.QUICK, *split_scores.QUICK_TEXT, "training.steps=6", "evaluation.every=6"),
        )
        losses = {
            norm: {batch: bench.values(study, arm_name(batch, norm), "test.loss") for batch in batches} for norm in norms
        }
        differences = against_layer_norm(losses, BATCH)
        picture = bench.folder / "norms.svg"
        line_figure.draw(
            {norm: paired_comparisons.means_with_intervals(by_batch) for norm, by_batch in losses.items()},
            picture,
            "batch size",
            "test loss, nats per token",
        )
        rows = [
            Evidence(f"test loss, batch size {batch}, {norm} norm", "", rules.format_with_seeds(losses[norm][batch]))
            for batch in batches
            for norm in norms
        ]
        rows += [
            Evidence(f"{norm} norm against layer norm, batch size {batch}", "", paired_comparisons.describe(difference))
            for norm in norms[1:]
            for batch, difference in against_layer_norm(losses, norm).items()
        ]
        rows += _batch_statistics_rows(bench, study, losses)
        differences_text = "; ".join(
            f"batch size {batch}: {paired_comparisons.describe(difference)}" for batch, difference in differences.items()
        )
        return Finding(
            verdict=does_badly(differences),
            because=f"Test loss of batch norm against layer norm: {differences_text}.",
            scope=f"State of the Union addresses, windows of 32 tokens; {rules.study_scope(study)}",
            rows=tuple(rows),
            studies=(study.name,),
            pictures=(picture.name,),
            notes=(
                "in training, batch norm uses the mean and variance of all tokens of the batch, including later tokens "
                "of the same text, so its training loss may profit from the tokens to be predicted; the trained model "
                "uses running statistics instead; its loss with the statistics of the test batch is shown for "
                "comparison only, because a language model cannot know them",
                "losses at different batch sizes cannot be compared: with the same number of steps, batch size 256 reads 64 "
                "times as much text as batch size 4",
                *(f"{arm.name}: {note}" for arm in study.arms for note in arm.notes),
            ),
        )


def arm_name(batch: int, norm: str) -> str:
    """The name of an arm in the study."""
    return f"batch={batch}, norm={norm}"


def against_layer_norm(losses: Mapping[str, Mapping[int, paired_comparisons.BySeed]], norm: str) -> dict[str, Difference]:
    """Batch size -> difference of a norm from layer norm, corrected over the batch sizes."""
    return judge_family({str(batch): (losses[LAYER][batch], losses[norm][batch]) for batch in losses[LAYER]}, RULE)


def does_badly(differences: Mapping[str, Difference]) -> str:
    """The verdict on: the norm is worse at every batch size. The differences are already corrected."""
    return rules.all_of(*(rules.direction(difference, claimed="worse") for difference in differences.values()))


def _batch_statistics_rows(
    bench: Bench, study: StudyResults, losses: Mapping[str, Mapping[int, paired_comparisons.BySeed]]
) -> list[Evidence]:
    """The test loss of batch norm with the statistics of each test batch, which include later tokens."""
    rows = []
    for batch, with_running in losses[BATCH].items():
        if any(map(math.isfinite, with_running.values())):
            scores = split_scores.cached_by_seed(bench, study, arm_name(batch, BATCH), "itself", _with_batch_statistics)
            with_batch = scores["loss"]
            costs = {seed: with_running[seed] - with_batch[seed] for seed in with_batch}
            text = (
                f"{rules.format_with_seeds(with_batch)}; running statistics increase the loss by "
                f"{rules.format_with_seeds(costs)}"
            )
            rows.append(
                Evidence(f"test loss, batch size {batch}, batch norm with the statistics of the test batch", "", text)
            )
    return rows


def _with_batch_statistics(run: Run) -> dict[str, float]:
    """The test metrics of a run whose batch norm works as in training, with the mean and variance of each batch."""
    model = copy.deepcopy(run.model)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.running_mean = module.running_var = None
            module.track_running_stats = False
    return split_scores.score_model(run, model, "test")
