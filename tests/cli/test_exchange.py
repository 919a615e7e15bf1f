"""Import, export, certify and parts from the command line: what a person sees, and every mistake they can make."""

import json
import shutil
from pathlib import Path

import pytest
import torch

import glasshouse

from .program import call, refused, some_text, train, worked

LLAMA = ("model.position=rotary", "model.norm=rms", "model.activation=swiglu", "model.attention=grouped-query")


@pytest.fixture
def run(tmp_path: Path) -> str:
    """A Llama-shaped run of two steps."""
    (tmp_path / "mine.txt").write_text(some_text())
    worked(train(f"data.files={tmp_path / 'mine.txt'}", "training.steps=2", "evaluation.every=2", *LLAMA))
    return "tiny"


@pytest.fixture
def exported(run: str, tmp_path: Path) -> Path:
    worked(call("export", run, "--to", "huggingface", "--output", str(tmp_path / "out")))
    return tmp_path / "out"


@pytest.fixture
def gguf(run: str, tmp_path: Path) -> Path:
    worked(call("export", run, "--to", "gguf", "--output", str(tmp_path / "tiny.gguf")))
    return tmp_path / "tiny.gguf"


def greedy(run: str) -> str:
    return worked(call("sample", run, "--prompt", "ba", "--temperature", "0", "--tokens", "12", "--device", "cpu")).out


