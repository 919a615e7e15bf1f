"""Rules between fields of a spec. An invalid combination is refused before any work starts.

These are the rules that can be checked without torch. `models.build` checks whether the parts fit together.
"""

from collections.abc import Iterator
from itertools import islice

from glasshouse.specs import catalogue, declared
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec


def check(spec: Spec) -> None:
    """Raise SpecError for the first invalid combination."""
    for field, problem in _conflicts(spec):
        raise SpecError(problem, field, declared.value_of(spec, field))
    catalogue.find("task", spec.task, "task").check_spec(spec)


def _conflicts(spec: Spec) -> Iterator[tuple[str, str]]:
    """Each invalid combination: a field, and what is wrong with its value."""
    data, model, training = spec.data, spec.model, spec.training
    if data.source and data.files:
        yield "data.source", "and data.files are both set; set only one"
    if data.megabytes and not (data.source and "megabytes" in catalogue.find("source", data.source).spec_fields):
        chosen = f"data.source={data.source}" if data.source else f"data.files={','.join(data.files)}"
        yield "data.megabytes", f"has no effect on {chosen}; remove it, or choose data.source=installed-python"
    has_data, has_length = bool(data.source or data.files), bool(training.steps or training.epochs)
    if has_length and not has_data:
        raise SpecError("the spec names no data; set data.source=state-of-the-union, say, or data.files=mine.txt")
    if model.width % model.heads and not model.head_width:
        divisors = list(islice((str(n) for n in range(1, model.width + 1) if model.width % n == 0), 7))
        choices = ", ".join(divisors[:6]) + (", ..." if len(divisors) > 6 else "")
        yield "model.heads", f"does not divide model.width={model.width}; choose {choices}"
    if model.zero_branches and model.connection == "no-residual":
        rule = f"with model.connection={model.connection!r} gives zeros whatever the input"
        yield "model.zero_branches", f"{rule}; choose model.connection=pre-norm or post-norm"
    # An imported model has neither data nor steps, and its spec is valid.
    if has_data and bool(training.steps) == bool(training.epochs):
        yield "training.steps", f"and training.epochs={training.epochs:g}: set exactly one of them above 0"
    if training.batch_warmup and training.own.get("group_by_length"):
        sizes = f"training.batch_warmup={training.batch_warmup:g}"
        yield "training.group_by_length", f"needs batches of one size, but {sizes} changes it; choose one of them"
    accumulation, parts = training.gradient_accumulation, training.processes * training.gradient_accumulation
    if training.batch % accumulation:
        rule = f"does not divide training.batch={training.batch}"
        yield "training.gradient_accumulation", f"{rule}; choose a divisor, because micro-batches have equal sizes"
    if training.batch % parts:
        times = f" x training.gradient_accumulation={accumulation}" if accumulation > 1 else ""
        rule = f"cannot be divided among training.processes={training.processes}{times}"
        yield "training.batch", f"{rule}; choose a multiple of {parts}, because every process takes equally many rows"
    if training.batch_warmup and training.batch % (4 * parts):
        rule = f"begins with a quarter of training.batch={training.batch}, which does not divide evenly"
        yield "training.batch_warmup", f"{rule}; choose a multiple of {4 * parts}"
    if training.freeze == "gradual" and training.processes > 1:
        rule = "needs the same trained weights in all steps"
        yield "training.processes", f"{rule}, but training.freeze='gradual' changes them; choose one of them"
    if training.freeze == "gradual" and training.lora_rank:
        rule = "keeps everything except the head frozen"
        yield "training.lora_rank", f"{rule}, but training.freeze='gradual' unfreezes it; choose one of them"
