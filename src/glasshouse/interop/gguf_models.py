"""GGUF files of Llama and GPT-2 models, quantised or not: imports them, and exports a run as one. Knows no file layout.

The two architectures are declared as those of Hugging Face are; the metadata take the place of config.json.
"""

import json
import math
from functools import partial
from pathlib import Path

import numpy as np

from glasshouse.interop import exported_files, gguf_tokenizers, imported_model
from glasshouse.interop.architectures import registry
from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import Config, ConfigField, field_values
from glasshouse.interop.architectures.llama import FIXED_FIELDS, default_head_width, heads
from glasshouse.interop.gguf_file import GGUF, gguf_package
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.interop.weight_mapping import ROTARY_PAIRS, Names, Theirs, within
from glasshouse.records import atomic_files
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotImport, GlasshouseError


def upgrade_metadata(name: str, metadata: Config) -> Config:
    """The metadata with one number where a file stores it for every layer, and with decimal numbers.

    GGUF stores them in float32. The shortest decimal number with this value is the one that was meant.
    """
    found = {f"{name}.attention.head_count_kv": metadata.get(f"{name}.attention.head_count")}
    for key, value in metadata.items():
        if isinstance(value, list) and value and value == value[:1] * len(value):
            value = value[0]
        found[key] = float(str(np.float32(value))) if isinstance(value, float) else value
    return found


def decoder_config(name: str, epsilon: str) -> tuple[ConfigField, ...]:
    return (
        ConfigField("vocabulary", f"{name}.vocab_size"),
        ConfigField("context", f"{name}.context_length"),
        ConfigField("width", f"{name}.embedding_length"),
        ConfigField("layers", f"{name}.block_count"),
        ConfigField("feed_forward", f"{name}.feed_forward_length"),
        ConfigField("epsilon", f"{name}.attention.{epsilon}"),
    )


DECODER = {"embedding": "token_embd", "final_norm": "output_norm", "head": "output"}
LAYER: Names = {
    "attention_connection.norm": "attn_norm",
    "attention.output": "attn_output",
    "feed_forward_connection.norm": "ffn_norm",
    "feed_forward.up": "ffn_up",
    "feed_forward.down": "ffn_down",
}

LLAMA = Architecture(
    names=("llama",),
    model_type="llama",
    config_fields=(
        *decoder_config("llama", "layer_norm_rms_epsilon"),
        ConfigField("heads", "llama.attention.head_count"),
        ConfigField("key_value_heads", "llama.attention.head_count_kv", heads),
        ConfigField(
            "head_width",
            ("llama.attention.key_length", "llama.attention.value_length", "llama.rope.dimension_count"),
            default_head_width,
        ),
        ConfigField("rotary_base", "llama.rope.freq_base", 10000.0),
    ),
    legacy_config_values={
        "llama.rope.scaling.type": ("none", "linear"),
        "llama.rope.scaling.factor": (0.0, 1.0),
        "llama.rope.scale_linear": (0.0, 1.0),
        "llama.expert_count": (0,),
    },
    fixed_fields={**FIXED_FIELDS, "head.kind": ("", "next-token"), "activation": ("swiglu",)},
    unused_fields=frozenset({"tied"}),
    # GGUF files interleave the rotary pairs of a head.
    weights={
        **DECODER,
        **within(
            "blocks.{}.",
            "blk.{}.",
            {
                **LAYER,
                "attention.projection": (Theirs("attn_q", ROTARY_PAIRS), Theirs("attn_k", ROTARY_PAIRS), "attn_v"),
                "feed_forward.gate": "ffn_gate",
            },
        ),
    },
    upgrade_config=partial(upgrade_metadata, "llama"),
)
GPT2 = Architecture(
    names=("gpt2",),
    model_type="gpt2",
    config_fields=(
        *decoder_config("gpt2", "layer_norm_epsilon"),
        ConfigField("heads", ("gpt2.attention.head_count", "gpt2.attention.head_count_kv")),
    ),
    fixed_fields={"kind": ("decoder",), "head.kind": ("", "next-token"), "position": ("learned",), "bias": (True,)},
    zero_filled_fields={"bias": True},
    unused_fields=frozenset({"tied"}),
    weights={
        **DECODER,
        "position.table": "position_embd",
        **within("blocks.{}.", "blk.{}.", {**LAYER, "attention.projection": "attn_qkv"}),
    },
    upgrade_config=partial(upgrade_metadata, "gpt2"),
)
ARCHITECTURES = (LLAMA, GPT2)
# How the package `gguf` calls the type of a value in the metadata.
TYPES = {bool: "bool", int: "uint32", float: "float32", str: "string", list: "array"}


