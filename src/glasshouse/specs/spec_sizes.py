"""Sizes that follow from several fields of a spec, in exact integers, before anything is allocated.

Every field has a range of its own. These rules bound their products, far beyond what any machine can hold. Whether a model
fits into the memory of this machine is checked later, with its real parts.
"""

from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec

MOST_PARAMETERS = 10**13
MOST_NUMBERS = 10**11
"""Numbers in one array: a table of positions, or the tokens of a step."""


def parameters(spec: Spec) -> int:
    """About how many parameters a model has: those of the usual attention and feed-forward parts, and the embedding."""
    model = spec.model
    inner = model.heads * (model.head_width or -(-model.width // model.heads))
    block = 4 * model.width * inner + 2 * model.width * (model.feed_forward or 4 * model.width)
    return model.layers * block + spec.data.vocabulary * model.width


def check(spec: Spec) -> None:
    """Raise SpecError for fields that are each in their range and whose product is beyond any use."""
    data, model, training = spec.data, spec.model, spec.training
    if (count := parameters(spec)) > MOST_PARAMETERS:
        raise SpecError(
            "too-many-parameters",
            f"model.layers={model.layers}, model.width={model.width}, model.feed_forward={model.feed_forward} and "
            f"data.vocabulary={data.vocabulary} give about {count:.1e} parameters, and at most {MOST_PARAMETERS:.0e} are "
            "possible; choose a smaller model",
        )
    products = {
        ("data.context", "model.width"): data.context * model.width,
        ("data.context", "training.batch"): data.context * training.batch // training.gradient_accumulation,
        ("data.context", "evaluation.batch"): data.context * spec.evaluation.batch,
        ("data.context", "evaluation.beams"): data.context * spec.evaluation.beams,
    }
    for (first, second), count in products.items():
        if count > MOST_NUMBERS:
            section, _, name = second.partition(".")
            value = getattr(getattr(spec, section), name)
            raise SpecError(
                "product-too-large",
                f"{first}={data.context} times {second}={value} is {count:.1e}, and at most {MOST_NUMBERS:.0e} are "
                "possible; choose smaller ones",
            )
