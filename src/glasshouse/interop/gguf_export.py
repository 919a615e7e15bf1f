"""A run as a GGUF file, which llama.cpp and its kin run: weights, settings and tokenizer in one. Reads no GGUF file."""

import json
from pathlib import Path
from typing import Any, Final

from glasshouse.interop import gguf_architectures, gguf_tokenizers, weight_tables
from glasshouse.interop.architectures.base import TRAINING_ONLY
from glasshouse.interop.architectures.canonical_spec import canonical
from glasshouse.interop.architectures.config_fields import field_of, values_of
from glasshouse.interop.gguf_architectures import GPT2, LLAMA, GGUFArchitecture
from glasshouse.interop.gguf_file import gguf_package
from glasshouse.interop.weight_tables import Tensors
from glasshouse.parts.positions.rotary import Rotary
from glasshouse.records import atomic_files
from glasshouse.runs.run import Run
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import CannotExport
from glasshouse.specs.spec import ModelSpec

_ALL_F32: Final = 0


def export(run: Run, output: Path) -> None:
    """Write the run's model (its best weights, in float32) and its tokenizer. The file appears whole or not at all."""
    gguf = gguf_package("writing a GGUF file")
    model = run.spec.model
    architecture = architecture_of(canonical(model, run.spec.data.context))
    tokenizer = run.tokenizer
    document = json.loads(run.folder.tokenizer_file.read_text(encoding="utf-8"))
    facts = gguf_tokenizers.write(tokenizer, document, run.vocabulary)
    groups = run.model.blocks[0].attention.key_value_heads  # type: ignore[index, union-attr]
    tensors = weight_tables.save(architecture.rows(model, int(groups)), _with_biases(run.model.state_dict(), architecture))
    try:
        with atomic_files.replacing(output) as temporary:
            writer = gguf.GGUFWriter(temporary, architecture.name)
            _add_facts(writer, run, architecture, int(groups))
            _add_tokenizer(writer, facts)
            for name, tensor in tensors.items():
                writer.add_tensor(name, tensor.detach().float().cpu().numpy())
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
    except OSError as error:
        raise CannotExport(
            "cannot-write", f"cannot write {output}: {error.strerror or error}; check the path and the space there"
        ) from None


def architecture_of(model: ModelSpec) -> GGUFArchitecture:
    """Llama's or GPT-2's, by the kind of position; or the first field that does not fit it."""
    architecture = GPT2 if model.position == "learned" else LLAMA
    for field, value in values_of(model, context=0, vocabulary=0).items():
        if field in architecture.sizes | TRAINING_ONLY | {"context", "vocabulary"}:
            continue
        fitting = architecture.parts.get(field, (field_of(field).default,))
        if value not in fitting:
            raise CannotExport(
                "no-fitting-architecture",
                f"model.{field}={value!r} does not fit a GGUF file of the architecture {architecture.name!r}, which has "
                f"model.{field}={' or '.join(map(repr, fitting))}; such files are written of models shaped like Llama "
                f"({_described(LLAMA)}) or like GPT-2 ({_described(GPT2)})",
            )
    if architecture is GPT2 and model.head_width not in (0, model.width // model.heads):
        raise CannotExport(
            "no-fitting-architecture",
            f"model.head_width={model.head_width} does not fit a GGUF file: 'gpt2' has heads of model.width / model.heads = "
            f"{model.width // model.heads}",
        )
    return architecture


def _described(architecture: GGUFArchitecture) -> str:
    named = ("position", "norm", "activation", "connection")
    return ", ".join(f"{field}={architecture.parts.get(field, (field_of(field).default,))[0]}" for field in named)


def _with_biases(tensors: Tensors, architecture: GGUFArchitecture) -> Tensors:
    """GPT-2's biases as zeros where the model has none."""
    if architecture is not GPT2:
        return tensors
    rows = {
        name.removesuffix("weight") + "bias": tensor.new_zeros(tensor.shape[0])
        for name, tensor in tensors.items()
        if name.startswith(("blocks.", "final_norm.")) and name.endswith(".weight")
    }
    return {**rows, **tensors}


def _add_facts(writer: Any, run: Run, architecture: GGUFArchitecture, groups: int) -> None:
    model = run.spec.model
    writer.add_name(run.name)
    writer.add_file_type(_ALL_F32)
    writer.add_context_length(run.spec.data.context)
    writer.add_embedding_length(model.width)
    writer.add_block_count(model.layers)
    writer.add_feed_forward_length(model.feed_forward or 4 * model.width)
    writer.add_head_count(model.heads)
    writer.add_head_count_kv(groups)
    writer.add_float32(f"{architecture.name}.{architecture.epsilon}", model.epsilon)
    writer.add_vocab_size(run.vocabulary)
    if architecture is LLAMA:
        size = gguf_architectures.head_width(model)
        writer.add_key_length(size)
        writer.add_value_length(size)
        writer.add_rope_dimension_count(size)
        writer.add_rope_freq_base(settings_of(Rotary, model.own).rotary_base)


def _add_tokenizer(writer: Any, facts: gguf_tokenizers.Facts) -> None:
    for name, value in facts.items():
        key = f"tokenizer.ggml.{name}"
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_array(key, value)
