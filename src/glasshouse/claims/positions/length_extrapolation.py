"""Language models evaluated on input of other lengths than in training: which models can read it, and with what loss.

At a length L, windows of L tokens advance by L / 2, and each window scores its second half. So at twice the trained length
and beyond, every scored token (except in the first window) is at a position that no training token had.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from glasshouse import models
from glasshouse.claims import rules
from glasshouse.claims.bench import Bench
from glasshouse.data import prepared_data
from glasshouse.data.shards import Shard
from glasshouse.metrics.verdicts import summarise
from glasshouse.models.stack import SequenceTooLong
from glasshouse.pages import line_figure
from glasshouse.pages.study_content import StudyResults
from glasshouse.records import progress_bar
from glasshouse.runs.run import Run
from glasshouse.tasks.next_token import NextToken
from glasshouse.training import warm_start

# Windows scored in one batch: their logits fit into the memory of a laptop.
BATCH = 32
# Overrides of a language model for a quick run, and the number of tokens that a quick run scores.
QUICK = (
    "training.steps=5",
    "training.precision=fp32",
    "training.threads=1",
    "evaluation.every=5",
    "evaluation.stride=32",
    "model.layers=1",
    "data.vocabulary=256",
)
QUICK_TOKENS = 1000
# A perplexity counts as flat if it rises by no more than this share with the length.
FLAT = 0.05
CANNOT_READ = "cannot read input of this length"


@dataclass(frozen=True)
class LengthResult:
    """One arm at one input length: seed -> loss in nats per token, empty if the model cannot read input of that length.

    `how` states how the model was obtained, or why it cannot read the input.
    """

    losses: dict[int, float]
    how: str = ""

    @property
    def with_seeds(self) -> str:
        """The perplexity with its interval and the number of seeds, as text."""
        return rules.format_with_seeds(self._perplexities) if self.losses else CANNOT_READ

    @property
    def plus_minus(self) -> str:
        """The perplexity with its interval, as text."""
        return rules.format_plus_minus(self._perplexities) if self.losses else CANNOT_READ

    @property
    def _perplexities(self) -> dict[int, float]:
        return {seed: math.exp(loss) for seed, loss in self.losses.items()}

    @property
    def mean_perplexity(self) -> float:
        finite = [math.exp(loss) for loss in self.losses.values() if math.isfinite(loss)]
        return float(np.mean(finite)) if finite else math.nan


LengthResults = dict[str, dict[int, LengthResult]]  # arm -> length -> result


def score_lengths(
    bench: Bench,
    study: StudyResults,
    lengths: Sequence[int],
    split: str = "test",
    arms: Sequence[str] = (),
    lengthen: bool = False,
) -> LengthResults:
    """Arm -> length -> result of a study's runs on one split.

    A model that cannot read a length is rebuilt for it, if that needs no weights that were not trained. With `lengthen`, a
    learned position table may also get rows that were never trained.
    """
    arm_names = list(arms) or [arm.name for arm in study.arms]
    seeds = len(study.arms[0].seeds)
    suffix = "-lengthened" if lengthen else ""
    file = f"{split}-at-{'-'.join(map(str, lengths))}{suffix}-of-{len(arm_names)}-by-{seeds}"

    def compute() -> dict[str, dict[int, dict[str, object]]]:
        with progress_bar.bar(f"scoring at {' and '.join(map(str, lengths))} tokens") as show:
            results = {}
            for index, arm in enumerate(arm_names):
                show(index / len(arm_names), f"scoring {arm}")
                tokens = QUICK_TOKENS if bench.quick else None
                results[arm] = _score_runs(bench.finished_runs(study, arm), lengths, split, lengthen, tokens)
            return {
                arm: {length: asdict(result) for length, result in by_length.items()} for arm, by_length in results.items()
            }

    cached = bench.cached(file, compute, study)
    return {
        arm: {
            int(length): LengthResult({int(seed): loss for seed, loss in result["losses"].items()}, result["how"])
            for length, result in by_length.items()
        }
        for arm, by_length in cached.items()
    }


def loss_rises(results: Mapping[int, LengthResult], start: int, length: int) -> dict[int, float]:
    """Seed -> rise of the loss in nats per token from one length to another, the logarithm of the ratio of perplexities."""
    before, after = results[start].losses, results[length].losses
    return {seed: after[seed] - before[seed] for seed in before if seed in after}


def judge_flat(results: Mapping[int, LengthResult], start: int, length: int, parts: int = 1) -> str:
    """The verdict on: the perplexity is flat from one length to another. A model that cannot read the length is not flat."""
    if not results[length].losses:
        return rules.REFUTED
    return rules.beats(loss_rises(results, start, length), math.log1p(FLAT), higher_is_better=False, parts=parts)


def draw(results: LengthResults, path: Path, trained: int) -> str:
    """Draw perplexity against length and return the file name."""
    series: dict[str, dict[float, tuple[float, float, float]]] = {}
    for arm, by_length in results.items():
        points = {}
        for length, result in by_length.items():
            perplexities = [math.exp(loss) for loss in result.losses.values() if math.isfinite(loss)]
            if perplexities:
                summary = summarise(perplexities)
                low, high = (end if math.isfinite(end) else summary.mean for end in (summary.low, summary.high))
                points[float(length)] = (summary.mean, low, high)
        if points:
            series[arm] = points
    line_figure.draw(series, path, f"input length in tokens (trained at {trained})", "perplexity on the test text")
    return path.name


def format_perplexity_change(nats: float) -> str:
    """A change of the loss as a change of the perplexity: `+4.1 %`."""
    return f"{math.expm1(nats):+.1%}".replace("%", " %")


def _score_runs(
    runs: Sequence[Run], lengths: Sequence[int], split: str, lengthen: bool, tokens: int | None
) -> dict[int, LengthResult]:
    results: dict[int, LengthResult] = {length: LengthResult({}) for length in lengths}
    if not runs:
        return results
    data = prepared_data.prepare(runs[0].spec.data, runs[0].tokenizer, columns=runs[0].task.columns)
    for run in runs:
        for length in lengths:
            try:
                model, how = _model_for_length(run, length, lengthen)
            except SequenceTooLong as refusal:
                results[length] = LengthResult({}, refusal.reason)
                continue
            loss = _loss(model, data.splits[split], length, tokens)
            results[length] = LengthResult({**results[length].losses, run.spec.training.seed: loss}, how)
    return results


def _model_for_length(run: Run, length: int, lengthen: bool) -> tuple[nn.Module, str]:
    """A model that reads input of this length, and how it was obtained. Raises SequenceTooLong if there is none."""
    try:
        with torch.inference_mode():
            run.model(torch.zeros(1, length, dtype=torch.int64, device=run.device))
        return run.model, "as trained"
    except SequenceTooLong as error:
        refusal = error
    rebuilt = models.build(run.spec.model, run.vocabulary, length, run.spec.training.seed)
    loaded = warm_start.transfer(rebuilt, dict(run.model.state_dict()))
    if loaded.new or (loaded.partly and not lengthen):
        raise refusal
    how = (
        "the position table has rows that were never trained"
        if loaded.partly
        else "rebuilt for this length, which needs no untrained weights"
    )
    return rebuilt.to(run.device).eval(), how


def _loss(model: nn.Module, shard: Shard, length: int, tokens: int | None) -> float:
    """Nats per token of the whole text, or of its first `tokens` tokens. In float32, whatever the precision of training."""
    task = NextToken(length)
    nats, count = task.score(model, np.asarray(shard.tokens[:tokens]), shard.separators, max(length // 2, 1), BATCH)
    return nats / count