def test_through_hugging_face_and_back(run: str, exported: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    assert "certify again" in worked(call("import", str(exported), "--name", "again")).out
    assert greedy("again") == greedy(run)
    model = transformers.AutoModelForCausalLM.from_pretrained(exported, local_files_only=True).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(exported, local_files_only=True)
    prompt = tokenizer("ba", return_tensors="pt")
    output = model.generate(**prompt, max_new_tokens=12, do_sample=False, eos_token_id=None)
    assert greedy(run).rstrip("\n").startswith(tokenizer.decode(output[0])[:10])
    row = worked(call("runs")).out
    assert "imported" in row


def test_through_gguf_and_back(run: str, gguf: Path) -> None:
    worked(call("import", str(gguf), "--name", "again"))
    assert greedy("again") == greedy(run)


def test_an_imported_run_is_opened_by_every_command(exported: Path, tmp_path: Path) -> None:
    worked(call("import", str(exported), "--name", "again"))
    (tmp_path / "other.txt").write_text(some_text(500, seed=1))
    found = json.loads(worked(call("evaluate", "again", "--data", str(tmp_path / "other.txt"), "--json")).out)
    assert found[str(tmp_path / "other.txt")]["loss"] > 0
    worked(call("report", "again"))
    refused(call("resume", "again"), "no-data")
    refused(call("evaluate", "again"), "no-data", "--data")


def test_certify(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from glasshouse.certificates import checks

    quick = {name: checks.CHECKS[name] for name in ("cache against full", "batch size")}
    monkeypatch.setattr(checks, "CHECKS", quick)
    out = worked(call("certify", run, "--device", "cpu")).out
    assert "pass" in out
    assert "FAIL" not in out
    rows = json.loads(worked(call("certify", run, "--json")).out)
    assert [row["passed"] for row in rows] == [True, True]
    broken = {"cache against full": lambda bench: checks.Check("", 1.0, 0.5)}
    monkeypatch.setattr(checks, "CHECKS", broken)
    outcome = call("certify", run)
    assert outcome.code == 1
    assert "FAIL" in outcome.out


def test_parts() -> None:
    assert "performer" in worked(call("parts")).out
    out = worked(call("parts", "attention")).out
    assert "softmax" in out
    assert "lacks causal (under a causal mask" in out
    refused(call("parts", "atention"), "unknown-word")


def test_mistakes_of_import(run: str, exported: Path, gguf: Path, tmp_path: Path) -> None:
    def mistaken(source: Path | str, code: str, *values: str) -> None:
        refused(call("import", str(source), "--name", "new"), code, *values)

    (tmp_path / "empty").mkdir()
    mistaken(tmp_path / "empty", "not-a-model-folder", "config.json")
    torch.save({"a": torch.zeros(2)}, tmp_path / "model.pt")
    mistaken(tmp_path / "model.pt", "pickle-refused", "safetensors")
    shutil.copytree(exported, tmp_path / "pickled")
    (tmp_path / "pickled" / "model.safetensors").unlink()
    torch.save({"a": torch.zeros(2)}, tmp_path / "pickled" / "pytorch_model.bin")
    mistaken(tmp_path / "pickled", "pickle-refused")
    shutil.copytree(exported, tmp_path / "unknown")
    config = json.loads((exported / "config.json").read_text())
    (tmp_path / "unknown" / "config.json").write_text(json.dumps({**config, "architectures": ["MambaForCausalLM"]}))
    mistaken(tmp_path / "unknown", "unsupported-architecture", "MambaForCausalLM", "GPT2LMHeadModel")
    (tmp_path / "cut.gguf").write_bytes(gguf.read_bytes()[:-1000])
    mistaken(tmp_path / "cut.gguf", "damaged-gguf", "cut.gguf")
    (tmp_path / "text.gguf").write_text("no model at all")
    mistaken(tmp_path / "text.gguf", "not-gguf")
    (tmp_path / "mine.csv").write_text("1,2\n")
    mistaken(tmp_path / "mine.csv", "unknown-model-format")
    mistaken(exported / "model.safetensors", "unknown-model-format", "config.json")
    refused(call("import", str(exported), "--name", run), "run-exists")
    refused(call("import", str(exported), "--name", "../out"), "bad-name")


def test_a_tokenizer_that_does_not_belong_to_the_model_is_refused(exported: Path) -> None:
    document = json.loads((exported / "tokenizer.json").read_text())
    small = dict(list(document["model"]["vocab"].items()))
    small.update({f"new{number}": len(small) + number for number in range(5)})
    document["model"]["vocab"] = small
    (exported / "tokenizer.json").write_text(json.dumps(document))
    refused(call("import", str(exported), "--name", "new"), "tokenizer-does-not-fit")
    (exported / "tokenizer.json").write_text("{}")
    refused(call("import", str(exported), "--name", "new"), "not-a-tokenizer")


def test_a_model_with_more_rows_than_tokens_and_an_end_of_its_own(exported: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(exported / "model.safetensors")
    wide = torch.cat([tensors["model.embed_tokens.weight"], 100 * torch.ones(7, 16)])
    save_file({**tensors, "model.embed_tokens.weight": wide}, exported / "model.safetensors", {"format": "pt"})
    config = json.loads((exported / "config.json").read_text())
    (exported / "config.json").write_text(json.dumps({**config, "vocab_size": len(wide), "eos_token_id": [5, 6]}))
    worked(call("import", str(exported), "--name", "wide"))
    run = glasshouse.open_run("wide")
    assert run.ends == {5, 6}
    completions = run.sample("ba", count=3, tokens=20, temperature=2.0)
    assert all(choice.token < run.tokenizer.vocabulary for each in completions for choice in each.choices)


def test_mistakes_of_export(run: str, exported: Path, tmp_path: Path) -> None:
    refused(call("export", run, "--to", "huggingface", "--output", str(exported)), "output-exists", str(exported))
    worked(call("export", run, "--to", "gguf", "--output", str(tmp_path / "one.gguf")))
    refused(call("export", run, "--to", "gguf", "--output", str(tmp_path / "one.gguf")), "output-exists")
    refused(call("export", run, "--to", "gguf", "--output", "."), "output-exists")
    refused(call("export", run, "--to", "gguf", "--output", str(tmp_path / "nowhere" / "one.gguf")), "missing-folder")
    refused(call("export", "nobody", "--to", "gguf", "--output", "a.gguf"), "unknown-run")
    assert call("export", run, "--to", "onnx", "--output", "a").code == 2
    worked(
        train(
            f"data.files={tmp_path / 'mine.txt'}",
            "training.steps=2",
            "model.position=alibi",
            "evaluation.every=2",
            name="alibi",
        )
    )
    for form in ("huggingface", "gguf"):
        refused(call("export", "alibi", "--to", form, "--output", str(tmp_path / form)), "no-fitting-architecture")
        assert not (tmp_path / form).exists()


def test_from_python(run: str, tmp_path: Path) -> None:
    path = glasshouse.export(run, "gguf", tmp_path / "again.gguf")
    again = glasshouse.import_model(path, "again")
    assert (
        again.sample("ba", tokens=5, temperature=0)[0].text
        == glasshouse.open_run(run).sample("ba", tokens=5, temperature=0)[0].text
    )
