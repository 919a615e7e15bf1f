"""Claim: head only, everything, and gradual unfreezing are settings of any run, and gradual unfreezing pays. Arithmetic."""

from collections.abc import Mapping

import torch

from glasshouse import models
from glasshouse.claims import rules
from glasshouse.claims.claim import REFUTED, UPHELD, Bench, Claim, Evidence, Finding
from glasshouse.claims.pretraining import arithmetic
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge
from glasshouse.runs import resolve_spec
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.training.freezing import UnfreezingSchedule, trained_parameters

# As the study names them: all, the head alone, and from the head down.
ALL, HEAD, GRADUAL = "none", "backbone", "gradual"
NAMES = {ALL: ("everything", ""), HEAD: ("head only", ""), GRADUAL: ("gradual", "")}
# By how much accuracy gradual unfreezing may fall short of fine-tuning everything and still be no worse.
MARGIN = 0.02
# A recipe of each task. A language model's head has weights of its own only where it does not share the embedding's.
RUNS = {
    "next token": ("demo-lm", "model.tied=false"),
    "masked token": (arithmetic.PRETRAIN, "model.tied=false"),
    "classify": ("presidents",),
    "translate": ("piglatin-encoder-decoder", "model.tied=false"),
    "match": ("scene-clip",),
}


class Unfreezing(Claim):
    """Three ways to fine-tune the same pretrained encoder."""

    statement = (
        "Gradual unfreezing, a setting of any run, is no worse than fine-tuning everything and better than a head alone."
    )
    source = "course work on fine-tuning: which part of a pretrained encoder to train"
    reported = "asserted, without figures"
    rule = (
        "Three parts: by test accuracy, paired by seed, gradual unfreezing is no worse than fine-tuning everything by "
        f"{100 * MARGIN:g} points, and better than training the head alone; and each of the three is a setting that a "
        "run of every task accepts. Upheld where all are so; refuted where gradual is worse than everything and may be "
        "so by that much, where it is not better than the head alone, or where a task refuses a setting; else "
        "undecided."
    )

    def try_it(self, bench: Bench) -> Finding:
        run = arithmetic.pretrained(bench)
        comparison = bench.compare(
            "fine-tuning",
            arithmetic.from_run(bench, "pretrained", run),
            f"training.freeze={','.join(NAMES)}",
            metric=arithmetic.METRIC,
            margin=MARGIN,
            quick=arithmetic.QUICK_FINETUNE,
        )
        accuracy = {arm: bench.values(comparison, arm, arithmetic.METRIC) for arm in NAMES}
        everything, head = against(accuracy, ALL, MARGIN), against(accuracy, HEAD)
        refused = {task: settings(*words) for task, words in RUNS.items()}
        rows = arithmetic.rows(bench, comparison, NAMES)
        rows += [Evidence(f"trained parameters, {task} ({RUNS[task][0]})", "", told) for task, (_, told) in refused.items()]
        accepted = UPHELD if all(fine for fine, _ in refused.values()) else REFUTED
        return Finding(
            verdict=rules.all_of(rules.as_good(everything, parts=2), rules.direction(head, parts=2), accepted),
            because=(
                f"By test accuracy, {everything.sentence}; {head.sentence}. "
                f"The three settings are accepted by {sum(fine for fine, _ in refused.values())} of {len(RUNS)} tasks."
            ),
            scope=arithmetic.scope(bench, comparison, run),
            rows=tuple(rows),
            studies=(comparison.name,),
            notes=(
                "a language model whose head is its embedding has no head to train alone, and says so; such recipes "
                "were tried with model.tied=false",
                "gradual unfreezing has all thawed after half of the steps (training.unfrozen_by)",
            ),
        )


def against(accuracy: Mapping[str, Mapping[int, float]], other: str, margin: float | None = None) -> Difference:
    """Gradual unfreezing against another way, paired by seed."""
    first, name = NAMES[other][0], "gradual unfreezing"
    return judge({first: accuracy[other], name: accuracy[GRADUAL]}, VerdictRule(higher_is_better=True, margin=margin))[name]


def settings(*words: str) -> tuple[bool, str]:
    """(whether a run of this recipe accepts each setting, how much of the model each trains first and last, or why not)."""
    found, fine = [], True
    for freeze, (name, _) in NAMES.items():
        try:
            spec = resolve_spec.spec_of(*words, f"training.freeze={freeze}")
            task = catalogue.find("task", spec.task).from_spec(spec)
            with torch.device("meta"):
                model = models.assemble(task.draft_model(spec.model), spec.data.vocabulary, spec.data.context)
            thaw = UnfreezingSchedule(model, spec.training, steps=100)
            counts = [trained_parameters(model)]
            thaw.apply(99)
            counts.append(trained_parameters(model))
            found.append(f"{name} {' then '.join(f'{count:,}' for count in dict.fromkeys(counts))}")
        except SpecError as error:
            fine = False
            found.append(f"{name} refused: {error}")
    return fine, "; ".join(found)
