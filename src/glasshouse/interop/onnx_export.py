"""Export a run as an ONNX graph: a directory with model.onnx and tokenizer.json. Reads no ONNX file.

The graph is the forward pass of the model, for any batch size and any number of tokens. It has no key-value cache. The file
is kept only if its outputs in onnxruntime are those of the run.

torch.onnx cannot translate sorting, and recurrent layers over any number of tokens: both are written as operators of ONNX.
Axes: B batch, T time, D width, G number of gates times state size, S state size.
"""

import copy
import inspect
import json
import logging
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.interop import exported_files
from glasshouse.models.heads.classifier import RegressorHead
from glasshouse.parts.attention.base import Attention
from glasshouse.parts.recurrence import Cell, GRUCell, IdentityCell, LSTMCell, ReLUCell, TanhCell
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotExport, MissingExtra
from glasshouse.tokenizers.base import TRANSLATE

Inputs = dict[str, Tensor]
MODEL = "model.onnx"
PACKAGES = ("onnx", "onnxscript", "onnxruntime")
# The largest difference of an output, absolute for small outputs and relative for large ones.
TOLERANCE = 1e-4
# The names of outputs that are not logits, by the kind of head.
OUTPUTS = {"regressor": "values", "pooled": "vectors", "contrastive": "scores"}

OPSET = 20
# The order of the gates in ONNX, as places in our order.
GATES: dict[type[Cell], tuple[int, ...]] = {GRUCell: (1, 0, 2), LSTMCell: (0, 3, 1, 2)}
# What the cells without gates apply to their sum.
ACTIVATIONS: dict[type[Cell], str] = {IdentityCell: "Affine", TanhCell: "Tanh", ReLUCell: "Relu"}


def export(run: Run, output: Path) -> None:
    """Write the run's model as an ONNX graph, check it in onnxruntime, and copy the tokenizer beside it."""
    for package in PACKAGES:
        try:
            __import__(package)
        except ImportError:
            raise MissingExtra(package, "exporting to ONNX", " ".join(PACKAGES)) from None
    model = _Graph(_without_fast_paths(run.model))
    with exported_files.folder(run, output, exported_files.document(run)) as temporary:
        _write(run, model, temporary / MODEL)
        _check_outputs(run, temporary / MODEL)


class _Graph(nn.Module):
    """The outputs of a model. Those of a regressor are in the unit of the data."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Inputs) -> Tensor:
        output = self.model(**inputs)
        head = self.model.head
        return output * head.deviation + head.mean if isinstance(head, RegressorHead) else output


def _without_fast_paths(model: nn.Module) -> nn.Module:
    """A copy whose attentions are the reference, because a fast path may depend on the number of tokens, and in which each
    recurrent cell is one node."""
    copied = copy.deepcopy(model)
    for module in copied.modules():
        if isinstance(module, Attention):
            module.plain = True
        elif isinstance(module, Cell):
            if type(module) not in GATES | ACTIVATIONS:
                raise CannotExport(
                    f"ONNX has no operator for the recurrent cell {type(module).__name__}; train with model.cell=lstm or gru"
                )
            module.kernel = partial(_node, type(module))  # type: ignore[misc]
    return copied


def random_inputs(model: Any, batch: int, length: int, generator: torch.Generator) -> Inputs:
    """Random keyword arguments for a model's forward pass: texts of at most `length` tokens, the first as long as that."""
    inputs: Inputs = model.random_inputs(batch, length, generator)
    texts = next(value for value in inputs.values() if not value.is_floating_point())
    # A decoder's prediction of the next token does not depend on the padding after it.
    follows = model.head.predicts == "next" and "tokens_BT" in inputs
    if "lengths" in inspect.signature(model.forward).parameters and not follows:
        inputs["lengths"] = torch.randint(1, length + 1, (batch,), generator=generator)
        inputs["lengths"][0] = length
    if getattr(model, "segments", None) is not None:
        inputs["segments"] = torch.randint(0, model.segments.num_embeddings, texts.shape, generator=generator)
    return inputs


def input_name(argument: str) -> str:
    """The name of an argument without its axes: `tokens` for `tokens_BT`."""
    return argument.split("_")[0]


