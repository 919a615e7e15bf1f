"""Weight mappings: which tensors of another format form which tensor of our state dict. Knows no architecture.

A table has their name of each of our modules, with `{}` for the number of a layer: `{"blocks.{}.feed_forward.up":
"transformer.h.{}.mlp.c_fc"}`. A module's weight and bias have the same ending in both formats. A tensor that does not is in
the table under its whole name. One table serves imports and exports.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from glasshouse.specs.errors import CannotImport
from glasshouse.specs.spec import ModelSpec

Tensors = dict[str, Tensor]
Conversion = Callable[[Tensor, ModelSpec], Tensor]


@dataclass(frozen=True)
class Transform:
    """How one of their tensors is converted to our layout, and back. Some layouts depend on the model."""

    to_ours: Conversion
    to_theirs: Conversion


IDENTITY = Transform(lambda tensor, _: tensor, lambda tensor, _: tensor)
TRANSPOSE = Transform(lambda tensor, _: tensor.transpose(0, 1), lambda tensor, _: tensor.transpose(0, 1))


def skip_rows(count: int) -> Transform:
    """Their position table starts with `count` rows that belong to no position. An export writes zeros there."""
    return Transform(
        lambda tensor, _: tensor[count:], lambda tensor, _: torch.cat([tensor.new_zeros(count, tensor.shape[1]), tensor])
    )


def reshape(theirs: Sequence[int], ours: Sequence[int]) -> Transform:
    """The same numbers in another shape; one size may be -1, as in `Tensor.reshape`."""
    return Transform(lambda tensor, _: tensor.reshape(*ours), lambda tensor, _: tensor.reshape(*theirs))


def _regroup_heads(*sizes: int) -> Conversion:
    def regroup(tensor: Tensor, model: ModelSpec) -> Tensor:
        heads = tensor.shape[0] // (model.head_width or model.width // model.heads)
        return tensor.unflatten(0, (heads, *sizes)).transpose(1, 2).flatten(0, 2)

    return regroup


# The rows of a query or key projection in the other layout of rotary embeddings. It rotates neighbouring rows (0 and 1, 2
# and 3, ...) of a head together. Ours rotates row i of the first half of a head together with row i of the second half.
ROTARY_PAIRS = Transform(_regroup_heads(-1, 2), _regroup_heads(2, -1))


@dataclass(frozen=True)
class Theirs:
    """Their name of a module or a tensor, and how the weight and the bias are converted."""

    name: str
    weight: Transform = IDENTITY
    bias: Transform = IDENTITY


# Several names are the query, key and value projections, which are one projection of ours.
Entry = str | Theirs | tuple[str | Theirs, ...]
Names = Mapping[str, Entry]


def within(ours: str, theirs: str, names: Names) -> dict[str, Entry]:
    """A table whose names are prefixed."""
    return {
        ours + name: tuple(replace(each, name=theirs + each.name) for each in _listed(entry))
        for name, entry in names.items()
    }


def _listed(entry: Entry) -> tuple[Theirs, ...]:
    return tuple(
        Theirs(each) if isinstance(each, str) else each for each in (entry if isinstance(entry, tuple) else (entry,))
    )


@dataclass(frozen=True)
class MappedTensor:
    """One of their tensors within one of ours: its name, the rows it contributes (None: all of them), and its transform."""

    name: str
    rows: int | None
    transform: Transform


def pieces(names: Names, shapes: Mapping[str, Sequence[int]]) -> dict[str, list[MappedTensor]]:
    """Their tensors that are concatenated along the first axis to each of ours; `shapes` are those of our state dict."""
    found = {}
    for ours, shape in shapes.items():
        layer = re.search(r"(?<=\.)\d+(?=\.)", ours)
        name = ours if layer is None else f"{ours[: layer.start()]}{{}}{ours[layer.end() :]}"
        module, _, kind = name.rpartition(".")
        ending = "" if name in names else f".{kind}"
        theirs = _listed(names[name if name in names else module])
        rows: Sequence[int | None] = (None,)
        if len(theirs) > 1:
            # The queries of all heads are as wide as the input of the output matrix; keys and values share the rest.
            queries = shapes[f"{ours.rpartition('.projection')[0]}.output.weight"][1]
            rows = (queries, (shape[0] - queries) // 2, (shape[0] - queries) // 2)
        found[ours] = [
            MappedTensor(
                (each.name + ending).replace("{}", layer.group() if layer else ""),
                count,
                each.bias if kind == "bias" and ending else each.weight,
            )
            for each, count in zip(theirs, rows, strict=True)
        ]
    return found


def import_tensors(
    names: Names, model: ModelSpec, theirs: Mapping[str, Tensor], shapes: Mapping[str, Sequence[int]], where: str
) -> Tensors:
    """Our state dict in float32. An unknown tensor, a missing one or one of a wrong shape is an error that names it.

    `shapes` are the shapes of our model's tensors. `where` names the source in error messages.
    """
    mapped = pieces(names, shapes)
    known = {piece.name for each in mapped.values() for piece in each}
    if unknown := theirs.keys() - known:
        raise CannotImport(
            f"{where} has a tensor {min(unknown)!r} that its architecture does not have; check that weights and config match"
        )
    if missing := known - theirs.keys():
        raise CannotImport(f"{where} lacks the tensor {min(missing)!r}; download or export it again")
    ours: Tensors = {}
    for name, its_pieces in mapped.items():
        shown = ", ".join(f"{piece.name!r} {tuple(theirs[piece.name].shape)}" for piece in its_pieces)
        converted = _joined(its_pieces, theirs, model)
        if converted is None or tuple(converted.shape) != tuple(shapes[name]):
            raise CannotImport(f"{where}: {shown} must give shape {tuple(shapes[name])} in this model; check the config")
        ours[name] = converted.to(torch.float32).contiguous()
        if wrong := int((~torch.isfinite(ours[name])).sum()):
            raise CannotImport(f"{where}: {wrong:,} of {converted.numel():,} values of {shown} are not finite; export again")
    return ours


def _joined(its_pieces: list[MappedTensor], theirs: Mapping[str, Tensor], model: ModelSpec) -> Tensor | None:
    """Their tensors in our layout, one below the other; None if their shapes do not allow that."""
    try:
        parts = [piece.transform.to_ours(theirs[piece.name], model) for piece in its_pieces]
        if len(parts) == 1:
            return parts[0]
        fits = [len(part) for part in parts] == [piece.rows for piece in its_pieces]
        return torch.cat(parts) if fits else None
    except (RuntimeError, IndexError, TypeError):
        return None


def export_tensors(names: Names, model: ModelSpec, ours: Mapping[str, Tensor]) -> Tensors:
    theirs: Tensors = {}
    for name, its_pieces in pieces(names, {name: tensor.shape for name, tensor in ours.items()}).items():
        rows = [piece.rows for piece in its_pieces]
        parts = [ours[name]] if rows == [None] else ours[name].split(rows)
        for piece, part in zip(its_pieces, parts, strict=True):
            theirs[piece.name] = piece.transform.to_theirs(part, model).contiguous()
    return theirs
