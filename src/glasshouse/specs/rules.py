"""Rules between fields: combinations that cannot be, refused before any work starts.

Only what can be known without torch; whether parts fit together is checked by `models.build`.
"""

from itertools import islice

from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec


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
    if training.label_smoothing and spec.task not in ("translate", "next-token"):
        raise SpecError(
            f"training.label_smoothing={training.label_smoothing:g} is for tasks translate and next-token; this one is "
            f"{spec.task!r}; leave it out"
        )
    if training.class_weights and spec.task != "classify":
        raise SpecError(f"training.class_weights is for task='classify', and this task is {spec.task!r}; leave it out")
    if spec.task != "translate":
        for name, value, usual in (
            ("training.loss_on", training.loss_on, "target"),
            ("evaluation.each_word", spec.evaluation.each_word, False),
            ("evaluation.beams", spec.evaluation.beams, 1),
            ("evaluation.length_penalty", spec.evaluation.length_penalty, 1.0),
        ):
            if value != usual:
                raise SpecError(f"{name}={value!r} is for task='translate', and this task is {spec.task!r}; leave it out")
    if spec.evaluation.stride > data.context:
        raise SpecError(
            f"evaluation.stride={spec.evaluation.stride} is more than data.context={data.context}; "
            "a window cannot score more tokens than it holds"
        )
