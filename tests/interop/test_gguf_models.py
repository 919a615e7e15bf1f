"""A run exported as GGUF: llama.cpp continues prompts with the same tokens, and the imported file gives the same logits.

Files that were changed: other number types are imported, and what does not fit is refused with its name.
"""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from glasshouse.certificates.round_trips import greedy_in_llama_cpp
from glasshouse.interop import gguf_models, imported_model, llama2c
from glasshouse.interop.architectures import registry
from glasshouse.interop.architectures.config_fields import field_values, with_field_values
from glasshouse.interop.gguf_file import GGUF
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotExport, CannotImport, GlasshouseError
from glasshouse.specs.spec import HeadSpec
from glasshouse.tokenizers.byte_pair import BytePair
from tests import needs
from tests.refusals import refused

from .gguf_models import GPT2, LLAMA, MODELS, PATTERNS, PROMPTS, logits, random_run, read_gguf, write_gguf
from .llama2c_files import STORY, TEXTS, stories_file
from .llama_cpp import tokens_in_llama_cpp

gguf = needs.package("gguf")
needs.package("xllamacpp")


@pytest.mark.parametrize("name", MODELS)
def test_llama_cpp_continues_as_glasshouse_does(name, byte_pairs, tmp_path):
    run = random_run(byte_pairs[PATTERNS.get(name, "gpt-2")], MODELS[name], name)
    path = tmp_path / f"{name}.gguf"
    gguf_models.export(run, path)
    theirs = greedy_in_llama_cpp(path, PROMPTS, 50)
    ours = run.sample(PROMPTS, tokens=50, temperature=0, alternatives=2)
    assert theirs == [[choice.token for choice in completion.choices] for completion in ours]
    choices = [choice for completion in ours for choice in completion.choices]
    # The comparison is meaningful: there are many different tokens, and none was almost a tie.
    assert len(choices) == 250
    assert len({choice.token for choice in choices}) > 40
    assert min(choice.alternatives[0][1] - choice.alternatives[1][1] for choice in choices) > 1e-4


@pytest.mark.parametrize("name", MODELS)
def test_imported_again_it_is_the_same(name, byte_pairs, tmp_path):
    run = random_run(byte_pairs[PATTERNS.get(name, "gpt-2")], MODELS[name], name)
    gguf_models.export(run, tmp_path / "once.gguf")
    imported = gguf_models.read(tmp_path / "once.gguf")
    again = Run(imported_model.save_as_run(imported, f"{name}-again"), device="cpu")
    assert torch.allclose(logits(run), logits(again), atol=1e-5, rtol=0)
    key_value_heads = run.model.blocks[0].attention.key_value_heads
    expected = with_field_values(MODELS[name], {"initialisation": 0.5, "key_value_heads": key_value_heads})
    assert field_values(again.spec.model, 0, 0) == field_values(expected, 0, 0)
    assert imported.tokenizer == json.loads(run.folder.tokenizer_file.read_text())
    assert isinstance(again.tokenizer, BytePair)
    assert again.facts["token_ids"] == {"bos": 0, "eos": 0}
    gguf_models.export(again, tmp_path / "twice.gguf")
    first, second = GGUF(tmp_path / "once.gguf"), GGUF(tmp_path / "twice.gguf")
    assert {**first.metadata, "general.name": ""} == {**second.metadata, "general.name": ""}
    assert all(torch.equal(first.tensor(tensor), second.tensor(tensor)) for tensor in first.tensors)


def test_the_story_in_llama_cpp(tmp_path):
    run = Run(imported_model.save_as_run(llama2c.read(stories_file()), "stories"), device="cpu")
    path = tmp_path / "stories.gguf"
    gguf_models.export(run, path)
    prompts = ["", "Once upon a time", "The big dog\nran", "“Héllo” 😀", "Lily and Tom"]
    theirs = greedy_in_llama_cpp(path, prompts, 65)
    ours = run.sample(prompts, tokens=65, temperature=0)
    assert theirs == [[choice.token for choice in completion.choices] for completion in ours]
    assert run.tokenizer.decode(theirs[0]).startswith(STORY)
    texts = [text for text in TEXTS if "<s>" not in text]
    assert tokens_in_llama_cpp(path, texts) == [run.tokenizer.encode(text).tolist() for text in texts]
    imported = gguf_models.read(path)
    assert imported.tokenizer == json.loads(run.folder.tokenizer_file.read_text())
    assert imported.model == run.spec.model


