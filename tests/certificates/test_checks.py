"""Certificates: sound runs pass, what does not apply says why, and a fault of each kind is found."""

import pytest
import torch

import glasshouse
from glasshouse.certificates import checks
from glasshouse.certificates.checks import CHECKS, Check, certify
from glasshouse.parts.cache import LayerCache
from glasshouse.runs.run import Run
from glasshouse.training.engine import Engine

TINY = {
    "data": {"vocabulary": 300, "context": 24},
    "training": {"steps": 2, "batch": 4, "threads": 1, "precision": "fp32"},
    "evaluation": {"tokens": 256, "sample_tokens": 4},
}
GPT2 = {"position": "learned", "norm": "layer", "activation": "gelu", "bias": True}


def trained(**model):
    sizes = {"width": 16, "layers": 2, "heads": 2, "feed_forward": 32}
    return glasshouse.train("demo-lm", name="tiny", device="cpu", model={**sizes, **GPT2, **model}, **TINY)


def results_of(run, *names):
    """The named checks of a run, by name; the slow ones are left to those who name them."""
    kept = {name: CHECKS[name] for name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "CHECKS", kept)
        return {check.name: check for check in certify(run)}


QUICK = ("cache against full", "batch size", "gradient accumulation", "fp32 against bf16", "resumed against uninterrupted")


def test_a_sound_run_passes():
    found = results_of(trained(dropout=0.1), *QUICK, "Hugging Face round trip", "GGUF round trip")
    assert {name: check.verdict for name, check in found.items()} == dict.fromkeys(found, "pass")


@pytest.mark.slow
def test_every_check_of_a_sound_run():
    for attention in ("dot-product", "grouped-query"):
        run = trained(position="rotary", norm="rms", activation="swiglu", bias=False, attention=attention)
        assert [check.verdict for check in certify(run)] == ["pass"] * len(CHECKS)
        for path in sorted(run.folder.path.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        run.folder.path.rmdir()


@pytest.mark.parametrize(
    ("model", "check", "reason"),
    [
        ({"norm": "batch"}, "gradient accumulation", "those of the batch"),
        ({"kind": "encoder", "causal": True, "head": {"kind": "next-token"}}, "cache against full", "keeps no cache"),
        ({"position": "alibi"}, "Hugging Face round trip", "position"),
        ({"kind": "recurrent", "attention": "none"}, "GGUF round trip", "kind"),
    ],
)
def test_what_does_not_apply_says_why(model, check, reason):
    found = results_of(trained(**model), check)[check]
    assert found.passed is None
    assert reason in found.note


def test_a_cache_that_forgets_is_found(monkeypatch):
    run = trained()
    monkeypatch.setattr(LayerCache, "extend", lambda cache, keys, values, positions: (cache.keys, cache.values))
    assert results_of(run, "cache against full")["cache against full"].verdict == "FAIL"


def test_a_checkpoint_that_loses_the_optimiser_is_found(monkeypatch):
    run = trained()

    def forgetful(engine, checkpoint):
        engine.model.load_state_dict(checkpoint.groups["model"])

    monkeypatch.setattr(Engine, "restore", forgetful)
    assert results_of(run, "resumed against uninterrupted")["resumed against uninterrupted"].verdict == "FAIL"


def test_a_model_that_mixes_its_batch_is_found(monkeypatch):
    run = trained()
    plain = type(run.model).features

    def mixing(model, tokens, positions=None, cache=None):
        features = plain(model, tokens, positions, cache)
        return features + features.mean(0, keepdim=True)

    monkeypatch.setattr(type(run.model), "features", mixing)
    found = results_of(run, "batch size", "gradient accumulation")
    assert [check.verdict for check in found.values()] == ["FAIL", "FAIL"]


def test_an_export_with_wrong_weights_is_found(monkeypatch):
    from glasshouse.interop import weight_tables

    run = trained()
    right = weight_tables.save
    monkeypatch.setattr(
        weight_tables, "save", lambda rows, ours: {name: value * 1.01 for name, value in right(rows, ours).items()}
    )
    found = results_of(run, "Hugging Face round trip", "GGUF round trip")
    assert [check.verdict for check in found.values()] == ["FAIL", "FAIL"]


def test_verdicts():
    assert Check("a", 0.0, 0.0).verdict == "pass"
    assert Check("a", 1e-9, 0.0).verdict == "FAIL"
    assert Check("a", float("nan"), 1.0).verdict == "FAIL"
    assert Check("a", None, None, "why").verdict == "n/a"


def test_the_run_is_left_as_it_was():
    run = trained()
    before = {name: value.clone() for name, value in Run(run.folder.path).model.state_dict().items()}
    results_of(run, *QUICK)
    after = Run(run.folder.path).model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(torch.equal(before[name], value) for name, value in run.model.state_dict().items())


def test_an_export_that_loses_a_tensor_is_a_failure_and_not_beside_the_point(monkeypatch):
    from glasshouse.interop import weight_tables

    run = trained()
    right = weight_tables.save

    def losing(rows, ours):
        return {name: value for name, value in right(rows, ours).items() if "ln_f" not in name and "output_norm" not in name}

    monkeypatch.setattr(weight_tables, "save", losing)
    found = results_of(run, "Hugging Face round trip", "GGUF round trip", "llama.cpp, greedy")
    assert [check.verdict for check in found.values()] == ["FAIL", "FAIL", "FAIL"]
