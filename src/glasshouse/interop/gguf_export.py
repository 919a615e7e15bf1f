"""Export a run as a GGUF file for llama.cpp: weights, metadata and tokenizer in one file. Reads no GGUF file."""

import json
from pathlib import Path
from typing import Any, Final

from glasshouse.interop import gguf_architectures, gguf_tokenizers, weight_mapping
from glasshouse.interop.architectures.base import TRAINING_ONLY
from glasshouse.interop.architectures.canonical_spec import canonical
from glasshouse.interop.architectures.config_fields import field_definition, field_values
from glasshouse.interop.gguf_architectures import GPT2, LLAMA, GGUFArchitecture
from glasshouse.interop.gguf_file import gguf_package
from glasshouse.interop.weight_mapping import Tensors
from glasshouse.parts.positions.rotary import Rotary
from glasshouse.records import atomic_files
from glasshouse.runs.run import Run
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import CannotExport
from glasshouse.specs.spec import ModelSpec

_ALL_F32: Final = 0


def export(run: Run, output: Path) -> None:
    """Write the run's model (its best weights, in float32) and its tokenizer. The file is written whole or not at all."""
    gguf = gguf_package("writing a GGUF file")
    model = run.spec.model
    architecture = find_for_export(canonical(model, run.spec.data.context))
    tokenizer = run.tokenizer
    document = json.loads(run.folder.tokenizer_file.read_text(encoding="utf-8"))
    metadata = gguf_tokenizers.write(tokenizer, document, run.vocabulary)
    key_value_heads = int(run.model.blocks[0].attention.key_value_heads)  # type: ignore[index, union-attr]
    ours = _with_biases(run.model.state_dict(), architecture)
    theirs = weight_mapping.export_tensors(architecture.weight_mappings(model, key_value_heads), ours)
    try:
        with atomic_files.replacing(output) as temporary:
            writer = gguf.GGUFWriter(temporary, architecture.name)
            _add_model_metadata(writer, run, architecture, key_value_heads)
            _add_tokenizer_metadata(writer, metadata)
            for name, tensor in theirs.items():
                writer.add_tensor(name, tensor.detach().float().cpu().numpy())
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
    except OSError as error:
        raise CannotExport(
            f"cannot write {output}: {error.strerror or error}; check the path and the free disk space"
        ) from None


def find_for_export(model: ModelSpec) -> GGUFArchitecture:
    """The architecture to export a model as. The first field that does not fit is an error."""
    architecture = GPT2 if model.position == "learned" else LLAMA
    for field, value in field_values(model, context=0, vocabulary=0).items():
        if field in architecture.free_fields | TRAINING_ONLY | {"context", "vocabulary"}:
            continue
        supported = architecture.fixed_fields.get(field, (field_definition(field).default,))
        if value not in supported:
            raise CannotExport(
                f"model.{field}={value!r} does not fit the GGUF architecture {architecture.name!r}, which needs "
                f"model.{field}={' or '.join(map(repr, supported))}; only models like Llama ({_summary(LLAMA)}) or like "
                f"GPT-2 ({_summary(GPT2)}) can be exported as GGUF files"
            )
    if architecture is GPT2 and model.head_width not in (0, model.width // model.heads):
        raise CannotExport(
            "does not fit the GGUF architecture 'gpt2', which needs model.width / model.heads = "
            f"{model.width // model.heads}; train with model.head_width=0",
            "model.head_width",
            model.head_width,
        )
    return architecture


def _summary(architecture: GGUFArchitecture) -> str:
    """The fields that characterise an architecture, for an error message."""
    fields = ("position", "norm", "activation", "connection")
    values = {field: architecture.fixed_fields.get(field, (field_definition(field).default,))[0] for field in fields}
    return ", ".join(f"{field}={value}" for field, value in values.items())


def _with_biases(tensors: Tensors, architecture: GGUFArchitecture) -> Tensors:
    """The state dict, for GPT-2 with zeros for the biases that the model does not have."""
    if architecture is not GPT2:
        return tensors
    zeros = {
        name.removesuffix("weight") + "bias": tensor.new_zeros(tensor.shape[0])
        for name, tensor in tensors.items()
        if name.startswith(("blocks.", "final_norm.")) and name.endswith(".weight")
    }
    return {**zeros, **tensors}


def _add_model_metadata(writer: Any, run: Run, architecture: GGUFArchitecture, key_value_heads: int) -> None:
    model = run.spec.model
    writer.add_name(run.name)
    writer.add_file_type(_ALL_F32)
    writer.add_context_length(run.spec.data.context)
    writer.add_embedding_length(model.width)
    writer.add_block_count(model.layers)
    writer.add_feed_forward_length(model.feed_forward or 4 * model.width)
    writer.add_head_count(model.heads)
    writer.add_head_count_kv(key_value_heads)
    writer.add_float32(f"{architecture.name}.{architecture.epsilon_key}", model.epsilon)
    writer.add_vocab_size(run.vocabulary)
    if architecture is LLAMA:
        head_width = gguf_architectures.head_width(model)
        writer.add_key_length(head_width)
        writer.add_value_length(head_width)
        writer.add_rope_dimension_count(head_width)
        writer.add_rope_freq_base(settings_of(Rotary, model.own).rotary_base)


def _add_tokenizer_metadata(writer: Any, metadata: gguf_tokenizers.Metadata) -> None:
    for name, value in metadata.items():
        key = f"tokenizer.ggml.{name}"
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_array(key, value)