def test_the_context_is_the_limit(byte_pairs, tmp_path):
    """llama.cpp stops at the end of the position table."""
    run = random_run(byte_pairs["gpt-2"], GPT2, "short", context=16)
    gguf_models.export(run, tmp_path / "short.gguf")
    (theirs,) = greedy_in_llama_cpp(tmp_path / "short.gguf", ["I"], 50)
    ours = run.sample("I", tokens=50, temperature=0)[0]
    assert 10 <= len(theirs) <= 16
    assert theirs == [choice.token for choice in ours.choices][: len(theirs)]


def test_the_end_of_text_ends_both(byte_pairs, tmp_path):
    run = random_run(byte_pairs["gpt-2"], replace(LLAMA, tied=False), "ending")
    ours = run.sample("The state", tokens=8, temperature=0)[0]
    end = run.tokenizer.end_of_text
    with torch.no_grad():  # the end-of-text token becomes likelier than the third token of the completion
        chosen = ours.choices[2].token
        run.model.head.weight[end] = run.model.head.weight[chosen] * 1.01
    gguf_models.export(run, tmp_path / "ending.gguf")
    ended = run.sample("The state", tokens=8, temperature=0)[0]
    assert ended.finish == "end"
    (theirs,) = greedy_in_llama_cpp(tmp_path / "ending.gguf", ["The state"], 8)
    assert theirs == [choice.token for choice in ended.choices]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (replace(GPT2, activation="relu"), (CannotExport, "model.activation='relu'", "'gpt2'")),
        (replace(GPT2, activation="gelu-exact"), (CannotExport, "model.activation='gelu-exact'")),
        (replace(GPT2, attention="local-window"), (CannotExport, "model.attention='local-window'")),
        (replace(GPT2, connection="post-norm"), (CannotExport, "model.connection='post-norm'")),
        (replace(GPT2, norm="rms"), (CannotExport, "model.norm='rms'")),
        (replace(GPT2, head_width=8), (CannotExport, "model.head_width=8")),
        (replace(GPT2, head=HeadSpec(own={"bias": True})), (CannotExport, "model.head.bias=True")),
        (replace(GPT2, head=HeadSpec(own={"softcap": 30.0})), (CannotExport, "model.head.softcap=30.0")),
        (replace(GPT2, own={"query_key_norm": True}), (CannotExport, "model.query_key_norm=True")),
        (replace(GPT2, head=HeadSpec(own={"future_tokens": 1})), (CannotExport, "model.head.future_tokens=1")),
        (replace(GPT2, own={"value_residual": True}), (CannotExport, "model.value_residual=True")),
        (replace(LLAMA, own={"attention_softcap": 50.0}), (CannotExport, "model.attention_softcap=50.0")),
        (replace(LLAMA, activation="relu-squared"), (CannotExport, "model.activation='relu-squared'")),
        (replace(GPT2, own={"feed_forward_layers": 2}), (CannotExport, "model.feed_forward_layers=2")),
        (replace(GPT2, activation="relu-single-layer"), (CannotExport, "model.activation='relu-single-layer'")),
        (replace(LLAMA, position="alibi"), (CannotExport, "model.position='alibi'", "'llama'")),
        (replace(LLAMA, norm="layer"), (CannotExport, "model.norm='layer'")),
        (replace(LLAMA, bias=True), (CannotExport, "model.bias=True")),
        (replace(LLAMA, embedding_norm=True), (CannotExport, "model.embedding_norm=True")),
        (replace(LLAMA, kind="encoder"), (CannotExport, "model.kind='encoder'")),
    ],
)
def test_runs_of_another_architecture(model, reason):
    with refused(*reason):
        registry.find_for_export(model, 2, 2, among=gguf_models.ARCHITECTURES, to="GGUF")


def test_a_path_that_cannot_be_written(llama_run, tmp_path):
    with refused(GlasshouseError):
        gguf_models.export(llama_run, tmp_path / "no" / "where.gguf")


def test_without_the_package_gguf(llama_run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    with refused(GlasshouseError):
        gguf_models.export(llama_run, tmp_path / "again.gguf")


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
    assert tokens_in_llama_cpp(tmp_path / "quantised.gguf", ["The"]) == [run.tokenizer.encode("The").tolist()]


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
