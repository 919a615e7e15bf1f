"""From a model spec to a model: check that the parts fit together, assemble them, and initialise the weights."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from glasshouse.models import head_pruning
from glasshouse.models.base import Model
from glasshouse.models.part_factory import PartFactory
from glasshouse.parts.patch_embedding import Patches
from glasshouse.parts.positions.base import Position
from glasshouse.specs import catalogue, spec_files
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec

# How the name of the last matrix of a residual branch ends.
LAST_OF_BRANCH = ("attention.output.weight", "feed_forward.down.weight", "feed_forward.linear.weight")


def build(spec: ModelSpec, vocabulary: int, context: int, seed: int = 0) -> Model:
    """Build the model that a spec describes, on the CPU, with weights initialised from the seed."""
    model = assemble(spec, vocabulary, context)
    initialise(model, seed, spec.initialisation, spec.zero_branches)
    return model


def check(spec: ModelSpec, context: int) -> Model:
    """Raise SpecError if the parts do not fit together. Return the model with one block per stack, on the meta device."""
    spec_files.check_declared(spec)
    kind = model_class(spec)
    if spec.layers < kind.min_layers:
        reason = f"is too few for model.kind={spec.kind!r}; choose {kind.min_layers} or more, or model.kind=encoder"
        raise SpecError(reason, "model.layers", spec.layers)
    with WithoutWeights():
        return assemble(one_block(spec), vocabulary=2, context=context)


def model_class(spec: ModelSpec) -> type[Model]:
    return catalogue.find("model", spec.kind, "model.kind")


class WithoutWeights(TorchFunctionMode):
    """Within such a block, modules are built with weights on the meta device, which have shapes and no data.

    Nothing is computed there: the first computation on that device imports `torch._dynamo`, which takes a second or two. So
    torch's default initialisation is skipped, and the small tables of positions are real: `torch.empty` is on the meta
    device, and the functions of `torch.nn.init` return their tensor as it is.
    """

    def __torch_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), named: dict[str, Any] | None = None
    ) -> Any:
        named = named or {}
        if getattr(function, "__module__", None) == "torch.nn.init":
            return arguments[0] if arguments else named["tensor"]
        if function is torch.empty:
            named = named | {"device": "meta"}
        return function(*arguments, **named)


def one_block(spec: ModelSpec) -> ModelSpec:
    """The spec with at most one block in each stack."""
    layer_counts = model_class(spec).layer_counts
    own = {name: min(value, 1) if name in layer_counts else value for name, value in spec.own.items()}
    return replace(spec, layers=min(spec.layers, 1), own=own, pruned_heads=())


def assemble(spec: ModelSpec, vocabulary: int, context: int) -> Model:
    """Build the model's modules with torch's default weights; on the meta device this allocates nothing."""
    model = model_class(spec).assemble(PartFactory.from_spec(spec, context), spec, vocabulary)
    head_pruning.remove_heads(model, spec.pruned_heads)
    return model


def initialise(model: nn.Module, seed: int = 0, scale: float = 0.5, zero_branches: bool = False) -> None:
    """Initialise all weights from the seed: matrices with standard deviation `scale` / sqrt(inputs), gains 1, biases 0.

    The last matrix of each residual branch is divided by sqrt(2 layers), so that the variance of the residual stream does
    not grow with depth (Radford et al., Language Models are Unsupervised Multitask Learners, 2019). Scalar parameters keep
    the value that their module gave them. A module may declare another deviation of its matrices as `initial_deviation`.
    With `zero_branches` the last matrix of each branch is 0 instead, so that every block begins as the identity.
    """
    generator = torch.Generator().manual_seed(seed)
    declared = {
        parameter: deviation
        for module in model.modules()
        if (deviation := getattr(module, "initial_deviation", 0.0))
        for parameter in module.parameters()
    }
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() >= 2:
                deviation = scale / math.sqrt(parameter[0].numel())
                if name.endswith(LAST_OF_BRANCH) and "blocks." in name:
                    stack = model.get_submodule(name[: name.index("blocks.")].rstrip("."))
                    deviation /= math.sqrt(2 * len(stack.blocks))  # type: ignore[arg-type]
                    # A ReLU after a matrix of zeros would never have a gradient.
                    deviation *= not zero_branches or name.endswith("feed_forward.linear.weight")
                parameter.normal_(0.0, declared.get(parameter, deviation), generator=generator)
            elif parameter.dim() == 1:
                parameter.fill_(0.0 if name.endswith("bias") else 1.0)
        for module in model.modules():
            if isinstance(position := getattr(module, "position", None), Position) and hasattr(module, "embedding"):
                position.initialise(_input_deviation(module.embedding, model, scale))


def _input_deviation(embedding: Any, model: Any, scale: float) -> float:
    """The standard deviation of the vectors that a stack's positions are added to, in a new model."""
    if isinstance(embedding, Patches):
        return scale * embedding.scale  # each entry is a sum over all inputs of its matrix, and pixels have about unit size
    if isinstance(embedding, nn.Identity):
        embedding = getattr(model, "embedding", None)  # the stacks of an encoder-decoder share one embedding
    if not isinstance(embedding, nn.Embedding):
        return 1.0  # vectors from elsewhere
    return getattr(embedding, "initial_deviation", 0.0) or scale / math.sqrt(embedding.embedding_dim)
