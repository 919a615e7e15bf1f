"""Masked tokens: how many are masked and how, that the seed decides it alone, and a run that learns."""

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.data import prepared_data
from glasshouse.data.shards import Shard
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import DataSpec, Spec
from glasshouse.tasks.masked_token import IGNORED, MaskedToken
from tests import needs
from tests.refusals import refused
from tests.tasks.item_metrics import check_item_values

VOCABULARY, MASK, SEPARATOR = 50, 49, 48
SMALL: dict[str, dict[str, object]] = {
    "model": {"width": 32, "layers": 1, "heads": 2, "position": "rotary", "head": {"bias": True}},
    "training": {"steps": 200, "batch": 16, "threads": 1, "precision": "fp32", "learning_rate": 5e-3},
    "evaluation": {"every": 100},
}


@pytest.fixture
def shard(tmp_path):
    tokens = np.random.default_rng(0).integers(0, SEPARATOR, 20_000).astype("<u2")
    tokens[::100] = SEPARATOR
    tokens.tofile(tmp_path / "train.tokens")
    return Shard(len(tokens), 1, len(tokens), len(tokens), 0, SEPARATOR, "<u2", tmp_path, "train")


@pytest.fixture
def task():
    task = MaskedToken(Spec(data=DataSpec(context=64)))
    task.mask, task.vocabulary = MASK, VOCABULARY
    return task


def test_the_shares_of_masked_random_and_kept_tokens_are_those_of_bert(task, shard):
    batch = task.batch(shard, 0, np.zeros(200, int), np.arange(200))
    inputs, targets = batch["inputs"], batch["targets"]
    chosen = targets != IGNORED
    assert not (targets[chosen] == SEPARATOR).any()
    assert chosen.float().mean() == pytest.approx(0.15 * 0.99, abs=0.01)
    masked = (inputs == MASK)[chosen].float().mean()
    kept = (inputs == targets)[chosen].float().mean()
    assert masked == pytest.approx(0.8, abs=0.03)
    assert kept == pytest.approx(0.1 + 0.1 / VOCABULARY, abs=0.03)
    assert chosen.any(1).all(), "every window has a target"
    assert task.prediction_count(batch) == int(chosen.sum())


def test_masking_is_a_function_of_seed_epoch_and_window(task, shard):
    def targets(seed, epoch, windows):
        return task.batch(shard, seed, np.full(len(windows), epoch), np.array(windows))["targets"]

    together = targets(0, 3, [5, 9])
    assert torch.equal(together[1:], targets(0, 3, [9]))
    assert not torch.equal(targets(0, 3, [9]) == IGNORED, targets(0, 4, [9]) == IGNORED)
    assert not torch.equal(targets(0, 3, [9]) == IGNORED, targets(1, 3, [9]) == IGNORED)


def test_only_masked_tokens_contribute_to_the_loss(task, shard):
    batch = task.batch(shard, 0, np.zeros(4, int), np.arange(4))
    logits = torch.randn(4, 64, VOCABULARY, generator=torch.Generator().manual_seed(0))
    chosen = batch["targets"] != IGNORED
    expected = torch.nn.functional.cross_entropy(logits[chosen], batch["targets"][chosen], reduction="sum")
    torch.testing.assert_close(task.loss_sum(lambda inputs: logits, batch), expected)


@pytest.mark.parametrize("kind", ["encoder", *needs.slow("recurrent")])
def test_a_model_learns_to_predict_masked_words(tmp_path, kind):
    # Words come in pairs, so that a masked word follows from its neighbours.
    generator = np.random.default_rng(0)
    words = ["alpha beta", "gamma delta", "epsilon zeta", "eta theta"]
    (tmp_path / "mine.txt").write_text(" ".join(generator.choice(words, 4000)))
    model = {**SMALL["model"], "kind": kind}
    if kind == "recurrent":
        model |= {"bidirectional": True, "cell": "gru", "attention": "none", "head": {"kind": "masked-token"}}
    data = {"files": [str(tmp_path / "mine.txt")], "tokenizer": "words", "vocabulary": 20, "context": 16}
    run = glasshouse.train("masked-model", name=kind, device="cpu", data=data, **{**SMALL, "model": model})
    outcome = run.facts["outcome"]["test"]
    assert outcome["accuracy"] > 0.7, outcome
    assert run.tokenizer.mask is not None
    again = glasshouse.evaluate(kind, device="cpu")["test"]
    assert again["loss"] == pytest.approx(outcome["loss"], rel=1e-4)
    test = prepared_data.prepare(run.spec.data, run.tokenizer).splits["test"]
    check_item_values(run, {"test": test.tokens_count // 16}, {"accuracy", "loss"})


def test_a_decoder_and_a_tokenizer_without_a_mask_token_are_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("one two three " * 400)
    data = {"files": [str(tmp_path / "mine.txt")], "tokenizer": "words", "vocabulary": 20, "context": 16}
    with refused(SpecError):
        glasshouse.train("masked-model", device="cpu", data=data, model={"kind": "decoder"})
    glasshouse.data.train_tokenizer([str(tmp_path / "mine.txt")], 20, tmp_path / "tokenizer.json", kind="words")
    with refused(DataError):
        glasshouse.train("masked-model", device="cpu", data={**data, "tokenizer_file": str(tmp_path / "tokenizer.json")})
