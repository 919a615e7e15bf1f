"""Translate: batches, losses, truncation with a count, translations, and pairs from a person's own files."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

import glasshouse
from glasshouse.data import batches, prepared_data
from glasshouse.metrics import translation
from glasshouse.specs import recipes
from glasshouse.tasks.base import IGNORED
from glasshouse.tasks.translate import Translate
from glasshouse.training.job import Job
from tests.refusals import refused

TINY = (
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


def spec(pairs: Path, *more: str):
    return recipes.spec("translator", [*TINY, f"data.files={pairs}", *more])


def prepared(spec):
    task = Translate.from_spec(spec)
    made = prepared_data.prepare(spec.data, columns=task.columns, specials=task.specials)
    task.complete_model(spec.model, made)
    return task, made


def test_a_batch_for_an_encoder_and_a_decoder(pairs):
    task, made = prepared(spec(pairs))
    shard = made.splits["train"]
    batch = task.batch(shard, 0, np.zeros(5, int), np.arange(5))
    for row in range(5):
        source, target = shard.originals[row], shard.target.originals[row]
        assert target == source[::-1]
        read = batch["source"][row, : batch["lengths"][row]].tolist()
        assert read == [*made.tokenizer.encode(source).tolist(), task.end]
        written = [token for token in batch["targets"][row].tolist() if token != IGNORED]
        assert written == [*made.tokenizer.encode(target).tolist(), task.end]
        assert batch["inputs"][row, : len(written)].tolist() == [task.end, *written[:-1]]


@pytest.mark.parametrize("loss_on", ["target", "all"])
def test_a_batch_for_a_decoder_alone(pairs, loss_on):
    task, made = prepared(spec(pairs, "model.kind=decoder", f"training.loss_on={loss_on}"))
    shard = made.splits["train"]
    batch = task.batch(shard, 0, np.zeros(4, int), np.arange(4))
    for row in range(4):
        source, target = (made.tokenizer.encode(each.originals[row]).tolist() for each in (shard, shard.target))
        whole = [task.end, *source, task.mark, *target]
        assert batch["inputs"][row, : len(whole)].tolist() == whole
        asked = batch["targets"][row, : len(whole)].tolist()
        follows = [*whole[1:], task.end]
        learned = follows if loss_on == "all" else [IGNORED] * (len(source) + 1) + follows[len(source) + 1 :]
        assert asked == learned
    assert task.prediction_count(batch) == int((batch["targets"] != IGNORED).sum())


def test_the_loss_is_per_target_token_and_smoothing_is_for_training_alone(pairs):
    smooth = Job.of(spec(pairs, "training.label_smoothing=0.2", "model.dropout=0"), torch.device("cpu"))
    plain = Job.of(spec(pairs, "training.label_smoothing=0", "model.dropout=0"), torch.device("cpu"))
    engines = [job.engine() for job in (smooth, plain)]
    shard = smooth.prepared.splits["train"]
    losses = [engine.evaluate(shard)["loss"] for engine in engines]
    assert losses[0] == losses[1]
    batch = plain.task.batch(shard, 0, np.zeros(shard.documents, int), np.arange(shard.documents))
    total = plain.task.loss_sum(engines[1].model, batch).item()
    assert losses[1] == pytest.approx(total / plain.task.prediction_count(batch), rel=1e-5)
    assert float(smooth.task.loss_sum(engines[0].model, batch).detach()) != pytest.approx(total)


def test_sides_that_are_too_long_are_cut_and_counted(tmp_path):
    path = tmp_path / "long.tsv"
    path.write_text("".join(f"{chr(97 + i % 26) * (3 + i)}\tb{i}\n" for i in range(30)))
    job = Job.of(spec(path, "data.validation=0", "data.test=0"), torch.device("cpu"))
    assert any(note.startswith("17 of 30 train texts are longer") for note in job.notes), job.notes
    batch = job.task.batch(job.prepared.splits["train"], 0, np.zeros(30, int), np.arange(30))
    assert batch["source"].shape[1] <= 16
    run = glasshouse.train("translator", *TINY, f"data.files={path}", device="cpu")
    found = run.translate(["a" * 200, "ab"])
    assert found[0][0].cut
    assert not found[1][0].cut


def test_a_target_that_was_cut_teaches_no_end(tmp_path):
    path = tmp_path / "long.tsv"
    path.write_text("".join(f"a{i}\t{'b' * (10 + i)}\n" for i in range(12)))
    task, made = prepared(spec(path, "data.validation=0", "data.test=0"))
    shard = made.splits["train"]
    batch = task.batch(shard, 0, np.zeros(12, int), np.arange(12))
    for row in range(12):
        assert (task.end in batch["targets"][row].tolist()) == (len(shard.target.originals[row]) <= 15)


@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder"])
def test_it_learns_to_translate(pairs, kind):
    more = (
        "training.steps=400",
        "training.learning_rate=0.01",
        "evaluation.every=100",
        "data.validation=0.1",
        "data.test=0",
    )
    wide = ("model.width=32", "data.context=24", "training.label_smoothing=0", "model.dropout=0", f"model.kind={kind}")
    run = glasshouse.train("translator", *TINY, f"data.files={pairs}", *more, *wide, device="cpu")
    rows = [line.split("\t") for line in pairs.read_text().splitlines()]
    _, made = prepared(run.spec)
    shard = made.splits["train"]
    right = sum(
        best[0].text == wanted for best, wanted in zip(run.translate(shard.originals), shard.target.originals, strict=True)
    )
    assert right >= 0.7 * shard.documents, f"{right} of {shard.documents} ({len(rows)} pairs)"
    several = run.translate(["abc"], beams=3, n_best=3)[0]
    assert len({each.text for each in several}) == 3
    words = run.translate(["abc de"], word_by_word=True)[0][0].text
    assert words == " ".join(run.translate([word])[0][0].text for word in ("abc", "de"))
    outcome = run.facts["outcome"]["validation"]
    assert {"loss", "chrf", "exact", "translated"} <= outcome.keys()
    assert run.evaluate()["validation"]["loss"] == pytest.approx(outcome["loss"], rel=1e-5)
    assert run.evaluate(pairs)[str(pairs)]["translated"] == len(rows)


def test_what_does_not_go_together(pairs):
    with refused("loss-on-decoder-only"):
        Translate.from_spec(spec(pairs, "training.loss_on=all"))
    with refused("model-does-not-fit-task"):
        Job.of(spec(pairs, "model.kind=encoder"), torch.device("cpu"))
    with refused("not-of-this-task", "training.loss_on='all'", "'next-token'"):
        recipes.spec("demo-lm", ["training.loss_on=all"])


def test_two_files_line_by_line(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    (tmp_path / "b.txt").write_text("eins\nzwei\ndrei\nvier\n")
    files = f"data.files=[{tmp_path}/a.txt,{tmp_path}/b.txt]"
    made = recipes.spec("translator", [*TINY, files, "data.validation=0", "data.test=0"])
    _, ready = prepared(made)
    shard = ready.splits["train"]
    assert dict(zip(shard.originals, shard.target.originals, strict=True))["three"] == "drei"
    (tmp_path / "b.txt").write_text("eins\nzwei\n")
    with refused("unequal-line-counts"):
        prepared(made)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tsv", "one two\n", ("no-tab",)),
        ("a.csv", "x,y\n1,2\n", ("missing-column", "data.target=NAME")),
        ("a.jsonl", '{"text": "a"}\n', ("missing-column", "data.target=NAME")),
        ("a.txt", "one\n", ("not-a-table",)),
        ("a.tsv", "one\t\n\ttwo\n", ("no-rows",)),
    ],
)
def test_faults_of_a_file_are_named(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_text(content)
    with refused(*words):
        prepared(spec(path))


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.sampled_from(["a b c d e", "a b", "x"]), st.sampled_from(["a b c d e", "b a"])), min_size=1))
def test_the_metrics_are_those_of_sacrebleu(pairs):
    outputs, references = zip(*pairs, strict=True)
    found = translation.scores(outputs, references)
    if "a b c d e" in references:
        assert found["bleu"] == pytest.approx(BLEU().corpus_score(list(outputs), [list(references)]).score)
    else:
        assert "bleu" not in found
    assert found["exact"] == pytest.approx(np.mean([a == b for a, b in pairs]))
    assert "version" in translation.signatures()["bleu"]


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.integers(1, 400), st.integers(1, 9), st.integers(0, 500))
def test_batches_by_length_visit_every_example_once_an_epoch(seed, examples, batch, first):
    lengths = np.arange(examples) % 13
    per_pool = batch * batches.POOL
    pool = first // batches.POOL
    seen = []
    for epochs, chosen in zip(*batches.order_by_length(seed, pool, batch, lengths), strict=True):
        seen += list(zip(epochs.tolist(), chosen.tolist(), strict=True))
        assert len(chosen) == batch
        assert (np.diff(lengths[chosen]) >= 0).all()
    plain = batches.order(seed, pool, per_pool, examples)
    assert sorted(seen) == sorted(zip(*(each.tolist() for each in plain), strict=True))


@pytest.mark.parametrize("context", [4, 5, 8, 9])
def test_one_sequence_fits_into_the_context(tmp_path, context):
    path = tmp_path / "long.tsv"
    path.write_text("".join(f"{chr(97 + i % 26) * 9}\t{chr(97 + i % 26) * 9}\n" for i in range(12)))
    more = ("model.kind=decoder", "model.position=learned", "data.validation=0", "data.test=0", f"data.context={context}")
    task, made = prepared(spec(path, *more))
    batch = task.batch(made.splits["train"], 0, np.zeros(12, int), np.arange(12))
    assert batch["inputs"].shape == (12, context)
    with refused("context-too-short"):
        Translate.from_spec(spec(path, *more[:-1], "data.context=3"))


def test_fields_of_rows_are_what_they_were(tmp_path):
    (tmp_path / "a.csv").write_text('text,target\n"one\ntwo",x\nthree,y\n')
    (tmp_path / "b.jsonl").write_text('{"text": "one", "target": null}\n{"text": "two", "target": "b"}\n')
    for name, expected in (("a.csv", ["one\ntwo", "three"]), ("b.jsonl", ["two"])):
        _, made = prepared(spec(tmp_path / name, "data.validation=0", "data.test=0"))
        assert sorted(made.splits["train"].originals) == sorted(expected)
    (tmp_path / "c.csv").write_text("text,target\n" + "a" * 200_000 + ",x\n")
    with refused("bad-csv-row"):
        prepared(spec(tmp_path / "c.csv"))