def read(path: Path) -> ImportedModel:
    """The model of a file and its tokenizer. A tokenizer that is not supported is left out, and a message says why."""
    file = GGUF(path)
    name = file.metadata.get("general.architecture")
    table = next((architecture for architecture in ARCHITECTURES if architecture.name == name), None)
    if table is None or "rope_freqs.weight" in file.tensors:
        names = " or ".join(architecture.name for architecture in ARCHITECTURES)
        raise CannotImport(f"{path} has the architecture {name!r}; it must be {names}, without 'rope_freqs.weight'")
    imported_model.check_memory(path, sum(math.prod(info.shape) for info in file.tensors.values()))
    theirs = {tensor: file.tensor(tensor) for tensor in file.tensors}
    if "token_embd.weight" not in theirs or theirs["token_embd.weight"].dim() != 2:
        raise CannotImport(f"{path} lacks the token embedding, a matrix 'token_embd.weight'; download or export it again")
    try:
        values = table.read_config({**file.metadata, f"{name}.vocab_size": theirs["token_embd.weight"].shape[0]})
    except GlasshouseError as error:
        raise CannotImport(f"{path}: {error}") from None
    values["tied"] = "output.weight" not in theirs
    # An export writes a GPT-2 without biases with biases of zero, so biases that are all zero mean that there are none.
    if values.get("bias") and not any(theirs[tensor].any() for tensor in theirs if tensor.endswith(".bias")):
        values["bias"] = False
        theirs = {tensor: numbers for tensor, numbers in theirs.items() if not tensor.endswith(".bias")}
    tokenizer = gguf_tokenizers.read(file.metadata, str(path))
    return imported_model.build(
        table,
        values,
        theirs,
        str(path),
        tokenizer=tokenizer,
        origin=f"GGUF file {path.name}",
        token_ids=gguf_tokenizers.read_token_ids(file.metadata) if tokenizer else {},
    )


def export(run: Run, output: Path) -> None:
    """Write the run's model (its best weights, in float32) and its tokenizer. The file is written whole or not at all."""
    gguf = gguf_package("writing a GGUF file")
    context, vocabulary = run.spec.data.context, run.vocabulary
    architecture, model = registry.find_for_export(run.spec.model, context, vocabulary, among=ARCHITECTURES, to="GGUF")
    tokenizer = run.tokenizer  # a run without one is refused
    document = json.loads(run.folder.tokenizer_file.read_text(encoding="utf-8"))
    values = field_values(model, context, vocabulary)
    metadata = {
        "general.name": run.name,
        "general.file_type": 0,  # all tensors are float32
        **{key: value for field in architecture.config_fields for key, value in field.write(values).items()},
        **gguf_tokenizers.write(tokenizer, document, vocabulary),
    }
    shapes = imported_model.tensor_shapes(model, vocabulary, context)
    theirs = architecture.export_tensors(run.model.state_dict(), model, shapes)
    with exported_files.told(output), atomic_files.replacing(output) as temporary:
        writer = gguf.GGUFWriter(temporary, architecture.name)
        for name, value in metadata.items():
            getattr(writer, f"add_{TYPES[type(value)]}")(name, value)
        for name, tensor in theirs.items():
            writer.add_tensor(name, tensor.detach().float().cpu().numpy())
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
