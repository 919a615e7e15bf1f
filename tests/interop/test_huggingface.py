"""Hugging Face directories: shards, damaged and unsafe files, exports, tokenizers and names on the hub."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from glasshouse.interop import formats, huggingface, imported_model
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotImport, GlasshouseError
from glasshouse.tokenizers.byte_pair import BytePair
from tests import needs
from tests.refusals import refused

from .our_models import GPT2_LIKE, random_run
from .transformers_models import save_small_gpt2, transformers

# --- Reading ---


def test_shards(tmp_path):
    theirs = save_small_gpt2(tmp_path / "one")
    theirs.save_pretrained(tmp_path / "many", max_shard_size="2KB")
    assert len(list((tmp_path / "many").glob("*.safetensors"))) > 2
    one, many = huggingface.read(tmp_path / "one"), huggingface.read(tmp_path / "many")
    assert one.tensors.keys() == many.tensors.keys()
    assert all(torch.equal(tensor, many.tensors[name]) for name, tensor in one.tensors.items())


def test_what_is_not_a_directory_with_a_config(tmp_path):
    with refused(CannotImport):
        huggingface.read(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with refused(CannotImport):
        huggingface.read(tmp_path / "file")
    with refused(CannotImport, "config.json"):
        huggingface.read(tmp_path)
    for text in ("{", "[1]", "\ud800", "[" * 10**5):
        (tmp_path / "config.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        with refused(GlasshouseError):
            huggingface.read(tmp_path)


def test_an_unsupported_architecture_is_refused(tmp_path):
    save_small_gpt2(tmp_path)
    for names in (["MambaForCausalLM"], [], None, "GPT2LMHeadModel"):
        (tmp_path / "config.json").write_text(json.dumps({"architectures": names}))
        with refused(CannotImport):
            huggingface.read(tmp_path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.bin"])
def test_pickles_are_refused_and_never_opened(name, tmp_path, monkeypatch):
    save_small_gpt2(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with refused(CannotImport):
        huggingface.read(tmp_path)
    (tmp_path / name).write_bytes(b"\x80\x04.")
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("it was opened"))
    with refused(CannotImport, name):
        huggingface.read(tmp_path)


def test_a_missing_shard(tmp_path):
    save_small_gpt2(tmp_path / "one").save_pretrained(tmp_path / "many", max_shard_size="2KB")
    index = tmp_path / "many/model.safetensors.index.json"
    files = json.loads(index.read_text())["weight_map"]
    name, file = next(iter(files.items()))
    (tmp_path / "many" / file).rename(tmp_path / "elsewhere")
    with refused(GlasshouseError, f"{file}"):
        huggingface.read(tmp_path / "many")
    for wrong, kind in (
        ({"weight_map": {**files, name: "../elsewhere"}}, CannotImport),
        ({"weight_map": {"a tensor": next(f for f in files.values() if f != file)}}, GlasshouseError),
        ({"weight_map": [1]}, CannotImport),
    ):
        index.write_text(json.dumps(wrong))
        with refused(kind):
            huggingface.read(tmp_path / "many")


def test_damaged_safetensors(tmp_path):
    save_small_gpt2(tmp_path)
    path = tmp_path / "model.safetensors"
    whole = path.read_bytes()
    for damaged in (b"", whole[:5], whole[:100], whole[:-3], b"\xff" * 8 + whole[8:], whole[:8] + b"x" * 50 + whole[58:]):
        path.write_bytes(damaged)
        with refused(GlasshouseError, "model.safetensors"):
            huggingface.read(tmp_path)


def test_a_damaged_tokenizer(tmp_path):
    save_small_gpt2(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with refused(GlasshouseError, "tokenizer.json"):
        huggingface.read(tmp_path)


# --- Exporting ---


def test_an_output_directory_with_files_is_left_alone(tmp_path, monkeypatch):
    run = random_run(GPT2_LIKE)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("")
    for existing in (tmp_path / "full", tmp_path / "full/mine"):
        with refused(GlasshouseError):
            huggingface.export(run, existing)
    (tmp_path / "empty").mkdir()
    huggingface.export(run, tmp_path / "empty")
    assert (tmp_path / "empty/config.json").exists()

    def full_disk(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(huggingface.checkpoint, "save_tensors", full_disk)
    with refused(GlasshouseError):
        huggingface.export(run, tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_a_tokenizer_goes_both_ways(tmp_path):
    tokenizer = BytePair.train(["to be or not to be, that is the question. " * 20], 280)
    run = random_run(GPT2_LIKE, tokenizer=tokenizer)
    huggingface.export(run, tmp_path / "out")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    text = "to be, or not: thé questîon <|endoftext|>"
    assert theirs(text).input_ids == tokenizer.encode(text).tolist()
    assert (theirs.eos_token, theirs.eos_token_id, theirs.pad_token) == ("<|endoftext|>", tokenizer.end_of_text, None)
    assert theirs.model_max_length == 16
    generation = transformers.GenerationConfig.from_pretrained(tmp_path / "out")
    assert (generation.eos_token_id, generation.bos_token_id) == (tokenizer.end_of_text, tokenizer.end_of_text)
    imported = huggingface.read(tmp_path / "out")
    assert Run(imported_model.save_as_run(imported, "back")).tokenizer.digest() == tokenizer.digest()
    assert imported.token_ids == {"bos": tokenizer.end_of_text, "eos": tokenizer.end_of_text}


# --- The hub ---


def test_a_path_is_never_looked_up_on_the_hub(tmp_path, monkeypatch):
    hub = needs.package("huggingface_hub")
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: pytest.fail("the hub was called"))
    Path("gpt2").mkdir()
    assert formats.resolve("gpt2") == Path("gpt2")
    assert formats.resolve(tmp_path) == tmp_path
    for wrong in ("no/such/folder", "/no/such", "../gpt-2", "a b", "hub:", "hub:/no/such", "hub:../gpt-2", "hub:a b"):
        with refused(GlasshouseError):
            formats.resolve(wrong)
    with refused(GlasshouseError, "hub:owner/name"):
        formats.resolve("owner/name")


def test_a_name_is_downloaded_from_the_hub(tmp_path, monkeypatch):
    hub = needs.package("huggingface_hub")
    calls: list[Any] = []

    def download(name: str, **options: Any) -> str:
        calls.append((name, options))
        return str(tmp_path)

    monkeypatch.setattr(hub, "snapshot_download", download)
    assert formats.resolve("hub:owner/name-1.5") == tmp_path
    assert calls == [("owner/name-1.5", {"allow_patterns": ["*.json", "*.safetensors"]})]

    def unreachable(*_: Any, **__: Any) -> None:
        raise ConnectionError("no route to host\nand much more")

    monkeypatch.setattr(hub, "snapshot_download", unreachable)
    with refused(GlasshouseError, "'gpt2'") as caught:
        formats.resolve("hub:gpt2")
    assert caught.value.__cause__ is None
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with refused(GlasshouseError, "huggingface_hub"):
        formats.resolve("hub:gpt2")
