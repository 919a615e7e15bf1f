"""Runs with random weights that can be exported as GGUF files, and GGUF files with any contents."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from glasshouse import models
from glasshouse.interop import imported_model
from glasshouse.interop.gguf_file import GGUF
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.runs.run import Run
from glasshouse.specs.spec import ModelSpec

PROMPTS = ["The state of our Union", "Mr. Speaker,\n\n", "We can't  wait: 12345 jobs", "naïve café — 你好", "I"]
LLAMA = ModelSpec(
    width=48, layers=2, heads=4, feed_forward=64, position="rotary", norm="rms", activation="swiglu", initialisation=2.5
)
GPT2 = ModelSpec(width=48, layers=2, heads=4, feed_forward=96, position="learned", norm="layer", initialisation=2.5)
MODELS = {
    "gpt2": replace(GPT2, bias=True),
    "gpt2-untied": replace(GPT2, tied=False),
    "llama": replace(LLAMA, tied=False, head_width=16, own={"rotary_base": 50000.0}, epsilon=1e-6),
    "llama-grouped": replace(LLAMA, attention="grouped-query"),
    "llama-one-group": replace(LLAMA, attention="grouped-query", own={"key_value_heads": 1}),
}
# The split pattern of the tokenizer, for the models that do not use "gpt-2".
PATTERNS = {"llama": "gpt-4"}


def random_run(tokenizer, model: ModelSpec, name: str, vocabulary: int = 0, context: int = 96) -> Run:
    """A run with random weights, large enough that the likeliest token stands out.

    Biases are not zero, and the end-of-text token is never the likeliest.
    """
    built = models.build(model, vocabulary or tokenizer.vocabulary, context, seed=3)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in built.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
        built.final_norm.weight.mul_(4)
        if tokenizer.end_of_text is not None:
            (built.embedding if model.tied else built.head).weight[tokenizer.end_of_text] = 0
    document = tokenizer._to_json()
    tensors = dict(built.state_dict())
    imported = ImportedModel(model, context, vocabulary or tokenizer.vocabulary, tensors, document, "random")
    return Run(imported_model.save_as_run(imported, name), device="cpu")


def logits(run: Run) -> torch.Tensor:
    ids = torch.randint(0, run.vocabulary, (2, 40), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        return run.model(ids)


def write_gguf(path: Path, metadata: dict, tensors: dict) -> Path:
    """A GGUF file with any metadata and tensors; a tensor is an array, or (array, GGUF type)."""
    import gguf

    writer = gguf.GGUFWriter(path, metadata["general.architecture"])
    for name, value in metadata.items():
        if name == "general.architecture":
            continue
        if isinstance(value, list):
            writer.add_array(name, value)
        else:
            kind = {bool: "bool", int: "uint32", float: "float32", str: "string"}[type(value)]
            getattr(writer, f"add_{kind}")(name, value)
    for name, tensor in tensors.items():
        numbers, tensor_type = tensor if isinstance(tensor, tuple) else (tensor, None)
        writer.add_tensor(name, np.ascontiguousarray(numbers), raw_dtype=tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def read_gguf(path: Path) -> tuple[dict, dict]:
    """The metadata and the tensors of a file, as `write_gguf` takes them."""
    file = GGUF(path)
    return dict(file.metadata), {name: file.tensor(name).numpy() for name in file.tensors}
