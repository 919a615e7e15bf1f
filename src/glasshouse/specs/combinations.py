"""Rules between fields: combinations that cannot be, refused before any work starts.

Only what can be known without torch; whether parts fit together is checked by `models.build`.
"""

from itertools import islice

from glasshouse.specs import catalogue, spec_fields
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import SECTIONS, Spec


def check(spec: Spec) -> None:
    """Raise SpecError for the first combination that cannot be."""
    data, model, training = spec.data, spec.model, spec.training
    if data.source and data.files:
        raise SpecError("source-and-files", f"data.source={data.source!r} and data.files are both given; give one of them")
    untrained = not training.steps and not training.epochs
    if not data.source and not data.files and not untrained:
        raise SpecError(
            "no-data",
            "no data are given; name a data set (data.source=state-of-the-union) or your own files (data.files=mine.txt)",
        )
    if model.width % model.heads and not model.head_width:
        fitting = list(islice((str(n) for n in range(1, model.width + 1) if model.width % n == 0), 7))
        some = ", ".join(fitting[:6]) + (", ..." if len(fitting) > 6 else "")
        raise SpecError(
            "heads-divide-width", f"model.heads={model.heads} does not divide model.width={model.width}; choose {some}"
        )
    # Neither text nor steps: the spec of a model that was imported and not trained here.
    if bool(training.steps) == bool(training.epochs) and (data.source or data.files):
        given = f"training.steps={training.steps} and training.epochs={training.epochs:g}"
        raise SpecError("steps-or-epochs", f"{given}: give exactly one of them a value above 0")
    if training.batch % training.gradient_accumulation:
        raise SpecError(
            "accumulation-divides-batch",
            f"training.gradient_accumulation={training.gradient_accumulation} does not divide "
            f"training.batch={training.batch}; the batch is computed in that many equal parts",
        )
    if training.lora_rank and training.freeze == "gradual":
        raise SpecError(
            "lora-or-gradual",
            f"training.lora_rank={training.lora_rank} keeps everything but the head frozen, and training.freeze='gradual' "
            "unfreezes it; choose one of them",
        )
    _refuse_unheeded(spec)
    if spec.evaluation.stride > data.context:
        raise SpecError(
            "stride-within-context",
            f"evaluation.stride={spec.evaluation.stride} is more than data.context={data.context}; "
            "a window cannot score more tokens than it holds",
        )


def _refuse_unheeded(spec: Spec) -> None:
    """Refuse a changed setting that this task does not read: a person would think that it had done something."""
    for section, cls in SECTIONS.items():
        for name, (_, rule, default) in spec_fields.fields(cls).items():
            if not rule.of_task or (value := getattr(getattr(spec, section), name)) == default:
                continue
            if f"{section}.{name}" not in catalogue.find("task", spec.task, "task").reads:
                raise SpecError(
                    "not-of-this-task",
                    f"{section}.{name}={value!r} does nothing in task={spec.task!r}; leave it out",
                )
