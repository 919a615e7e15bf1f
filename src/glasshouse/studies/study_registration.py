"""The registration of a study: a digest of its question and its plan, recorded before its first run. Trains nothing.

The digest covers the words of the question, the resolved spec and the data of every arm, the metric and its split, the seeds
or the looks, the margin, alpha, the steps between evaluations, and what tuning may choose from. What depends on the machine,
such as the precision, is not part of it. The digest can be computed again from `study.json` at any time, and shows whether
the plan was changed.
"""

import hashlib
import json
import time
from typing import Any

from glasshouse.results.study import StudyRegistration
from glasshouse.specs.errors import RunError
from glasshouse.studies.study_folder import Design, StudyFolder


def new_registration(design: Design) -> StudyRegistration:
    """The registration of a design, as of now."""
    return StudyRegistration(float(int(time.time())), digest(design))


def digest(design: Design) -> str:
    """The SHA-256 of everything that the registration covers, as hexadecimal digits."""
    return hashlib.sha256(json.dumps(_plan(design), sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _plan(design: Design) -> dict[str, Any]:
    question, tuning = design.question, design.tuning
    plan: dict[str, Any] = {
        "kind": question.kind,
        "words": question.words,
        "arms": [(arm.name, arm.asked, arm.facts.get("data", "")) for arm in design.arms],
        "match": question.match,
        "metric": design.metric_name,
        "split": design.split,
        "items": question.items,
        "higher is better": design.rule.higher_is_better,
        "alpha": design.rule.alpha,
        "margin": design.rule.margin,
        "margin in standard deviations between seeds": design.rule.spread if design.rule.margin is None else None,
        "seeds": design.planned_seeds,
        "looks": design.rule.looks,
        "replicates": design.replicates,
    }
    if design.shortens_interval:
        plan["steps between evaluations"] = [arm.spec.evaluation.every for arm in design.arms]
    if tuning:
        plan["tuning"] = {"field": tuning.field, "candidates": tuning.values, "seeds": tuning.seeds}
    return plan


def check(study: StudyFolder, design: Design) -> None:
    """Refuse a registered study whose plan is no longer the registered one."""
    if design.registered and digest(design) != design.registered.digest:
        raise RunError(
            f"{study.path} was changed after it was registered: its plan no longer has the digest "
            f"{design.registered.digest[:12]}; restore its study.json, or ask the new question under another --name"
        )
