"""Rules between fields: combinations that cannot be, refused before any work starts.

Only what can be known without torch; whether parts fit together is checked by `models.build`.
"""

from itertools import islice

from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec

# Settings that only some tasks heed.
OF_TASKS = {
    "training.label_smoothing": ("next-token", "translate"),
    "training.loss_on": ("translate",),
    "training.class_weights": ("classify",),
    "evaluation.tokens": ("next-token", "masked-token"),
    "evaluation.stride": ("next-token",),
    "evaluation.beams": ("translate",),
    "evaluation.length_penalty": ("translate",),
    "evaluation.each_word": ("translate",),
}


def check(spec: Spec) -> None:
    """Raise SpecError for the first combination that cannot be."""
    data, model, training = spec.data, spec.model, spec.training
    if data.source and data.files:
        raise SpecError(f"data.source={data.source!r} and data.files are both given; give one of them")
    untrained = not training.steps and not training.epochs
    if not data.source and not data.files and not untrained:
        raise SpecError(
            "no text is given; name a data set (data.source=state-of-the-union) or your own (data.files=mine.txt)"
        )
    if model.width % model.heads and not model.head_width:
        fitting = list(islice((str(n) for n in range(1, model.width + 1) if model.width % n == 0), 7))
        some = ", ".join(fitting[:6]) + (", ..." if len(fitting) > 6 else "")
        raise SpecError(f"model.heads={model.heads} does not divide model.width={model.width}; choose {some}")
    if not model.layers and model.kind != "encoder":
        raise SpecError(
            f"model.layers=0 leaves a model of kind {model.kind!r} nothing to compute with; give it a block, or choose "
            "model.kind=encoder, which is a bag of its tokens then"
        )
    # Neither text nor steps: the spec of a model that was imported and not trained here.
    if bool(training.steps) == bool(training.epochs) and (data.source or data.files):
        given = f"training.steps={training.steps} and training.epochs={training.epochs:g}"
        raise SpecError(f"{given}: give exactly one of them a value above 0")
    if training.batch % training.accumulate:
        raise SpecError(
            f"training.accumulate={training.accumulate} does not divide training.batch={training.batch}; "
            "the batch is computed in that many equal parts"
        )
    if training.lora_rank and training.freeze == "gradual":
        raise SpecError(
            f"training.lora_rank={training.lora_rank} keeps everything but the head frozen, and training.freeze='gradual' "
            "thaws it; choose one of them"
        )
    _refuse_unheeded(spec)
    if spec.evaluation.stride > data.context:
        raise SpecError(
            f"evaluation.stride={spec.evaluation.stride} is more than data.context={data.context}; "
            "a window cannot score more tokens than it holds"
        )


def _refuse_unheeded(spec: Spec) -> None:
    """Raise where something is set that this task does not heed: a person would think that it had done something."""
    usual = Spec()
    for name, tasks in OF_TASKS.items():
        section, _, field = name.partition(".")
        value = getattr(getattr(spec, section), field)
        if spec.task not in tasks and value != getattr(getattr(usual, section), field):
            raise SpecError(
                f"{name}={value!r} is for {'tasks' if len(tasks) > 1 else 'task'} {' and '.join(tasks)}, and this task is "
                f"{spec.task!r}; leave it out"
            )
