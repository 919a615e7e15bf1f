"""Claim: gradual unfreezing is no worse than full fine-tuning and better than a head alone, and any task accepts it."""

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

# Values of training.freeze, which are also the names of the arms: train everything, the head only, or from the head down.
ALL, HEAD, GRADUAL = "none", "backbone", "gradual"
# Arm -> (its name in the evidence, its reported accuracy).
NAMES = {ALL: ("everything", ""), HEAD: ("head only", ""), GRADUAL: ("gradual", "")}
# Gradual unfreezing counts as no worse than fine-tuning everything if its accuracy is lower by less than this.
MARGIN = 0.02
# Task -> a recipe of it. The head of a language model has its own weights only if it is not tied to the embedding.
RECIPES = {
    "next token": ("demo-lm", "model.tied=false"),
    "masked token": (arithmetic.PRETRAIN, "model.tied=false"),
    "classify": ("presidents",),
    "translate": ("piglatin-encoder-decoder", "model.tied=false"),
    "match": ("scene-clip",),
}


class Unfreezing(Claim):
    """Fine-tunes the same pretrained encoder in three ways, and tries the three settings on a recipe of every task."""

    statement = (
        "Gradual unfreezing, a setting of any run, is no worse than fine-tuning everything and better than a head alone."
    )
    source = "course work on fine-tuning: which part of a pretrained encoder to train"
    reported = "asserted, without figures"
    rule = (
        "Three parts. First, by test accuracy, paired by seed, gradual unfreezing is worse than fine-tuning everything "
        f"by less than {100 * MARGIN:g} percentage points. Second, it is better than training the head alone. Third, a "
        "run of every task accepts each of the three settings. The claim is upheld if all parts hold. It is refuted if "
        "gradual unfreezing is worse than fine-tuning everything and the difference may reach that margin, if it is not "
        "better than the head alone, or if a task refuses a setting. Otherwise it is undecided."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        run = arithmetic.pretrain(bench)
        study = bench.compare(
            "fine-tuning",
            arithmetic.from_run(bench, "pretrained", run),
            f"training.freeze={','.join(NAMES)}",
            metric=arithmetic.METRIC,
            margin=MARGIN,
            quick=arithmetic.QUICK_FINETUNE,
        )
        accuracy = {arm: bench.values(study, arm, arithmetic.METRIC) for arm in NAMES}
        against_all, against_head = gradual_against(accuracy, ALL, MARGIN), gradual_against(accuracy, HEAD)
        settings = {task: try_settings(*words) for task, words in RECIPES.items()}
        rows = arithmetic.accuracy_rows(bench, study, NAMES)
        rows += [
            Evidence(f"trained parameters, {task} ({RECIPES[task][0]})", "", text) for task, (_, text) in settings.items()
        ]
        accepted_tasks = sum(accepted for accepted, _ in settings.values())
        settings_verdict = UPHELD if accepted_tasks == len(RECIPES) else REFUTED
        return Finding(
            verdict=rules.all_of(
                rules.as_good(against_all, parts=2), rules.direction(against_head, parts=2), settings_verdict
            ),
            because=(
                f"By test accuracy, {against_all.sentence}; {against_head.sentence}. "
                f"{accepted_tasks} of {len(RECIPES)} tasks accept the three settings."
            ),
            scope=arithmetic.describe_scope(bench, study, run),
            rows=tuple(rows),
            studies=(study.name,),
            notes=(
                "a language model whose head is tied to its embedding has no separate head to train and refuses the "
                "setting; such recipes were tried with model.tied=false",
                "gradual unfreezing has unfrozen everything after half of the steps (training.unfrozen_by)",
            ),
        )


def gradual_against(accuracy: Mapping[str, Mapping[int, float]], other: str, margin: float | None = None) -> Difference:
    """Gradual unfreezing compared with another arm, by accuracy, paired by seed."""
    other_name, gradual_name = NAMES[other][0], "gradual unfreezing"
    rule = VerdictRule(higher_is_better=True, margin=margin)
    return judge({other_name: accuracy[other], gradual_name: accuracy[GRADUAL]}, rule)[gradual_name]


def try_settings(*words: str) -> tuple[bool, str]:
    """(whether a run of this recipe accepts every setting, how many parameters each setting trains first and last).

    The text gives the reason of a refusal instead of the numbers.
    """
    texts, accepted = [], True
    for freeze, (name, _) in NAMES.items():
        try:
            spec = resolve_spec.spec_of(*words, f"training.freeze={freeze}")
            task = catalogue.find("task", spec.task).from_spec(spec)
            with torch.device("meta"):
                model = models.assemble(task.draft_model(spec.model), spec.data.vocabulary, spec.data.context)
            schedule = UnfreezingSchedule(model, spec.training, steps=100)
            counts = [trained_parameters(model)]
            schedule.apply(99)
            counts.append(trained_parameters(model))
            texts.append(f"{name} {' then '.join(f'{count:,}' for count in dict.fromkeys(counts))}")
        except SpecError as error:
            accepted = False
            texts.append(f"{name} refused: {error}")
    return accepted, "; ".join(texts)
