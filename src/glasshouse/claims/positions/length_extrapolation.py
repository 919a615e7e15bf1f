"""Language models evaluated on input of other lengths than in training: which models can read it, and with what loss.

At a length L, windows of L tokens advance by L / 2, and each window scores its second half. So at twice the trained length
and beyond, every scored token (except in the first window) is at a position that no training token had. Every arm is treated
alike: a model is rebuilt for a length if that needs no weights that were not trained, and otherwise it cannot read that
length, which is counted.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from glasshouse import models
from glasshouse.claims.bench import Bench
from glasshouse.claims.claim import Part, Quantity, Series
from glasshouse.claims.positions.course_models import TRAINED
from glasshouse.data import prepared_data
from glasshouse.data.shards import Shard
from glasshouse.models.stack import SequenceTooLong
from glasshouse.results.study import StudyResults
from glasshouse.runs.run import Run
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import DataSpec, Spec
from glasshouse.tasks.base import shares_of_ratio
from glasshouse.tasks.next_token import ITEM_TOKENS, NextToken
from glasshouse.training import warm_start

LONGER = TWICE, LONGEST = 2 * TRAINED, 4 * TRAINED
LENGTHS = (TRAINED, *LONGER)
# Tokens scored in one batch: their logits fit into the memory of a laptop.
BATCH_TOKENS = 4096
QUICK_TOKENS = 1000
NATS = "nats per token"
AS_TRAINED = "as trained"

# Length -> {"windows": the loss of each window of the text, or nothing if the model cannot read it; "how": in words}.
RunScores = dict[str, dict[str, Any]]


def quantities(key: str, label: str, lengths: Sequence[int] = LENGTHS) -> dict[str, Quantity]:
    """What `measure` measures of one arm, under keys that begin with `key`."""
    return {
        **{f"{key}/{length}": Quantity(f"loss at {length} tokens, {label}", "test.loss", NATS) for length in lengths},
        **{
            f"{key}/rise-{length}": Quantity(
                f"rise of the loss from {TRAINED} to {length} tokens, {label}", "test.loss", NATS
            )
            for length in lengths
            if TRAINED in lengths and length > TRAINED
        },
    }


def unreadable_quantity(label: str) -> Quantity:
    """The number of longer inputs that an arm cannot read."""
    return Quantity(f"lengths among {TWICE} and {LONGEST} tokens that cannot be read, {label}", "lengths", "lengths")


def measure(
    bench: Bench, study: StudyResults, arm: str, key: str, lengths: Sequence[int] = LENGTHS, lengthen: bool = False
) -> dict[str, Series]:
    """The series of `quantities`. A length that cannot be read has none.

    With `lengthen`, a learned position table may get rows that were never trained.
    """
    rows = score_arm(bench, study, arm, lengths, lengthen)
    seeds = list(bench.values(study, arm, "test.loss").values)
    by_length = {length: _series(rows, seeds, length) for length in lengths if not _cannot_read(rows, length)}
    measured = {f"{key}/{length}": series for length, series in by_length.items()}
    for length, series in by_length.items():
        if TRAINED in by_length and length > TRAINED:
            measured[f"{key}/rise-{length}"] = rise(by_length[TRAINED], series)
    return measured


def without_unused_windows(series: Mapping[str, Series], parts: Sequence[Part]) -> dict[str, Series]:
    """The series, with the values of single windows only where a comparison resamples them: these are many numbers."""
    used = {key for part in parts if part.items for key in (part.quantity, part.against)}
    return {key: values if key in used else Series(values.values) for key, values in series.items()}


def count_unreadable(bench: Bench, study: StudyResults, arm: str, lengths: Sequence[int] = LENGTHS) -> Series:
    """Seed -> the number of longer inputs that the arm cannot read. The structure decides that, so all seeds agree."""
    rows = score_arm(bench, study, arm, lengths)
    count = sum(_cannot_read(rows, length) for length in lengths if length in LONGER)
    return Series(dict.fromkeys(bench.values(study, arm, "test.loss").values, float(count)))


def rise(before: Series, after: Series) -> Series:
    """The rise of the loss from one length to another, of each seed and of each window of the text."""
    assert before.items is not None
    assert after.items is not None
    pairs = {seed: (before.items[seed], after.items[seed]) for seed in before.items}
    return Series(
        {seed: after.values[seed] - before.values[seed] for seed in before.values},
        {seed: tuple(late - early for early, late in zip(*pair, strict=True)) for seed, pair in pairs.items()},
    )


def facts(
    bench: Bench, study: StudyResults, arm: str, lengths: Sequence[int] = LENGTHS, lengthen: bool = False
) -> list[tuple[str, str]]:
    """How the models of an arm read each length, unless they read it as they were trained."""
    rows = score_arm(bench, study, arm, lengths, lengthen)
    hows = [(length, row[str(length)]["how"]) for row in list(rows.values())[:1] for length in lengths]
    return [(f"{study.name}, {arm} at {length} tokens", how) for length, how in hows if how != AS_TRAINED]


def score_arm(
    bench: Bench, study: StudyResults, arm: str, lengths: Sequence[int], lengthen: bool = False
) -> dict[int, RunScores]:
    """Seed -> length -> score of the arm's finished runs. Cached in the study's folder."""
    index = [candidate.name for candidate in study.arms].index(arm)
    suffix = "-lengthened" if lengthen else ""
    file = f"test-at-{'-'.join(map(str, lengths))}{suffix}-of-arm-{index}-by-{len(study.arms[index].seeds)}"

    def compute() -> dict[str, RunScores]:
        tokens = QUICK_TOKENS if bench.quick else None
        runs = bench.finished_runs(study, arm)
        if not runs:
            return {}
        test = prepared_data.prepare(runs[0].spec.data, runs[0].tokenizer, columns=runs[0].task.columns).splits["test"]
        return {str(run.spec.training.seed): _score_run(run, test, lengths, lengthen, tokens) for run in runs}

    return {int(seed): row for seed, row in bench.cached(file, compute, study).items()}


def _cannot_read(rows: Mapping[int, RunScores], length: int) -> bool:
    return any(not row[str(length)]["windows"] for row in rows.values())


def _series(rows: Mapping[int, RunScores], seeds: Sequence[int], length: int) -> Series:
    """The loss at a length: seed -> mean over the windows (NaN if the run diverged), and seed -> loss of each window."""
    windows = {seed: tuple(map(float, row[str(length)]["windows"])) for seed, row in rows.items()}
    return Series({seed: float(np.mean(windows[seed])) if seed in windows else math.nan for seed in seeds}, windows)


def _score_run(run: Run, test: Shard, lengths: Sequence[int], lengthen: bool, tokens: int | None) -> RunScores:
    scores: RunScores = {}
    for length in lengths:
        try:
            model, how = model_for_length(run, length, lengthen)
            scores[str(length)] = {"windows": window_losses(model, test, length, tokens).tolist(), "how": how}
        except SequenceTooLong as refusal:
            scores[str(length)] = {"windows": [], "how": f"cannot be read: {refusal.reason}"}
    return scores


def model_for_length(run: Run, length: int, lengthen: bool = False) -> tuple[models.Model, str]:
    """A model that reads input of this length, and how it was obtained. Raises SequenceTooLong if there is none."""
    try:
        with torch.inference_mode():
            run.model(torch.zeros(1, length, dtype=torch.int64, device=run.device))
        return run.model, AS_TRAINED
    except SequenceTooLong as error:
        refusal = error
    try:
        rebuilt = models.build(run.spec.model, run.vocabulary, length, run.spec.training.seed)
    except SpecError as error:
        raise SequenceTooLong(str(error)) from None
    loaded = warm_start.transfer(rebuilt, dict(run.model.state_dict()))
    if loaded.new or (loaded.partly and not lengthen):
        raise refusal
    how = "with rows that were never trained" if loaded.partly else "rebuilt, which needs no untrained weights"
    return rebuilt.to(run.device).eval(), how


def window_losses(model: models.Model, shard: Shard, length: int, tokens: int | None = None) -> np.ndarray:
    """Nats per token of each window of the text, or of its first `tokens` tokens. In float32, whatever the training was."""
    text = np.asarray(shard.tokens[:tokens])
    batch = max(BATCH_TOKENS // length, 1)
    task = NextToken(Spec(data=DataSpec(context=length)))
    losses, scored = task.token_losses(model, text, shard.separators, max(length // 2, 1), batch)
    return shares_of_ratio(np.add.reduceat(losses, np.arange(0, len(losses), ITEM_TOKENS)), scored.sum())
