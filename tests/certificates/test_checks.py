"""Certificates: correct runs pass, checks that do not apply give a reason, and every kind of error is detected."""

import os
from pathlib import Path

import pytest
import torch

import glasshouse
from glasshouse.certificates import checks
from glasshouse.certificates.checks import CHECKS, Check, certify
from glasshouse.interop import weight_mapping
from glasshouse.parts.cache import LayerCache
from glasshouse.runs.run import Run
from glasshouse.specs.spec_files import model_spec
from glasshouse.training.engine import Engine
from tests import needs
from tests.cli.program import some_text
from tests.interop.our_models import random_run

TINY = {
    "data": {"vocabulary": 300, "context": 24},
    "training": {"steps": 2, "batch": 4, "threads": 1, "precision": "fp32"},
    "evaluation": {"tokens": 256, "sample_tokens": 4},
}
GPT2 = {"position": "learned", "norm": "layer", "activation": "gelu", "bias": True}


def train(**model):
    """A run with the name "tiny" after two steps of training; by default it has the shape of GPT-2."""
    sizes = {"width": 16, "layers": 2, "heads": 2, "feed_forward": 32}
    text = Path(os.environ["GLASSHOUSE_RUNS"]).with_name("text.txt")
    text.write_text(some_text())
    words = ("demo-lm", f"data.files={text}")
    return glasshouse.train(*words, name="tiny", device="cpu", model={**sizes, **GPT2, **model}, **TINY)


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory, shared_cache):
    """A run in the shape of GPT-2 that no test changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(tmp_path_factory.mktemp("runs")))
        return train()


def run_checks(run, *names):
    """The results of the named checks, by name."""
    selected = {name: CHECKS[name] for name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "CHECKS", selected)
        return {check.name: check for check in certify(run)}


QUICK = (
    "cache against full",
    "generation against full",
    "batch size",
    "gradient accumulation",
    "fp32 against bf16",
    "resumed against uninterrupted",
)


@pytest.mark.slow
def test_a_correct_run_passes():
    needs.package("gguf")
    results = run_checks(train(dropout=0.1), *QUICK, "Hugging Face round trip", "GGUF round trip")
    assert {name: check.verdict for name, check in results.items()} == dict.fromkeys(results, "pass")


@pytest.mark.slow
def test_a_run_with_capped_scores_passes_and_is_not_exported():
    needs.package("gguf")
    results = run_checks(train(attention_softcap=2.0), *QUICK, "GGUF round trip")
    assert results.pop("GGUF round trip").passed is None
    assert {name: check.verdict for name, check in results.items()} == dict.fromkeys(QUICK, "pass")


@pytest.mark.slow
def test_a_correct_run_passes_every_check():
    for attention in ("dot-product", "grouped-query"):
        run = train(position="rotary", norm="rms", activation="swiglu", bias=False, attention=attention)
        assert [check.verdict for check in certify(run)] == ["pass"] * len(CHECKS)
        for path in sorted(run.folder.path.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        run.folder.path.rmdir()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "check", "reason"),
    [
        ({"norm": "batch"}, "gradient accumulation", "BatchNorm"),
        ({"kind": "encoder", "causal": True, "head": {"kind": "next-token"}}, "cache against full", "keeps no cache"),
        ({"position": "alibi"}, "Hugging Face round trip", "position"),
        ({"kind": "recurrent", "attention": "none"}, "GGUF round trip", "kind"),
    ],
)
def test_a_check_that_does_not_apply_gives_the_reason(model, check, reason):
    if check == "GGUF round trip":
        needs.package("gguf")
    result = run_checks(train(**model), check)[check]
    assert result.passed is None
    assert reason in result.note


def test_llama_cpp_does_not_apply_to_an_imported_model_of_another_kind():
    """Such a run may have no tokenizer either."""
    needs.package("gguf")
    spec = model_spec(kind="encoder-decoder", width=16, heads=2, layers=1, position="learned")
    assert run_checks(random_run(spec), "llama.cpp, greedy")["llama.cpp, greedy"].verdict == "n/a"


def test_a_cache_that_forgets_is_detected(gpt2, monkeypatch):
    monkeypatch.setattr(LayerCache, "extend", lambda cache, keys, values, positions: (cache.keys, cache.values))
    for name in ("cache against full", "generation against full"):
        assert run_checks(gpt2, name)[name].verdict == "FAIL"


def test_a_checkpoint_without_the_optimiser_state_is_detected(gpt2, monkeypatch):
    def restore_only_the_model(engine, checkpoint):
        engine.model.load_state_dict(checkpoint.groups["model"])

    monkeypatch.setattr(Engine, "restore", restore_only_the_model)
    assert run_checks(gpt2, "resumed against uninterrupted")["resumed against uninterrupted"].verdict == "FAIL"


def test_a_model_that_mixes_the_rows_of_a_batch_is_detected(gpt2, monkeypatch):
    original = type(gpt2.model).features

    def mixing(model, tokens, *others, **named):
        features = original(model, tokens, *others, **named)
        return features + features.mean(0, keepdim=True)

    monkeypatch.setattr(type(gpt2.model), "features", mixing)
    results = run_checks(gpt2, "batch size", "gradient accumulation")
    assert [check.verdict for check in results.values()] == ["FAIL", "FAIL"]


def test_an_export_with_wrong_weights_is_detected(gpt2, monkeypatch):
    needs.package("gguf")
    original = weight_mapping.export_tensors
    monkeypatch.setattr(
        weight_mapping,
        "export_tensors",
        lambda *arguments: {name: value * 1.01 for name, value in original(*arguments).items()},
    )
    results = run_checks(gpt2, "Hugging Face round trip", "GGUF round trip")
    assert [check.verdict for check in results.values()] == ["FAIL", "FAIL"]


def test_verdicts():
    assert Check("a", 0.0, 0.0).verdict == "pass"
    assert Check("a", 1e-9, 0.0).verdict == "FAIL"
    assert Check("a", float("nan"), 1.0).verdict == "FAIL"
    assert Check("a", None, None, "why").verdict == "n/a"


def test_the_checks_do_not_change_the_run(gpt2):
    before = {name: value.clone() for name, value in Run(gpt2.folder.path, "cpu").model.state_dict().items()}
    run_checks(gpt2, *QUICK)
    after = Run(gpt2.folder.path, "cpu").model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(torch.equal(before[name], value) for name, value in gpt2.model.state_dict().items())


def test_an_export_that_loses_a_tensor_fails_instead_of_not_applying(gpt2, monkeypatch):
    needs.package("xllamacpp")
    original = weight_mapping.export_tensors

    def without_final_norm(*arguments):
        tensors = original(*arguments)
        return {name: tensors[name] for name in tensors if "ln_f" not in name and "output_norm" not in name}

    monkeypatch.setattr(weight_mapping, "export_tensors", without_final_norm)
    results = run_checks(gpt2, "Hugging Face round trip", "GGUF round trip", "llama.cpp, greedy")
    assert [check.verdict for check in results.values()] == ["FAIL", "FAIL", "FAIL"]
