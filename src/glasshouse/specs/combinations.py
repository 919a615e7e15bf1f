"""Rules between fields of a spec. An invalid combination is refused before any work starts.

These are the rules that can be checked without torch. `models.build` checks whether the parts fit together.
"""

from itertools import islice

from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec


def check(spec: Spec) -> None:
    """Raise SpecError for the first invalid combination."""
    data, model, training = spec.data, spec.model, spec.training
    if data.source and data.files:
        raise SpecError("and data.files are both set; set only one", "data.source", data.source)
    if data.megabytes and not (data.source and "megabytes" in catalogue.find("source", data.source).spec_fields):
        raise SpecError(
            f"has no effect on data.{('source' if data.source else 'files')}={data.source or ','.join(data.files)}; "
            "remove it, or choose data.source=installed-python",
            "data.megabytes",
            data.megabytes,
        )
    untrained = not training.steps and not training.epochs
    if not data.source and not data.files and not untrained:
        raise SpecError(
            "the spec names no data; set data.source (data.source=state-of-the-union) or data.files (data.files=mine.txt)"
        )
    if model.width % model.heads and not model.head_width:
        divisors = list(islice((str(n) for n in range(1, model.width + 1) if model.width % n == 0), 7))
        choices = ", ".join(divisors[:6]) + (", ..." if len(divisors) > 6 else "")
        raise SpecError(f"does not divide model.width={model.width}; choose {choices}", "model.heads", model.heads)
    if model.zero_branches and model.connection == "no-residual":
        raise SpecError(
            f"with model.connection={model.connection!r} gives zeros whatever the input, because nothing goes around "
            "a block's parts; choose model.connection=pre-norm or post-norm",
            "model.zero_branches",
            True,
        )
    # An imported model has neither data nor steps, and its spec is valid.
    if bool(training.steps) == bool(training.epochs) and (data.source or data.files):
        raise SpecError(
            f"and training.epochs={training.epochs:g}: set exactly one of them above 0", "training.steps", training.steps
        )
    if training.batch_warmup and training.own.get("group_by_length"):
        raise SpecError(
            f"needs batches of one size, but training.batch_warmup={training.batch_warmup:g} changes it; choose one of them",
            "training.group_by_length",
            True,
        )
    if training.batch % training.gradient_accumulation:
        raise SpecError(
            (f"does not divide training.batch={training.batch}; choose a divisor, because micro-batches have equal sizes"),
            "training.gradient_accumulation",
            training.gradient_accumulation,
        )
    parts, accumulation = training.processes * training.gradient_accumulation, training.gradient_accumulation
    if training.batch % parts:
        times = f" x training.gradient_accumulation={accumulation}" if accumulation > 1 else ""
        raise SpecError(
            f"training.batch={training.batch} cannot be divided among training.processes={training.processes}{times}; "
            f"choose a multiple of {parts}, because every process takes equally many rows"
        )
    unit = 4 * training.processes * training.gradient_accumulation  # a warm-up begins with a quarter of the batch
    if training.batch_warmup and training.batch % unit:
        raise SpecError(
            f"begins with a quarter of training.batch={training.batch}, which is no whole number of sequences for "
            f"every process and micro-batch; choose a multiple of {unit}",
            "training.batch_warmup",
            training.batch_warmup,
        )
    if training.processes > 1 and training.freeze == "gradual":
        raise SpecError(
            ("needs the same trained weights in all steps, but training.freeze='gradual' changes them; choose one of them"),
            "training.processes",
            training.processes,
        )
    if training.lora_rank and training.freeze == "gradual":
        raise SpecError(
            "keeps everything except the head frozen, but training.freeze='gradual' unfreezes it; choose one of them",
            "training.lora_rank",
            training.lora_rank,
        )
    catalogue.find("task", spec.task, "task").check_spec(spec)
