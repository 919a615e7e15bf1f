"""Weight tables: which of their tensors is which of ours, and how each must be turned. Knows no architecture.

A row names one tensor of ours and the tensors of theirs that it is made of, one below the other. The same
rows read and write.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import torch
from torch import Tensor

from glasshouse.specs.errors import CannotImport

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Change:
    """How a tensor of theirs becomes ours, and back."""

    load: Callable[[Tensor], Tensor]
    save: Callable[[Tensor], Tensor]


SAME = Change(lambda tensor: tensor, lambda tensor: tensor)
TRANSPOSED = Change(lambda tensor: tensor.transpose(0, 1), lambda tensor: tensor.transpose(0, 1))


def skipping(rows: int) -> Change:
    """Their table begins with rows that stand for no position; written as zeros."""
    return Change(lambda tensor: tensor[rows:], lambda tensor: torch.cat([tensor.new_zeros(rows, tensor.shape[1]), tensor]))


def shaped(theirs: Sequence[int], ours: Sequence[int]) -> Change:
    """The same numbers in another shape; -1 stands for whatever is left."""
    return Change(lambda tensor: tensor.reshape(*ours), lambda tensor: tensor.reshape(*theirs))


def halved(heads: int) -> Change:
    """Rows of queries or keys whose rotary pairs are neighbours there and halves of a head here."""

    def load(tensor: Tensor) -> Tensor:
        return tensor.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)

    def save(tensor: Tensor) -> Tensor:
        return tensor.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)

    return Change(load, save)


@dataclass(frozen=True)
class Part:
    """A tensor of theirs, how many rows of ours it gives (None: all of them), and how it is turned."""

    name: str
    rows: int | None = None
    change: Change = SAME


@dataclass(frozen=True)
class WeightRow:
    """A tensor of ours and what it is made of."""

    ours: str
    parts: tuple[Part, ...]


def row(ours: str, theirs: str, change: Change = SAME) -> WeightRow:
    """One of ours is one of theirs."""
    return WeightRow(ours, (Part(theirs, change=change),))


def joined(ours: str, *parts: tuple[str, int] | tuple[str, int, Change]) -> WeightRow:
    """One of ours is several of theirs, one below the other: (name, rows) or (name, rows, change)."""
    return WeightRow(ours, tuple(Part(*part) for part in parts))


def for_each(count: int, rows: Iterable[WeightRow]) -> list[WeightRow]:
    """Rows whose names hold `{}`, once for each layer."""
    rows = list(rows)
    return [
        WeightRow(
            each.ours.replace("{}", str(i)), tuple(Part(p.name.replace("{}", str(i)), p.rows, p.change) for p in each.parts)
        )
        for i in range(count)
        for each in rows
    ]


def load(
    rows: Sequence[WeightRow],
    theirs: Mapping[str, Tensor],
    shapes: Mapping[str, Sequence[int]],
    ignored: Sequence[str] = (),
    where: str = "the file",
) -> Tensors:
    """Our tensors, of the shapes our model has. A tensor that is unknown, missing or of a wrong shape is named.

    `ignored` are patterns of names that hold nothing of the model: tables that can be computed, copies of tied weights.
    """
    known = {part.name for each in rows for part in each.parts}
    for name in theirs:
        if name not in known and not any(fnmatchcase(name, pattern) for pattern in ignored):
            raise CannotImport("unknown-tensor", f"{where} has a tensor {name!r} that this architecture does not have")
    found: Tensors = {}
    for each in rows:
        pieces = []
        for part in each.parts:
            if part.name not in theirs:
                raise CannotImport("missing-tensor", f"{where} lacks the tensor {part.name!r}")
            try:
                pieces.append(part.change.load(theirs[part.name]))
            except (RuntimeError, IndexError) as error:
                shape = tuple(theirs[part.name].shape)
                raise CannotImport(
                    "wrong-tensor-shape", f"{where}: {part.name!r} has shape {shape}, which does not fit: {error}"
                ) from None
            if part.rows is not None and tuple(pieces[-1].shape[:1]) != (part.rows,):
                shape = tuple(theirs[part.name].shape)
                raise CannotImport(
                    "wrong-tensor-shape", f"{where}: {part.name!r} has shape {shape}, but should give {part.rows} rows"
                )
        names = ", ".join(f"{part.name!r} {tuple(theirs[part.name].shape)}" for part in each.parts)
        if len({tuple(piece.shape[1:]) for piece in pieces}) > 1:
            raise CannotImport(
                "wrong-tensor-shape", f"{where}: {names} have rows of different lengths, and must be put one below the other"
            )
        whole = torch.cat(pieces) if len(pieces) > 1 else pieces[0]
        if tuple(whole.shape) != tuple(shapes[each.ours]):
            raise CannotImport(
                "wrong-tensor-shape", f"{where}: {names} gives shape {tuple(whole.shape)}, not {tuple(shapes[each.ours])}"
            )
        found[each.ours] = whole.to(torch.float32).contiguous()
    return found


def save(rows: Sequence[WeightRow], ours: Mapping[str, Tensor]) -> Tensors:
    """Their tensors from ours."""
    found: Tensors = {}
    for each in rows:
        sizes = [part.rows for part in each.parts]
        whole = ours[each.ours]
        pieces = [whole] if sizes == [None] else whole.split(sizes)
        for part, piece in zip(each.parts, pieces, strict=True):
            found[part.name] = part.change.save(piece).contiguous()
    return found
