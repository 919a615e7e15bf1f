"""Translation: batches, losses, truncation with a count, runs that learn, and specs that are refused."""

from pathlib import Path

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.data import prepared_data
from glasshouse.specs import recipes
from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.tasks.base import IGNORED
from glasshouse.tasks.translate import Translate
from glasshouse.training.job import Job
from glasshouse.training.replicas import evaluate
from tests import needs
from tests.refusals import refused
from tests.tasks.item_metrics import check_item_values

CPU = torch.device("cpu")
SMALL = (
    "data.tokenizer=characters",
    "data.vocabulary=64",
    "data.context=16",
    "model.width=16",
    "model.layers=1",
    "model.heads=2",
    "model.feed_forward=32",
    "training.batch=8",
    "training.precision=fp32",
    "training.threads=1",
    "training.epochs=0",
    "training.steps=6",
    "evaluation.every=3",
)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Words and the same words backwards."""
    words = ["".join(chr(97 + (7 * i + 3 * j) % 26) for j in range(2 + i % 5)) for i in range(60)]
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{word}\t{word[::-1]}\n" for word in dict.fromkeys(words)))
    return path


def small_spec(pairs: Path, *changes: str):
    return recipes.spec("translator", [*SMALL, f"data.files={pairs}", *changes])


def prepare(spec):
    """(the task, the prepared data)."""
    task = Translate(spec)
    prepared = prepared_data.prepare(spec.data, columns=task.columns, specials=task.specials)
    task.complete_model(spec.model, prepared)
    return task, prepared


def test_a_batch_for_an_encoder_decoder(pairs):
    task, prepared = prepare(small_spec(pairs))
    shard = prepared.splits["train"]
    batch = task.batch(shard, 0, np.zeros(5, int), np.arange(5))
    for row in range(5):
        source, target = shard.originals[row], shard.target.originals[row]
        assert target == source[::-1]
        encoder_input = batch["source"][row, : batch["lengths"][row]].tolist()
        assert encoder_input == [*prepared.tokenizer.encode(source).tolist(), task.end]
        targets = [token for token in batch["targets"][row].tolist() if token != IGNORED]
        assert targets == [*prepared.tokenizer.encode(target).tolist(), task.end]
        assert batch["inputs"][row, : len(targets)].tolist() == [task.end, *targets[:-1]]


@pytest.mark.parametrize("loss_on", ["target", "all"])
def test_a_batch_for_a_decoder_only_model(pairs, loss_on):
    task, prepared = prepare(small_spec(pairs, "model.kind=decoder", f"training.loss_on={loss_on}"))
    shard = prepared.splits["train"]
    batch = task.batch(shard, 0, np.zeros(4, int), np.arange(4))
    for row in range(4):
        source, target = (prepared.tokenizer.encode(side.originals[row]).tolist() for side in (shard, shard.target))
        sequence = [task.end, *source, task.separator, *target]
        assert batch["inputs"][row, : len(sequence)].tolist() == sequence
        following = [*sequence[1:], task.end]
        expected = following if loss_on == "all" else [IGNORED] * (len(source) + 1) + following[len(source) + 1 :]
        assert batch["targets"][row, : len(sequence)].tolist() == expected
    assert task.prediction_count(batch) == int((batch["targets"] != IGNORED).sum())


def test_the_loss_is_a_mean_over_target_tokens_and_only_training_smooths_it(pairs):
    smooth = Job.prepare(small_spec(pairs, "training.label_smoothing=0.2", "model.dropout=0"), CPU)
    plain = Job.prepare(small_spec(pairs, "training.label_smoothing=0", "model.dropout=0"), CPU)
    engines = [job.engine() for job in (smooth, plain)]
    shard = smooth.prepared.splits["train"]
    losses = [evaluate(engine, shard, final=False).metrics["loss"] for engine in engines]
    assert losses[0] == losses[1]
    batch = plain.task.batch(shard, 0, np.zeros(shard.documents, int), np.arange(shard.documents))
    total = plain.task.loss_sum(engines[1].model, batch).item()
    assert losses[1] == pytest.approx(total / plain.task.prediction_count(batch), rel=1e-5)
    assert float(smooth.task.loss_sum(engines[0].model, batch).detach()) != pytest.approx(total)


def test_texts_that_are_too_long_are_truncated_and_counted(tmp_path):
    path = tmp_path / "long.tsv"
    path.write_text("".join(f"{chr(97 + i % 26) * (3 + i)}\tb{i}\n" for i in range(30)))
    job = Job.prepare(small_spec(path, "data.validation=0", "data.test=0"), CPU)
    assert any(note.startswith("17 of 30 train texts") for note in job.notes), job.notes
    batch = job.task.batch(job.prepared.splits["train"], 0, np.zeros(30, int), np.arange(30))
    assert batch["source"].shape[1] <= 16
    run = glasshouse.train("translator", *SMALL, f"data.files={path}", device="cpu")
    translations = run.translate(["a" * 200, "ab"])
    assert translations[0][0].truncated
    assert not translations[1][0].truncated


def test_a_truncated_target_has_no_end_token(tmp_path):
    path = tmp_path / "long.tsv"
    path.write_text("".join(f"a{i}\t{'b' * (10 + i)}\n" for i in range(12)))
    task, prepared = prepare(small_spec(path, "data.validation=0", "data.test=0"))
    shard = prepared.splits["train"]
    batch = task.batch(shard, 0, np.zeros(12, int), np.arange(12))
    for row in range(12):
        assert (task.end in batch["targets"][row].tolist()) == (len(shard.target.originals[row]) <= 15)


@pytest.mark.parametrize("kind", ["encoder-decoder", *needs.slow("decoder")])
def test_a_model_learns_to_translate(pairs, kind):
    training = ("training.steps=200", "training.learning_rate=0.01", "training.label_smoothing=0", "evaluation.every=100")
    model = ("model.width=32", "model.dropout=0", f"model.kind={kind}")
    data = (f"data.files={pairs}", "data.context=24", "data.validation=0.1", "data.test=0")
    run = glasshouse.train("translator", *SMALL, *data, *model, *training, device="cpu")
    rows = [line.split("\t") for line in pairs.read_text().splitlines()]
    _, prepared = prepare(run.spec)
    shard = prepared.splits["train"]
    translations = run.translate(shard.originals)
    right = sum(best[0].text == target for best, target in zip(translations, shard.target.originals, strict=True))
    assert right >= 0.7 * shard.documents, f"{right} of {shard.documents} ({len(rows)} pairs)"
    several = run.translate(["abc"], beams=3, n_best=3)[0]
    assert len({translation.text for translation in several}) == 3
    word_by_word = run.translate(["abc de"], word_by_word=True)[0][0].text
    assert word_by_word == " ".join(run.translate([word])[0][0].text for word in ("abc", "de"))
    outcome = run.facts["outcome"]["validation"]
    assert {"loss", "chrf", "exact", "translated"} <= outcome.keys()
    assert run.evaluate()["validation"]["loss"] == pytest.approx(outcome["loss"], rel=1e-5)
    assert run.evaluate(pairs)[str(pairs)]["translated"] == len(rows)
    check_item_values(run, {"validation": prepared.splits["validation"].documents}, {"exact", "loss"})
    in_order = run.item_values("train")["exact"]
    assert in_order.tolist() == [
        best[0].text == target for best, target in zip(translations, shard.target.originals, strict=True)
    ]


def test_a_spec_that_cannot_translate_is_refused(pairs):
    with refused(SpecError):
        Translate(small_spec(pairs, "training.loss_on=all"))
    with refused(SpecError):
        Job.prepare(small_spec(pairs, "model.kind=encoder"), CPU)
    with refused(SpecError, "training.loss_on=all", "'next-token'"):
        recipes.spec("demo-lm", ["training.loss_on=all"])


def test_two_parallel_files_become_one_split_of_pairs(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    (tmp_path / "b.txt").write_text("eins\nzwei\ndrei\nvier\n")
    files = f"data.files=[{tmp_path}/a.txt,{tmp_path}/b.txt]"
    _, prepared = prepare(recipes.spec("translator", [*SMALL, files, "data.validation=0", "data.test=0"]))
    shard = prepared.splits["train"]
    assert dict(zip(shard.originals, shard.target.originals, strict=True))["three"] == "drei"


@pytest.mark.parametrize("context", [4, 5, 8, 9])
def test_source_and_target_fit_into_the_context_of_a_decoder_only_model(tmp_path, context):
    path = tmp_path / "long.tsv"
    path.write_text("".join(f"{chr(97 + i % 26) * 9}\t{chr(97 + i % 26) * 9}\n" for i in range(12)))
    changes = ("model.kind=decoder", "model.position=learned", "data.validation=0", "data.test=0")
    task, prepared = prepare(small_spec(path, *changes, f"data.context={context}"))
    batch = task.batch(prepared.splits["train"], 0, np.zeros(12, int), np.arange(12))
    assert batch["inputs"].shape == (12, context)
    with refused(GlasshouseError):
        Translate(small_spec(path, *changes, "data.context=3"))
