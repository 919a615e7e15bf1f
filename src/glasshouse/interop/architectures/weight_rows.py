"""Rows that many architectures share: linear layers, and attention from three matrices. Knows no architecture."""

from glasshouse.interop.weight_tables import SAME, Change, WeightRow, joined, row
from glasshouse.specs.spec import ModelSpec


def pair(ours: str, theirs: str, bias: bool = True, change: Change = SAME) -> list[WeightRow]:
    """A weight and, where there is one, its bias; norms are of this form too."""
    rows = [row(f"{ours}.weight", f"{theirs}.weight", change)]
    return [*rows, row(f"{ours}.bias", f"{theirs}.bias")] if bias else rows


def attention(
    ours: str, theirs: tuple[str, str, str], output: str, queries: int, others: int = 0, bias: bool = True
) -> list[WeightRow]:
    """One projection of ours from their matrices of queries, keys and values, of so many rows; and the output."""
    sizes = (queries, others or queries, others or queries)
    kinds = ("weight", "bias") if bias else ("weight",)
    projections = [
        joined(f"{ours}.projection.{kind}", *((f"{name}.{kind}", rows) for name, rows in zip(theirs, sizes, strict=True)))
        for kind in kinds
    ]
    return [*projections, *pair(f"{ours}.output", output, bias)]


def query_rows(model: ModelSpec) -> int:
    """Rows of the queries of all heads."""
    return model.heads * head_width(model)


def key_rows(model: ModelSpec) -> int:
    """Rows of the keys, or the values, of all heads."""
    return (model.own.get("key_value_heads") or model.heads) * head_width(model)


def head_width(model: ModelSpec) -> int:
    return model.head_width or model.width // model.heads
