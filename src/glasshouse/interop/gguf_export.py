"""Export a run as a GGUF file for llama.cpp: weights, metadata and tokenizer in one file. Reads no GGUF file."""

import json
from pathlib import Path
from typing import Any

from glasshouse.interop import gguf_architectures, gguf_tokenizers, imported_model
from glasshouse.interop.architectures import registry
from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import field_values
from glasshouse.interop.gguf_file import gguf_package
from glasshouse.records import atomic_files
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotExport
from glasshouse.specs.spec import ModelSpec

_ALL_F32 = 0


def export(run: Run, output: Path) -> None:
    """Write the run's model (its best weights, in float32) and its tokenizer. The file is written whole or not at all."""
    gguf = gguf_package("writing a GGUF file")
    context, vocabulary = run.spec.data.context, run.vocabulary
    architecture, model = find_for_export(run.spec.model, context, vocabulary)
    document = json.loads(run.folder.tokenizer_file.read_text(encoding="utf-8"))
    values = field_values(model, context, vocabulary)
    metadata = {
        "general.name": run.name,
        "general.file_type": _ALL_F32,
        **{key: value for field in architecture.config_fields for key, value in field.write(values).items()},
        **gguf_tokenizers.write(run.tokenizer, document, vocabulary),
    }
    shapes = imported_model.tensor_shapes(model, vocabulary, context)
    theirs = architecture.export_tensors(run.model.state_dict(), model, shapes)
    try:
        with atomic_files.replacing(output) as temporary:
            writer = gguf.GGUFWriter(temporary, architecture.name)
            for name, value in metadata.items():
                _add(writer, name, value)
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


def find_for_export(model: ModelSpec, context: int = 2, vocabulary: int = 2) -> tuple[Architecture, ModelSpec]:
    """The architecture to export a model as, and the spec with every field that the architecture switches on."""
    among = tuple(gguf_architectures.ARCHITECTURES.values())
    return registry.find_for_export(model, context, vocabulary, among=among, to="GGUF")


def _add(writer: Any, name: str, value: Any) -> None:
    """Add an entry of the metadata by its type."""
    if isinstance(value, bool):
        writer.add_bool(name, value)
    elif isinstance(value, int):
        writer.add_uint32(name, value)
    elif isinstance(value, float):
        writer.add_float32(name, value)
    elif isinstance(value, str):
        writer.add_string(name, value)
    else:
        writer.add_array(name, value)
