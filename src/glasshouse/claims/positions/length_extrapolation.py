"""Language models asked at other lengths of input than they were trained at: who can be asked, and with what loss.

At a length, windows of so many tokens advance by half of it and each scores its second half, so that at twice the trained
length and beyond every token that counts (but for the first window's) stands where no training token stood.
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

# Windows scored at once: their logits fit into the memory of a laptop.
BATCH = 32
# What a quick look at a language model makes do with: changes to its spec, and so many tokens of text to be asked about.
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
# Perplexity that rises by no more than this share with the length is called flat.
FLAT = 0.05
NO_ANSWER = "no answer"


@dataclass(frozen=True)
class Reading:
    """An arm at a length: seed -> nats a token, none where it cannot be asked; and by what means, or why not."""

    losses: dict[int, float]
    how: str = ""

    @property
    def shown(self) -> str:
        """The perplexity with its interval and the number of seeds."""
        return rules.shown(self._perplexities) if self.losses else NO_ANSWER

    @property
    def figure(self) -> str:
        """The perplexity with its interval."""
        return rules.figure(self._perplexities) if self.losses else NO_ANSWER

    @property
    def _perplexities(self) -> dict[int, float]:
        return {seed: math.exp(loss) for seed, loss in self.losses.items()}

    @property
    def perplexity(self) -> float:
        """The mean over seeds."""
        finite = [math.exp(loss) for loss in self.losses.values() if math.isfinite(loss)]
        return float(np.mean(finite)) if finite else math.nan


Readings = dict[str, dict[int, Reading]]


def ask(
    bench: Bench,
    comparison: StudyResults,
    lengths: Sequence[int],
    split: str = "test",
    arms: Sequence[str] = (),
    lengthen: bool = False,
) -> Readings:
    """Arm -> length -> reading of a study's runs on a text.

    A model that has no answer at a length is built anew for it, where that needs nothing that was not learned. `lengthen`
    also lets a learned table have rows that were never trained.
    """
    chosen = list(arms) or [arm.name for arm in comparison.arms]
    seeds = len(comparison.arms[0].seeds)
    manner = "-lengthened" if lengthen else ""
    key = f"{split}-at-{'-'.join(map(str, lengths))}{manner}-of-{len(chosen)}-by-{seeds}"

    def make() -> dict[str, dict[int, dict[str, object]]]:
        with progress_bar.bar(f"asking at {' and '.join(map(str, lengths))} tokens") as show:
            found = {}
            for place, arm in enumerate(chosen):
                show(place / len(chosen), f"asking {arm}")
                tokens = QUICK_TOKENS if bench.quick else None
                found[arm] = _of_arm(bench.runs(comparison, arm), lengths, split, lengthen, tokens)
            return {arm: {length: asdict(each) for length, each in row.items()} for arm, row in found.items()}

    kept = bench.once(key, make, of=comparison)
    return {
        arm: {
            int(length): Reading({int(seed): loss for seed, loss in each["losses"].items()}, each["how"])
            for length, each in row.items()
        }
        for arm, row in kept.items()
    }


def rises(reading: Mapping[int, Reading], start: int, length: int) -> dict[int, float]:
    """Seed -> by how many nats a token the loss rises from one length to another: the logarithm of the ratio of
    perplexities."""
    before, after = reading[start].losses, reading[length].losses
    return {seed: after[seed] - before[seed] for seed in before if seed in after}


def flat(reading: Mapping[int, Reading], start: int, length: int, parts: int = 1) -> str:
    """The verdict on: the perplexity is flat from one length to another. Without an answer there it is not."""
    if not reading[length].losses:
        return rules.REFUTED
    return rules.beats(rises(reading, start, length), math.log1p(FLAT), higher_is_better=False, parts=parts)


def draw(readings: Readings, path: Path, trained: int) -> str:
    """Perplexity against length as a picture; gives its name."""
    series: dict[str, dict[float, tuple[float, float, float]]] = {}
    for arm, row in readings.items():
        found = {}
        for length, reading in row.items():
            perplexities = [math.exp(loss) for loss in reading.losses.values() if math.isfinite(loss)]
            if perplexities:
                summary = summarise(perplexities)
                low, high = (end if math.isfinite(end) else summary.mean for end in (summary.low, summary.high))
                found[float(length)] = (summary.mean, low, high)
        if found:
            series[arm] = found
    line_figure.draw(series, path, f"tokens of input (trained at {trained})", "perplexity on the test text")
    return path.name


def percent(nats: float) -> str:
    """A rise of the loss as one of the perplexity: `+4.1 %`."""
    return f"{math.expm1(nats):+.1%}".replace("%", " %")


def _of_arm(
    runs: Sequence[Run], lengths: Sequence[int], split: str, lengthen: bool, tokens: int | None
) -> dict[int, Reading]:
    found: dict[int, Reading] = {length: Reading({}) for length in lengths}
    if not runs:
        return found
    data = prepared_data.prepare(runs[0].spec.data, runs[0].tokenizer, columns=runs[0].task.columns)
    for run in runs:
        for length in lengths:
            try:
                model, how = _model(run, length, lengthen)
            except SequenceTooLong as refusal:
                found[length] = Reading({}, refusal.reason)
                continue
            loss = _loss(model, data.splits[split], length, tokens)
            found[length] = Reading({**found[length].losses, run.spec.training.seed: loss}, how)
    return found


def _model(run: Run, length: int, lengthen: bool) -> tuple[nn.Module, str]:
    """The model that is asked at a length, and how it came to be; SequenceTooLong where there is none."""
    try:
        with torch.inference_mode():
            run.model(torch.zeros(1, length, dtype=torch.int64, device=run.device))
        return run.model, "as trained"
    except SequenceTooLong as error:
        refusal = error
    built = models.build(run.spec.model, run.vocabulary, length, run.spec.training.seed)
    loaded = warm_start.load(built, dict(run.model.state_dict()))
    if loaded.new or (loaded.partly and not lengthen):
        raise refusal
    how = "with rows that were never trained" if loaded.partly else "built anew for the length, nothing of it being learned"
    return built.to(run.device).eval(), how


def _loss(model: nn.Module, shard: Shard, length: int, tokens: int | None) -> float:
    """Nats a token of the whole text, or of so many tokens of it, in float32 whatever the model was trained in."""
    task = NextToken(length)
    nats, count = task.score(model, np.asarray(shard.tokens[:tokens]), shard.marks, max(length // 2, 1), BATCH)
    return nats / count
