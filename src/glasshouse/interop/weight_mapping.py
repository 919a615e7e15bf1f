"""Weight mappings: which tensors of another format form which tensor of our state dict. Knows no architecture.

A mapping names one tensor of ours and the tensors of theirs that are concatenated along the first axis to form it. The same
mappings are used to import and to export.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import torch
from torch import Tensor

from glasshouse.specs.errors import CannotImport

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Transform:
    """How one of their tensors is converted to our layout, and back."""

    to_ours: Callable[[Tensor], Tensor]
    to_theirs: Callable[[Tensor], Tensor]


IDENTITY = Transform(lambda tensor: tensor, lambda tensor: tensor)
TRANSPOSE = Transform(lambda tensor: tensor.transpose(0, 1), lambda tensor: tensor.transpose(0, 1))


def skip_rows(count: int) -> Transform:
    """Their position table starts with `count` rows that belong to no position. An export writes zeros there."""
    return Transform(
        lambda tensor: tensor[count:], lambda tensor: torch.cat([tensor.new_zeros(count, tensor.shape[1]), tensor])
    )


def reshape(theirs: Sequence[int], ours: Sequence[int]) -> Transform:
    """The same numbers in another shape; one size may be -1, as in `Tensor.reshape`."""
    return Transform(lambda tensor: tensor.reshape(*ours), lambda tensor: tensor.reshape(*theirs))


def rotary_permutation(heads: int) -> Transform:
    """Permute the rows of a query or key projection between the two layouts of rotary embeddings.

    Their layout rotates neighbouring rows (0 and 1, 2 and 3, ...) of a head together. Ours rotates row i of the first half
    of a head together with row i of the second half.
    """

    def to_ours(tensor: Tensor) -> Tensor:
        return tensor.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)

    def to_theirs(tensor: Tensor) -> Tensor:
        return tensor.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)

    return Transform(to_ours, to_theirs)


@dataclass(frozen=True)
class TheirTensor:
    """The name of one of their tensors, the rows it contributes to ours (None: all of them), and its transform."""

    name: str
    rows: int | None = None
    transform: Transform = IDENTITY


@dataclass(frozen=True)
class WeightMapping:
    """The name of one of our tensors, and their tensors that form it."""

    ours: str
    theirs: tuple[TheirTensor, ...]


def one_to_one(ours: str, theirs: str, transform: Transform = IDENTITY) -> WeightMapping:
    """One of our tensors is one of theirs."""
    return WeightMapping(ours, (TheirTensor(theirs, transform=transform),))


def concatenation(ours: str, *theirs: tuple[str, int] | tuple[str, int, Transform]) -> WeightMapping:
    """One of our tensors is several of theirs, concatenated: (name, rows) or (name, rows, transform)."""
    return WeightMapping(ours, tuple(TheirTensor(*tensor) for tensor in theirs))


def for_each_layer(layers: int, mappings: Iterable[WeightMapping]) -> list[WeightMapping]:
    """Repeat mappings for every layer; `{}` in a name becomes the number of the layer."""
    mappings = list(mappings)
    return [
        WeightMapping(
            mapping.ours.replace("{}", str(layer)),
            tuple(
                TheirTensor(tensor.name.replace("{}", str(layer)), tensor.rows, tensor.transform)
                for tensor in mapping.theirs
            ),
        )
        for layer in range(layers)
        for mapping in mappings
    ]


def import_tensors(
    mappings: Sequence[WeightMapping],
    theirs: Mapping[str, Tensor],
    shapes: Mapping[str, Sequence[int]],
    ignored: Sequence[str] = (),
    where: str = "the file",
) -> Tensors:
    """Our state dict in float32. An unknown tensor, a missing one or one of a wrong shape is an error that names it.

    `shapes` are the shapes of our model's tensors. `ignored` are patterns for names of tensors that are not weights of the
    model, such as precomputed tables and copies of tied weights. `where` names the source in error messages.
    """
    known = {tensor.name for mapping in mappings for tensor in mapping.theirs}
    for name in theirs:
        if name not in known and not any(fnmatchcase(name, pattern) for pattern in ignored):
            raise CannotImport(
                f"{where} has a tensor {name!r} that its architecture does not have; check that weights and config match"
            )
    ours: Tensors = {}
    for mapping in mappings:
        pieces = [_converted(tensor, theirs, where) for tensor in mapping.theirs]
        names = ", ".join(f"{tensor.name!r} {tuple(theirs[tensor.name].shape)}" for tensor in mapping.theirs)
        if len({tuple(piece.shape[1:]) for piece in pieces}) > 1:
            raise CannotImport(
                f"{where}: {names} have rows of different lengths and cannot be concatenated; check the config"
            )
        whole = torch.cat(pieces) if len(pieces) > 1 else pieces[0]
        expected = tuple(shapes[mapping.ours])
        if tuple(whole.shape) != expected:
            raise CannotImport(
                f"{where}: {names} becomes shape {tuple(whole.shape)}, but the model needs {expected}; check the config"
            )
        ours[mapping.ours] = whole.to(torch.float32).contiguous()
        if wrong := int((~torch.isfinite(ours[mapping.ours])).sum()):
            raise CannotImport(
                f"{where}: {names} must hold finite numbers, and {wrong:,} of its {whole.numel():,} values are NaN or "
                "infinite in float32; download or export it again"
            )
    return ours


def _converted(tensor: TheirTensor, theirs: Mapping[str, Tensor], where: str) -> Tensor:
    """One of their tensors in our layout."""
    if tensor.name not in theirs:
        raise CannotImport(f"{where} lacks the tensor {tensor.name!r}; download or export it again")
    shape = tuple(theirs[tensor.name].shape)
    try:
        converted = tensor.transform.to_ours(theirs[tensor.name])
    except (RuntimeError, IndexError) as error:
        raise CannotImport(f"{where}: {tensor.name!r} has shape {shape}, which does not fit the model: {error}") from None
    if tensor.rows is not None and tuple(converted.shape[:1]) != (tensor.rows,):
        raise CannotImport(
            f"{where}: {tensor.name!r} has shape {shape}, but the model needs {tensor.rows} rows; check the config"
        )
    return converted


def export_tensors(mappings: Sequence[WeightMapping], ours: Mapping[str, Tensor]) -> Tensors:
    """Their tensors from our state dict."""
    theirs: Tensors = {}
    for mapping in mappings:
        rows = [tensor.rows for tensor in mapping.theirs]
        whole = ours[mapping.ours]
        pieces = [whole] if rows == [None] else whole.split(rows)
        for tensor, piece in zip(mapping.theirs, pieces, strict=True):
            theirs[tensor.name] = tensor.transform.to_theirs(piece).contiguous()
    return theirs
