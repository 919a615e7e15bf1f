"""Weight mappings of layers that many architectures share: linear layers, norms and attention. Knows no architecture."""

from glasshouse.interop.weight_mapping import IDENTITY, Transform, WeightMapping, concatenation, one_to_one
from glasshouse.specs.spec import ModelSpec


def weight_and_bias(ours: str, theirs: str, bias: bool = True, transform: Transform = IDENTITY) -> list[WeightMapping]:
    """The weight of a linear layer or a norm and, if it has one, its bias. `transform` applies to the weight alone."""
    weight = one_to_one(f"{ours}.weight", f"{theirs}.weight", transform)
    return [weight, one_to_one(f"{ours}.bias", f"{theirs}.bias")] if bias else [weight]


def attention_layer(
    ours: str, theirs: tuple[str, str, str], output: str, query_rows: int, key_value_rows: int = 0, bias: bool = True
) -> list[WeightMapping]:
    """An attention layer whose query, key and value projections are separate matrices in their format and one in ours.

    `theirs` names the three projections and `output` the output projection. `key_value_rows` is the number of rows of the
    key and of the value projection; 0 means `query_rows`.
    """
    rows = (query_rows, key_value_rows or query_rows, key_value_rows or query_rows)
    kinds = ("weight", "bias") if bias else ("weight",)
    projections = [
        concatenation(
            f"{ours}.projection.{kind}", *((f"{name}.{kind}", count) for name, count in zip(theirs, rows, strict=True))
        )
        for kind in kinds
    ]
    return [*projections, *weight_and_bias(f"{ours}.output", output, bias)]


def query_rows(model: ModelSpec) -> int:
    """Rows of the query projection: heads times head width."""
    return model.heads * head_width(model)


def key_value_rows(model: ModelSpec) -> int:
    """Rows of the key projection, and of the value projection: key-value heads times head width."""
    return (model.own.get("key_value_heads") or model.heads) * head_width(model)


def head_width(model: ModelSpec) -> int:
    return model.head_width or model.width // model.heads
