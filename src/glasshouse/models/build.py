"""From a model spec to a model: its parts, checked to fit together, and weights drawn from a seed."""

import math
from dataclasses import replace

import torch
from torch import nn

from glasshouse.models.part_factory import PartFactory
from glasshouse.specs import catalogue, spec_files
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec


def build(spec: ModelSpec, vocabulary: int, context: int, seed: int = 0) -> nn.Module:
    """The model that a spec describes, on the CPU, initialised from the seed."""
    model = assemble(spec, vocabulary, context)
    initialise(model, seed, spec.initialisation)
    return model


def check(spec: ModelSpec, context: int) -> nn.Module:
    """Refuse parts that do not fit together; one block of each stack is enough to find out. Gives that model, on `meta`."""
    spec_files.check_declared(spec)
    kind = catalogue.find("model", spec.kind, "model.kind")
    if spec.layers < (fewest := getattr(kind, "fewest_layers", 1)):
        raise SpecError(
            "no-layers",
            f"model.layers={spec.layers} leaves a model of kind {spec.kind!r} nothing to compute with; give {fewest} or "
            "more, or choose model.kind=encoder, which is then a bag of its tokens",
        )
    with torch.device("meta"):
        return assemble(one_block(spec), vocabulary=2, context=context)


def one_block(spec: ModelSpec) -> ModelSpec:
    """The spec with at most one block in each stack."""
    counts = getattr(catalogue.find("model", spec.kind, "model.kind"), "layer_counts", ())
    own = {name: min(value, 1) if name in counts else value for name, value in spec.own.items()}
    return replace(spec, layers=min(spec.layers, 1), own=own)


def assemble(spec: ModelSpec, vocabulary: int, context: int) -> nn.Module:
    """The model's modules with whatever weights torch gave them; on the meta device this costs nothing."""
    kind = catalogue.find("model", spec.kind, "model.kind")
    return kind.assemble(PartFactory.of(spec, context), spec, vocabulary)


def initialise(model: nn.Module, seed: int = 0, scale: float = 0.5) -> None:
    """Draw every weight from the seed: matrices with deviation `scale` / sqrt(inputs), gains 1, biases 0.

    The last matrix of each residual branch is smaller by sqrt(2 layers), so that the stream's variance does not grow
    with depth (Radford et al., Language Models are Unsupervised Multitask Learners, 2019). A single number keeps the
    value it was made with.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() >= 2:
                deviation = scale / math.sqrt(parameter[0].numel())
                if name.endswith(("attention.output.weight", "feed_forward.down.weight")) and "blocks." in name:
                    tower = model.get_submodule(name[: name.index("blocks.")].rstrip("."))
                    deviation /= math.sqrt(2 * len(tower.blocks))  # type: ignore[arg-type]
                parameter.normal_(0.0, deviation, generator=generator)
            elif parameter.dim() == 1:
                parameter.fill_(0.0 if name.endswith("bias") else 1.0)
