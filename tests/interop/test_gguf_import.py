"""GGUF files that were changed: other number types are imported, and what does not fit is refused with its name."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from glasshouse.interop import gguf_models, llama_cpp
from glasshouse.specs.errors import CannotImport, GlasshouseError
from tests import needs
from tests.refusals import refused

from .gguf_models import LLAMA, random_run, read_gguf, write_gguf

gguf = needs.package("gguf")
needs.package("xllamacpp")


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q5_1"])
def test_other_kinds_of_numbers(kind, byte_pairs, tmp_path):
    run = random_run(byte_pairs["gpt-2"], replace(LLAMA, width=64), "plain")
    gguf_models.export(run, tmp_path / "plain.gguf")
    metadata, tensors = read_gguf(tmp_path / "plain.gguf")
    tensor_type = gguf.GGMLQuantizationType[kind]
    quantised = {
        name: (gguf.quantize(numbers, tensor_type), tensor_type) if numbers.ndim == 2 else numbers
        for name, numbers in tensors.items()
    }
    imported = gguf_models.read(write_gguf(tmp_path / "quantised.gguf", metadata, quantised))
    plain = gguf_models.read(tmp_path / "plain.gguf")
    largest = {"F16": 1e-3, "BF16": 4e-3, "Q8_0": 5e-3, "Q4_0": 0.1, "Q5_1": 0.05}[kind]
    for name, tensor in plain.tensors.items():
        error = (imported.tensors[name] - tensor).abs().max() / tensor.abs().max()
        assert error <= largest, name
        assert tensor.dim() < 2 or error > 0
    # llama.cpp reads the file too, so it is a valid one.
    assert llama_cpp.tokens_in_llama_cpp(tmp_path / "quantised.gguf", ["The"]) == [run.tokenizer.encode("The").tolist()]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda metadata, tensors: tensors.pop("blk.1.attn_k.weight"), (GlasshouseError, "'blk.1.attn_k.weight'")),
        (lambda metadata, tensors: tensors.pop("token_embd.weight"), (GlasshouseError, "'token_embd.weight'")),
        (
            lambda metadata, tensors: tensors.update({"blk.0.attn_q.bias": np.ones(48, np.float32)}),
            (GlasshouseError, "'blk.0.attn_q.bias'"),
        ),
        (
            lambda metadata, tensors: tensors.update({"blk.0.ffn_up.weight": np.ones((48, 64), np.float32)}),
            (GlasshouseError, "'blk.0.ffn_up.weight'", "48", "64"),
        ),
        (
            lambda metadata, tensors: tensors.update({"rope_freqs.weight": np.ones(6, np.float32)}),
            (CannotImport, "'rope_freqs.weight'"),
        ),
        (
            lambda metadata, tensors: metadata.update({"llama.rope.scaling.type": "yarn"}),
            (CannotImport, "llama.rope.scaling.type='yarn'"),
        ),
        (
            lambda metadata, tensors: metadata.update(
                {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}
            ),
            (CannotImport, "4.0"),
        ),
        (lambda metadata, tensors: metadata.update({"llama.expert_count": 8}), (CannotImport,)),
        (
            lambda metadata, tensors: metadata.update({"llama.rope.dimension_count": 6}),
            (CannotImport, "llama.rope.dimension_count=6"),
        ),
        (lambda metadata, tensors: metadata.pop("llama.block_count"), (CannotImport, "'llama.block_count'")),
        (
            lambda metadata, tensors: metadata.update({"llama.block_count": 3}),
            (GlasshouseError, "'blk.2.attn"),
        ),
        (lambda metadata, tensors: metadata.update({"llama.block_count": 10**9}), (CannotImport, "1000000000")),
        (lambda metadata, tensors: metadata.update({"llama.block_count": "two"}), (CannotImport, "llama.block_count='two'")),
        (lambda metadata, tensors: metadata.update({"llama.attention.head_count": 5}), (CannotImport,)),
        (lambda metadata, tensors: metadata.update({"llama.attention.head_count_kv": 3}), (CannotImport,)),
        (
            lambda metadata, tensors: metadata.update({"general.architecture": "qwen9"}),
            (CannotImport, "'qwen9'", "gpt2"),
        ),
        (
            lambda metadata, tensors: metadata.update({"tokenizer.ggml.bos_token_id": 9999}),
            (CannotImport, "bos_token_id=9999"),
        ),
        (lambda metadata, tensors: metadata.update({"tokenizer.ggml.merges": ["q z"]}), (CannotImport, "'q", "z'")),
        (lambda metadata, tensors: metadata.update({"tokenizer.ggml.merges": [1, 2]}), (CannotImport,)),
        (lambda metadata, tensors: metadata.update({"tokenizer.ggml.token_type": [1, 1]}), (CannotImport, "600")),
    ],
)
def test_files_that_cannot_be_imported(change, reason, llama_gguf, tmp_path):
    metadata, tensors = read_gguf(llama_gguf)
    change(metadata, tensors)
    path = write_gguf(tmp_path / "changed.gguf", metadata, tensors)
    with refused(*reason) as caught:
        gguf_models.read(path)
    assert str(path) in str(caught.value)


def test_only_a_quantised_file_needs_the_package_gguf(llama_gguf, tmp_path, monkeypatch):
    metadata, tensors = read_gguf(llama_gguf)
    tensor_type = gguf.GGMLQuantizationType.Q8_0
    tensors["blk.0.ffn_down.weight"] = (gguf.quantize(tensors["blk.0.ffn_down.weight"], tensor_type), tensor_type)
    write_gguf(tmp_path / "quantised.gguf", metadata, tensors)
    monkeypatch.setitem(sys.modules, "gguf", None)
    gguf_models.read(llama_gguf)
    with refused(GlasshouseError):
        gguf_models.read(tmp_path / "quantised.gguf")
