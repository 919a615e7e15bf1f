"""`glasshouse import`: round trips through Hugging Face and GGUF, and refusals."""

import gzip
import json
import shutil
from pathlib import Path

import torch

import glasshouse
from glasshouse.specs.errors import CannotImport, GlasshouseError, RunError
from tests import needs

from .program import (
    call,
    refused,
    some_text,
    worked,
)


def greedy(run: str) -> str:
    return worked(call("sample", run, "--prompt", "ba", "--temperature", "0", "--tokens", "12", "--device", "cpu")).out


def test_through_hugging_face_and_back(llama_run: str, huggingface_folder: Path) -> None:
    transformers = needs.package("transformers")
    assert "certify again" in worked(call("import", str(huggingface_folder), "--name", "again")).out
    assert greedy("again") == greedy(llama_run)
    model = transformers.AutoModelForCausalLM.from_pretrained(huggingface_folder, local_files_only=True).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(huggingface_folder, local_files_only=True)
    prompt = tokenizer("ba", return_tensors="pt")
    output = model.generate(**prompt, max_new_tokens=12, do_sample=False, eos_token_id=None)
    assert greedy(llama_run).rstrip("\n").startswith(tokenizer.decode(output[0])[:10])
    row = worked(call("runs")).out
    assert "imported" in row


def test_through_gguf_and_back(llama_run: str, gguf_file: Path) -> None:
    worked(call("import", str(gguf_file), "--name", "again"))
    assert greedy("again") == greedy(llama_run)


def test_an_imported_run_is_opened_by_every_command(huggingface_folder: Path, tmp_path: Path) -> None:
    worked(call("import", str(huggingface_folder), "--name", "again"))
    (tmp_path / "other.txt").write_text(some_text(500, seed=1))
    found = json.loads(worked(call("evaluate", "again", "--data", str(tmp_path / "other.txt"), "--json")).out)
    assert found[str(tmp_path / "other.txt")]["loss"] > 0
    worked(call("report", "again"))
    refused(call("resume", "again"), GlasshouseError)
    refused(call("evaluate", "again"), GlasshouseError, "--data")


def test_mistakes_of_import(llama_run: str, huggingface_folder: Path, gguf_file: Path, tmp_path: Path) -> None:
    def mistaken(source: Path | str, kind: type[Exception], *values: str) -> None:
        refused(call("import", str(source), "--name", "new"), kind, *values)

    (tmp_path / "empty").mkdir()
    mistaken(tmp_path / "empty", CannotImport, "config.json")
    torch.save({"a": torch.zeros(2)}, tmp_path / "model.pt")
    mistaken(tmp_path / "model.pt", CannotImport, "safetensors")
    shutil.copytree(huggingface_folder, tmp_path / "pickled")
    (tmp_path / "pickled" / "model.safetensors").unlink()
    torch.save({"a": torch.zeros(2)}, tmp_path / "pickled" / "pytorch_model.bin")
    mistaken(tmp_path / "pickled", CannotImport)
    shutil.copytree(huggingface_folder, tmp_path / "unknown")
    config = json.loads((huggingface_folder / "config.json").read_text())
    (tmp_path / "unknown" / "config.json").write_text(json.dumps({**config, "architectures": ["MambaForCausalLM"]}))
    mistaken(tmp_path / "unknown", CannotImport, "MambaForCausalLM", "GPT2LMHeadModel")
    (tmp_path / "cut.gguf").write_bytes(gguf_file.read_bytes()[:-1000])
    mistaken(tmp_path / "cut.gguf", CannotImport, "cut.gguf")
    (tmp_path / "text.gguf").write_text("no model at all")
    mistaken(tmp_path / "text.gguf", CannotImport)
    (tmp_path / "mine.csv").write_text("1,2\n")
    mistaken(tmp_path / "mine.csv", CannotImport)
    (tmp_path / "run.tar.gz").write_bytes(gzip.compress(b"a run"))
    mistaken(tmp_path / "run.tar.gz", CannotImport, "glasshouse unpack")
    mistaken(huggingface_folder / "model.safetensors", CannotImport, "config.json")
    refused(call("import", str(huggingface_folder), "--name", llama_run), RunError)
    refused(call("import", str(huggingface_folder), "--name", "../out"), RunError)


def test_a_tokenizer_that_does_not_belong_to_the_model_is_refused(huggingface_folder: Path) -> None:
    document = json.loads((huggingface_folder / "tokenizer.json").read_text())
    small = dict(list(document["model"]["vocab"].items()))
    small.update({f"new{number}": len(small) + number for number in range(5)})
    document["model"]["vocab"] = small
    (huggingface_folder / "tokenizer.json").write_text(json.dumps(document))
    refused(call("import", str(huggingface_folder), "--name", "new"), GlasshouseError)
    (huggingface_folder / "tokenizer.json").write_text("{}")
    refused(call("import", str(huggingface_folder), "--name", "new"), GlasshouseError)


def test_a_model_with_more_rows_than_tokens_and_an_end_of_its_own(huggingface_folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(huggingface_folder / "model.safetensors")
    wide = torch.cat([tensors["model.embed_tokens.weight"], 100 * torch.ones(7, 16)])
    save_file({**tensors, "model.embed_tokens.weight": wide}, huggingface_folder / "model.safetensors", {"format": "pt"})
    config = json.loads((huggingface_folder / "config.json").read_text())
    (huggingface_folder / "config.json").write_text(json.dumps({**config, "vocab_size": len(wide), "eos_token_id": [5, 6]}))
    worked(call("import", str(huggingface_folder), "--name", "wide"))
    wide_run = glasshouse.open_run("wide")
    assert wide_run.end_tokens == {5, 6}
    completions = wide_run.sample("ba", count=3, tokens=20, temperature=2.0)
    assert all(choice.token < wide_run.tokenizer.vocabulary for each in completions for choice in each.choices)


def test_a_run_without_a_name_is_named_after_its_source(huggingface_folder: Path) -> None:
    worked(call("import", str(huggingface_folder)))
    assert glasshouse.open_run(huggingface_folder.name).spec.model.width == 16
    refused(call("import", str(huggingface_folder)), RunError, huggingface_folder.name)
    refused(call("import", "package:no_such_package"), CannotImport, "pip install")
