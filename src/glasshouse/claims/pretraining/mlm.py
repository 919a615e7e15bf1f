"""Claim: an encoder learns by masked-language-model pretraining, and what it learns helps a later task about numbers."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, Series
from glasshouse.claims.pretraining import arithmetic, neighbour_tables
from glasshouse.claims.pretraining.arithmetic import (
    FROZEN,
    FULL,
    LINEAR,
    MARGIN,
    PRETRAINED,
    RANDOM,
    RANDOM_FROZEN,
    SCRATCH,
    Experiment,
    more_accurate,
)
from glasshouse.claims.rules import higher
from glasshouse.data import prepared_data
from glasshouse.results.claim import Part
from glasshouse.results.study import StudyResults
from glasshouse.specs.errors import RunError

# An encoder without positions does not know the order of the tokens.
WITHOUT_ORDER = "without-positions"
ENCODERS = {PRETRAINED: "encoder", WITHOUT_ORDER: "encoder without positions", RANDOM: "random encoder"}
TABLES = {
    neighbour_tables.NO_NEIGHBOUR: "always the commonest token",
    neighbour_tables.LEFT: "the commonest token after the one before",
    neighbour_tables.BOTH: "the commonest token between its two neighbours",
}


def with_order_removed(experiment: Experiment) -> Experiment:
    """The experiment with one more pretraining, of an encoder without positions."""
    return replace(
        experiment, starts={**experiment.starts, WITHOUT_ORDER: (*experiment.starts[PRETRAINED], "model.position=none")}
    )


FROM_ENCODERS = (FULL, SCRATCH, FROZEN, RANDOM_FROZEN)
COURSE = with_order_removed(arithmetic.course_experiment({}, recipe=(FULL, SCRATCH), tuned=FROM_ENCODERS))
GENERATED = arithmetic.generated_experiment(FULL, SCRATCH)


def masked(experiment: Experiment, what: str) -> str:
    """The key of a share of the masked tokens: those that an encoder or a table predicts."""
    return f"{experiment.key}/masked/{what}"


def masked_quantities(experiment: Experiment) -> dict[str, Quantity]:
    """The shares of the masked tokens that the encoders and the tables predict."""
    names = {**{start: ENCODERS[start] for start in experiment.starts}, **TABLES}
    return {
        masked(experiment, key): Quantity(
            f"{experiment.prefix}masked tokens predicted, {name}",
            "test.accuracy",
            "%",
            100.0,
            higher_is_better=True,
            per="pretraining",
        )
        for key, name in names.items()
    }


def masked_parts(experiment: Experiment, where: str = "", decides: bool = True) -> tuple[Part, ...]:
    """The parts about masked tokens."""
    return tuple(
        higher(
            masked(experiment, PRETRAINED),
            than=masked(experiment, table),
            margin=MARGIN,
            name=f"the encoder predicts more masked tokens than {TABLES[table]}",
            setting=where,
            decides=decides,
        )
        for table in (neighbour_tables.LEFT, neighbour_tables.BOTH)
    )


def task_parts(experiment: Experiment, setting: str, where: str, decides: bool) -> tuple[Part, ...]:
    """The parts about the later task under one setting."""
    full, scratch, frozen, random_frozen = (experiment.quantity(setting, name) for name in FROM_ENCODERS)
    linear = experiment.opponent(LINEAR)
    parts = [
        more_accurate(full, scratch, "fine-tuning a pretrained encoder beats training from scratch", where, decides),
        more_accurate(full, linear, "fine-tuning a pretrained encoder beats a linear model over word pairs", where, False),
    ]
    if FROZEN in experiment.ways[setting]:
        name = "a head on the frozen pretrained encoder beats a head on a random one"
        parts.append(more_accurate(frozen, random_frozen, name, where, decides=False))
    return tuple(parts)


class MLM(Claim):
    """Pretrains encoders as masked language models, and fine-tunes from them."""

    group = GROUPS[5]
    statement = "Masked-language-model pretraining teaches an encoder to predict masked tokens, and that helps a later task."
    source = "course work on pretraining: a masked language model"
    reported = "no figures"
    why = (
        "To fill a gap in a sentence about numbers, an encoder must know which numbers fit there. Whoever knows that "
        "should find it easier to tell whether a difference is negative."
    )
    procedure = (
        "Every seed pretrains its own small encoder on sentences about numbers, without the expressions that are held out "
        "later. Its predictions of masked tokens in held-out sentences must beat two tables of the training text by more "
        "than one point: the commonest token after the one before, and the commonest between the two neighbours. It is "
        "then fine-tuned to the sign of an expression and must beat the same encoder with random weights on the course's "
        "test file, per pretraining and expression, by more than one point: with the recipe's learning rate, and with the "
        "best of several for each, chosen on validation expressions."
    )
    would_change = (
        "A later task with fewer examples, from which an encoder without pretraining cannot learn enough; or a pretraining "
        "text that says more about the task."
    )
    studies = (*COURSE.plans, *GENERATED.plans)
    quantities: ClassVar = {
        **masked_quantities(COURSE),
        **COURSE.quantities,
        **masked_quantities(GENERATED),
        **GENERATED.quantities,
    }
    parts = (
        *masked_parts(COURSE),
        *(part for where in arithmetic.judged(COURSE, GENERATED) for part in task_parts(*where)),
        *masked_parts(GENERATED, arithmetic.STAND_IN_SETTING, decides=False),
    )

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        facts = []
        for experiment in arithmetic.available(bench, COURSE, GENERATED):
            pretraining = experiment.pretrain(bench)
            measured, studies = experiment.fine_tune(bench, pretraining)
            series |= measured
            for start in experiment.starts:
                series[masked(experiment, start)] = bench.values(pretraining, experiment.arm(start), "test.accuracy")
            units = list(series[masked(experiment, PRETRAINED)].values)
            for table, share in table_shares(bench, pretraining, experiment.arm(PRETRAINED)).items():
                series[masked(experiment, table)] = Series(dict.fromkeys(units, share))
            facts += bench.facts(pretraining, *studies)
        return Measurements(
            series,
            tuple(facts),
            notes=(
                "15 % of the tokens are predicted, and a tenth of those are not masked but left unchanged; the tables may "
                "copy a token that is not masked, and their neighbours are never masked",
                "no expression that is held out of fine-tuning, and no result of one, is in the pretraining text",
            ),
        )


def table_shares(bench: Bench, pretraining: StudyResults, arm: str) -> dict[str, float]:
    """Table -> the share of the masked test tokens that it predicts. Every seed has the same text and tokenizer."""

    def compute() -> dict[str, float]:
        runs = bench.finished_runs(pretraining, arm)
        if not runs:
            raise RunError(
                f"every run of {arm!r} in the study {pretraining.name!r} diverged, so it has nothing to be compared with; "
                "lower its learning rate"
            )
        run = runs[0]
        splits = prepared_data.prepare(run.spec.data, run.tokenizer, specials=run.task.specials).splits
        training, test = (np.asarray(splits[split].tokens, np.int64).tolist() for split in ("train", "test"))
        shares = neighbour_tables.accuracies(training, test, splits["test"].separators)
        return {table: neighbour_tables.with_copying(share) for table, share in shares.items()}

    shares: dict[str, float] = bench.cached("tables", compute, pretraining)
    return shares