def _write(run: Run, model: _Graph, path: Path) -> None:
    inputs = random_inputs(model.model, 3, min(6, run.spec.data.context), torch.Generator().manual_seed(0))
    dynamic = torch.export.Dim.DYNAMIC
    # Only texts (B, T) have a second axis that may change.
    axes = {name: {0: dynamic} | ({1: dynamic} if value.dim() == 2 else {}) for name, value in inputs.items()}
    head = run.spec.model.head.kind or run.model.default_head
    try:
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it warns of operators that no model here has
        with torch.no_grad(), warnings.catch_warnings(action="ignore"):
            program = torch.onnx.export(
                model,
                (),
                kwargs={"inputs": inputs},
                dynamo=True,
                dynamic_shapes={"inputs": axes},
                opset_version=OPSET,
                custom_translation_table=translations(),
                input_names=[input_name(name) for name in inputs],
                output_names=[OUTPUTS.get(head, "logits")],
                verbose=False,
            )
    except torch.onnx.errors.OnnxExporterError as error:
        reason = str(error).split("## Exception summary")[-1].strip().split("\n")[0]
        raise CannotExport(f"{run.name} has a part that torch.onnx cannot translate ({reason}); train without it") from None
    assert program is not None
    program.model.metadata_props.update(_metadata(run))
    program.save(path)


def _metadata(run: Run) -> dict[str, str]:
    """What a program needs to know beside the graph. Lists are JSON."""
    metadata = {"run": run.name, "task": run.spec.task, "context": str(run.spec.data.context)}
    if labels := run.facts.get("labels"):
        metadata["labels"] = json.dumps(labels, ensure_ascii=False)
    if run.spec.data.second:
        metadata["separator"] = json.dumps(run.tokenizer.pair_separator)
    if run.spec.task in ("translate", "describe") and (end := run.tokenizer.end_of_text) is not None:
        metadata |= {"start_token": str(end), "end_token": str(end)}
        if run.spec.task == "translate":
            source_end = end if run.spec.model.kind == "encoder-decoder" else run.tokenizer.specials[TRANSLATE]
            metadata["source_end_token"] = str(source_end)
    return metadata


def _check_outputs(run: Run, path: Path) -> None:
    """Compare onnxruntime with the run, on batches of several sizes and lengths."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    model, context, generator = _Graph(run.model), run.spec.data.context, torch.Generator().manual_seed(1)
    for batch, length in ((1, 1), (2, min(3, context)), (4, (context + 1) // 2), (1, context)):
        inputs = random_inputs(run.model, batch, length, generator)
        with torch.inference_mode():
            ours = model(inputs).numpy()
        (theirs,) = session.run(None, {input_name(name): value.numpy() for name, value in inputs.items()})
        if ours.shape != theirs.shape or not np.allclose(theirs, ours, rtol=TOLERANCE, atol=TOLERANCE):
            difference = np.abs(theirs - ours).max() if ours.shape == theirs.shape else "their shape"
            place = f"for {batch} texts of {length} tokens"
            raise CannotExport(f"{run.name} in onnxruntime differs by {difference} {place}; please report its spec.toml")


@torch.library.custom_op("glasshouse::recurrence", mutates_args=())
def recurrence(x_BTD: Tensor, input_GD: Tensor, recurrent_GS: Tensor, bias: Tensor, cell: str) -> Tensor:
    """A recurrent layer as one node of a graph. torch's own layers would fix the number of tokens."""
    raise NotImplementedError("glasshouse::recurrence exists in graphs alone")


@recurrence.register_fake
def _(x_BTD: Tensor, input_GD: Tensor, recurrent_GS: Tensor, bias: Tensor, cell: str) -> Tensor:
    return x_BTD.new_empty(x_BTD.shape[0], x_BTD.shape[1], recurrent_GS.shape[1])


def _node(cell: type[Cell], x_BTD: Tensor, initial: Any, weights: list[Tensor], *flags: Any) -> tuple[Tensor]:
    """In place of torch's kernel, with the same arguments. The initial state is zero."""
    order = GATES.get(cell, (0,))
    input_GD, recurrent_GS, *biases = ([tensor.chunk(len(order))[place] for place in order] for tensor in weights)
    bias = torch.cat([*biases[0], *biases[1]])
    return (recurrence(x_BTD, torch.cat(input_GD), torch.cat(recurrent_GS), bias, cell.__name__),)


def translations() -> dict[Callable, Callable]:
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
