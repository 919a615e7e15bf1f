"""ONNX operators for what torch.onnx cannot translate by itself: sorting, and recurrent layers over any number of tokens.

Axes: B batch, T time, D width, G number of gates times state size, S state size.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.parts.recurrence import Cell, GRUCell, IdentityCell, LSTMCell, ReLUCell, TanhCell
from glasshouse.specs.errors import CannotExport

OPSET = 20
# The order of the gates in ONNX, as places in our order.
GATES: dict[type[Cell], tuple[int, ...]] = {GRUCell: (1, 0, 2), LSTMCell: (0, 3, 1, 2)}
# What the cells without gates apply to their sum.
ACTIVATIONS: dict[type[Cell], str] = {IdentityCell: "Affine", TanhCell: "Tanh", ReLUCell: "Relu"}


@torch.library.custom_op("glasshouse::recurrence", mutates_args=())
def recurrence(x_BTD: Tensor, input_GD: Tensor, recurrent_GS: Tensor, bias: Tensor, cell: str) -> Tensor:
    """A recurrent layer as one node of a graph. torch's own layers would fix the number of tokens."""
    raise NotImplementedError("glasshouse::recurrence exists in graphs alone")


@recurrence.register_fake
def _(x_BTD: Tensor, input_GD: Tensor, recurrent_GS: Tensor, bias: Tensor, cell: str) -> Tensor:
    return x_BTD.new_empty(x_BTD.shape[0], x_BTD.shape[1], recurrent_GS.shape[1])


def with_recurrence_nodes(model: nn.Module) -> nn.Module:
    """The model, in which each recurrent cell became one node. Changes the model."""
    for cell in model.modules():
        if isinstance(cell, Cell):
            if type(cell) not in GATES | ACTIVATIONS:
                raise CannotExport(
                    f"ONNX has no operator for the recurrent cell {type(cell).__name__}; train with model.cell=lstm or gru"
                )
            cell.kernel = partial(_node, type(cell))  # type: ignore[misc]
    return model


def _node(cell: type[Cell], x_BTD: Tensor, initial: Any, weights: list[Tensor], *flags: Any) -> tuple[Tensor]:
    """In place of torch's kernel, with the same arguments. The initial state is zero."""
    order = GATES.get(cell, (0,))
    input_GD, recurrent_GS, *biases = ([tensor.chunk(len(order))[place] for place in order] for tensor in weights)
    bias = torch.cat([*biases[0], *biases[1]])
    return (recurrence(x_BTD, torch.cat(input_GD), torch.cat(recurrent_GS), bias, cell.__name__),)


def translations() -> dict[Callable, Callable]:
    """Torch's operators and the functions that write them as ONNX."""
    from onnxscript import opset20

    op: Any = opset20

    def write_recurrence(x: Any, input: Any, recurrent: Any, bias: Any, cell: str) -> Any:
        zero, one = op.Constant(value_ints=[0]), op.Constant(value_ints=[1])
        size = int(recurrent.shape[-1])
        given = (
            op.Transpose(x, perm=[1, 0, 2]),
            op.Unsqueeze(input, zero),
            op.Unsqueeze(recurrent, zero),
            op.Unsqueeze(bias, zero),
        )
        if cell == GRUCell.__name__:
            outputs, *_ = op.GRU(*given, hidden_size=size, linear_before_reset=1)
        elif cell == LSTMCell.__name__:
            outputs, *_ = op.LSTM(*given, hidden_size=size)
        else:
            name = next(name for kind, name in ACTIVATIONS.items() if kind.__name__ == cell)
            factors = {"activation_alpha": [1.0], "activation_beta": [0.0]} if name == "Affine" else {}
            outputs, *_ = op.RNN(*given, hidden_size=size, activations=[name], **factors)
        return op.Transpose(op.Squeeze(outputs, one), perm=[1, 0, 2])

    def write_sort(values: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
        """TopK of all elements. Among equal ones the first comes first, so that it is always stable."""
        whole = op.Cast(values, to=7) if values.dtype.name in ("UINT8", "BOOL") else values  # 7 is INT64
        count = op.Gather(op.Shape(values), op.Constant(value_ints=[dim]))
        sorted_values, order = op.TopK(whole, count, axis=dim, largest=int(descending))
        return op.CastLike(sorted_values, values), order

    def write_stable_sort(values: Any, stable: bool = True, dim: int = -1, descending: bool = False) -> Any:
        return write_sort(values, dim, descending)

    return {
        torch.ops.glasshouse.recurrence.default: write_recurrence,
        torch.ops.aten.sort.default: write_sort,
        torch.ops.aten.sort.stable: write_stable_sort,
    }
