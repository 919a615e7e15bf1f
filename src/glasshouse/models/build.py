"""From a spec to a model: the parts that its words name, checked to fit together, with weights drawn from a seed."""

import math
from dataclasses import replace
from functools import reduce

import torch
from torch import nn

from glasshouse.models.part_factory import PartFactory
from glasshouse.specs import catalogue, spec_fields
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ImageSpec, ModelSpec


def build(spec: ModelSpec, vocabulary: int, context: int, seed: int = 0) -> nn.Module:
    """The model a spec describes, on the CPU, initialised from the seed."""
    model = assemble(spec, vocabulary, context)
    initialise(model, seed, spec.initialisation)
    return model


def check(spec: ModelSpec, context: int) -> nn.Module:
    """Raise SpecError where the parts do not fit together, which one block of each is enough to find out; give that model,
    without numbers."""
    _refuse_idle(spec)
    with torch.device("meta"):
        return assemble(
            replace(spec, layers=min(spec.layers, 1), encoder_layers=min(spec.encoder_layers, 1)),
            vocabulary=2,
            context=context,
        )


def _refuse_idle(spec: ModelSpec) -> None:
    """Raise SpecError for a setting that was changed and that no part of such a model would read."""
    heads = {"classifier": "classes hidden norm pooling", "pooled": "pooling", "next-token": "bias", "masked-token": "bias"}
    kinds = {
        "recurrent": {"cell", "bidirectional"},
        "encoder": {"causal", "segments", "ngrams", *(("ngram_buckets",) if spec.ngrams > 1 else ())},
        "dual-encoder": {
            "causal",
            "head.pooling",
            "head.width",
            *(f"image.{name}" for name in spec_fields.fields(ImageSpec)),
        },
        "encoder-decoder": {"encoder_layers"},
    }
    usual = {"encoder": "masked-token", "dual-encoder": "contrastive"}.get(spec.kind, "next-token")
    head = spec.head.kind or usual
    known = kinds.get(spec.kind, set()) | {f"head.{name}" for name in heads.get(head, "").split()}
    if (spec.kind, head) == ("encoder", "classifier"):
        known.add("head.naive_bayes")
    for family, word in (("attention", spec.attention), ("position", spec.position)):
        known |= set(getattr(catalogue.find(family, word), "reads", ()))
    if spec.kind != "recurrent":  # whose cells have no feed-forward part beside them
        known |= set(getattr(catalogue.find("feed_forward", spec.activation), "reads", ()))
    # Fields of one kind, head or part; the others are every model's. What another package adds may read any of them.
    own = set().union(*kinds.values(), *({f"head.{name}" for name in words.split()} for words in heads.values()))
    own |= {"window", "rank", "rotary_base", "feed_forward_layers", "ngram_buckets", "head.naive_bayes"}
    foreign = spec.kind not in ("decoder", *kinds) or head not in (*heads, "contrastive")
    for name in sorted(own - known) if not foreign else ():
        value, usually = (reduce(getattr, name.split("."), table) for table in (spec, ModelSpec()))
        if value != usually:
            raise SpecError(
                f"model.{name}={value!r} would do nothing in a model of kind {spec.kind!r} with attention "
                f"{spec.attention!r}, position {spec.position!r}, activation {spec.activation!r} and head {head!r}; leave "
                "it out, or choose parts with it"
            )


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
