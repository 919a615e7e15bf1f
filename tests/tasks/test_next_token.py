"""Next token: windows of the text, and every token scored exactly once with enough context."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import glasshouse
from glasshouse import models
from glasshouse.data import shards
from glasshouse.data.documents import Document
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import DataSpec, EvaluationSpec, Spec
from glasshouse.specs.spec_files import model_spec
from glasshouse.tasks.next_token import NextToken
from glasshouse.tokenizers.words import Characters
from glasshouse.training import job
from tests.refusals import refused

TEXT = "the state of the union is stronger than ever before " * 5


def with_context(context: int) -> Spec:
    return Spec(data=DataSpec(context=context))


@pytest.fixture(scope="module")
def tokenizer():
    return Characters.train([TEXT], 64)


@pytest.fixture
def shard(tmp_path, tokenizer):
    return shards.write(tmp_path, "train", [Document(TEXT), Document(TEXT[:50])], tokenizer)


class Uniform(nn.Module):
    """Gives every token the same probability."""

    def __init__(self, vocabulary):
        super().__init__()
        self.vocabulary = vocabulary
        self.unused = nn.Parameter(torch.zeros(()))

    def forward(self, tokens):
        return torch.zeros(*tokens.shape, self.vocabulary)


def test_targets_follow_inputs_and_an_epoch_covers_the_text(shard):
    task = NextToken(with_context(8))
    size = task.example_count(shard)
    batch = task.batch(shard, 0, np.zeros(size, int), np.arange(size))
    assert torch.equal(batch["inputs"][:, 1:], batch["targets"][:, :-1])
    assert batch["inputs"].shape == (size, 8)
    assert size * 8 > shard.tokens_count - 2 * 8
    other = task.batch(shard, 0, np.full(size, 3), np.arange(size))
    assert not torch.equal(batch["inputs"], other["inputs"]), "another epoch splits the text at other places"


@pytest.mark.parametrize("extra", [1, 5, 7, 8, 9])
def test_a_text_barely_longer_than_the_context_has_whole_windows(tmp_path, tokenizer, extra):
    shard = shards.write(tmp_path, "short", [Document("x" * (8 + extra - 2))], tokenizer)
    assert shard.tokens_count == 8 + extra
    task = NextToken(with_context(8))
    for epoch in range(20):
        size = task.example_count(shard)
        assert task.batch(shard, 0, np.full(size, epoch), np.arange(size))["targets"].shape == (size, 8)


@pytest.mark.parametrize("stride", [1, 3, 4, 8])
@pytest.mark.parametrize("limit", [2, 5, 8, 9, 10, 17, 40, 200])
def test_every_token_is_scored_once(shard, tokenizer, stride, limit):
    tokens = np.asarray(shard.tokens[:limit])
    task, model = NextToken(with_context(8)), Uniform(tokenizer.vocabulary)
    losses, scored = task.token_losses(model, tokens, shard.separators, stride, batch=3)
    assert scored.tolist() == [token != tokenizer.end_of_text for token in tokens[1:]]
    assert losses.sum() == pytest.approx(scored.sum() * math.log(tokenizer.vocabulary))


def test_a_uniform_model_has_the_vocabulary_size_as_perplexity(shard, tokenizer):
    metrics = NextToken(with_context(8)).evaluate(Uniform(tokenizer.vocabulary), shard, EvaluationSpec()).metrics
    size = len(TEXT) + 50
    assert metrics["perplexity"] == pytest.approx(tokenizer.vocabulary)
    assert metrics["bits_per_byte"] == pytest.approx(math.log2(tokenizer.vocabulary))
    assert (metrics["tokens"], metrics["bytes"]) == (size, size)


def test_the_stride_gives_each_token_its_context(shard):
    """A model that predicts correctly only after at least 4 tokens is wrong only at the start of the text."""

    class NeedsContext(nn.Module):
        def __init__(self):
            super().__init__()
            self.unused = nn.Parameter(torch.zeros(()))

        def forward(self, tokens):
            logits = torch.zeros(*tokens.shape, 64)
            positions = torch.arange(tokens.shape[1])
            logits[..., 0] = torch.where(positions >= 3, 100.0, -100.0)
            return logits

    zeros = np.zeros(60, dtype=np.int64)
    losses, scored = NextToken(with_context(8)).token_losses(NeedsContext(), zeros, frozenset(), stride=4, batch=2)
    assert scored.sum() == 59
    assert losses.sum() == pytest.approx(3 * (100 + math.log(63)), rel=1e-4)


@pytest.mark.parametrize("kind", ["decoder", "recurrent"])
def test_on_a_cpu_the_head_computes_scored_tokens_only(shard, tokenizer, kind):
    parts = {"attention": "none", "position": "none"} if kind == "recurrent" else {}
    model = models.build(model_spec(kind=kind, width=8, layers=1, heads=2, **parts), tokenizer.vocabulary, 8)
    tokens, rows = np.asarray(shard.tokens), []
    hook = model.head.register_forward_hook(lambda head, inputs, output: rows.append(inputs[0].shape[:-1].numel()))
    losses, scored = NextToken(with_context(8)).token_losses(model, tokens, shard.separators, stride=4, batch=3)
    hook.remove()
    assert sum(rows) == scored.sum()
    whole_windows = nn.Sequential(model)
    plain, same = NextToken(with_context(8)).token_losses(whole_windows, tokens, shard.separators, stride=4, batch=3)
    assert (scored == same).all()
    np.testing.assert_allclose(losses, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("context", [8, 20])
def test_the_items_are_windows_of_the_text_that_do_not_depend_on_the_context(shard, tokenizer, context):
    class Unigram(Uniform):
        def forward(self, tokens):
            return -torch.arange(1.0, self.vocabulary + 1).log().expand(*tokens.shape, self.vocabulary)

    task, model, settings = NextToken(with_context(context)), Unigram(tokenizer.vocabulary), EvaluationSpec()
    evaluation = task.evaluate(model, shard, settings)
    values, metrics = evaluation.items, evaluation.metrics
    targets = np.asarray(shard.tokens)[1:]
    windows = [window[window != tokenizer.end_of_text] for window in np.split(targets, range(128, len(targets), 128))]
    normaliser = math.log(sum(1 / rank for rank in range(1, tokenizer.vocabulary + 1)))
    nats = np.array([np.log1p(window).sum() + len(window) * normaliser for window in windows])
    assert len(windows) == 3
    np.testing.assert_allclose(values["loss"], nats / np.mean([len(window) for window in windows]), rtol=1e-5)
    for name in ("loss", "bits_per_byte"):
        assert values[name].mean() == pytest.approx(metrics[name])


def test_a_text_without_tokens_to_predict_is_refused():
    with refused(DataError):
        NextToken(with_context(8)).token_losses(Uniform(64), np.array([5]), frozenset(), 4, 2)
    with refused(DataError):
        NextToken(with_context(8)).token_losses(Uniform(64), np.array([5, 5]), frozenset([5]), 4, 2)


def small_decoder(**head):
    return models.build(model_spec(width=16, layers=1, heads=2, head=head), 29, 8)


@pytest.fixture
def batch():
    tokens = torch.randint(0, 29, (3, 9), generator=torch.Generator().manual_seed(0))
    return {"inputs": tokens[:, :-1], "targets": tokens[:, 1:]}


def test_training_also_predicts_the_tokens_after_the_next(batch):
    model, task = small_decoder(future_tokens=2, future_weight=0.5), NextToken(with_context(8))
    features = model.features(batch["inputs"])
    expected = nn.functional.cross_entropy(model(batch["inputs"]).flatten(0, 1), batch["targets"].flatten(), reduction="sum")
    for row in range(3):
        for position in range(8):
            for distance in (1, 2):
                if position + distance < 8:
                    x = features[row, position]
                    x = x + model.head.future[distance - 1].weight @ x
                    logits = model.embedding.weight @ x
                    loss = nn.functional.cross_entropy(logits, batch["targets"][row, position + distance])
                    expected = expected + 0.5 / 2 * loss
    total = task.loss_sum(model, batch)
    torch.testing.assert_close(total, expected, rtol=1e-5, atol=1e-4)
    total.backward()
    assert all(parameter.grad.any() for parameter in model.parameters())


def test_an_evaluation_scores_the_next_token_only(batch):
    model, plain, task = small_decoder(future_tokens=2), small_decoder(), NextToken(with_context(8))
    plain.load_state_dict(model.state_dict(), strict=False)
    assert torch.equal(model(batch["inputs"]), plain(batch["inputs"]))
    assert torch.equal(task.loss_sum(model.eval(), batch), task.loss_sum(plain.eval(), batch))


def test_tokens_after_the_next_count_in_the_flops_of_training_only():
    model, plain = small_decoder(future_tokens=2), small_decoder()
    assert model.flops(8) == plain.flops(8)
    assert model.head.future_flops(8) == 2 * (7 + 6) * 16 * (16 + 29)
    assert plain.head.future_flops(8) == 0


def test_tokens_after_the_next_are_refused_where_nothing_predicts_them():
    with refused(SpecError, "model.head.future_tokens=4", "data.context=4"):
        job.check(glasshouse.runs.spec_of("demo-lm", "model.head.future_tokens=4", "data.context=4"))
    with refused(SpecError, "windows of 4", "data.context=16"):
        changes = ("model.head.future_tokens=4", "data.context=16", "training.window_warmup=0.5")
        job.check(glasshouse.runs.spec_of("demo-lm", *changes))
    with refused(SpecError, "model.head.future_tokens=2", "task='translate'"):
        job.check(glasshouse.runs.spec_of("piglatin-decoder-only", "model.head.future_tokens=2"))
