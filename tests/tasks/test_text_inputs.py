"""Whole texts and pairs of texts as the input of a model. Padded rows are lists of tokens, joined and padded one by one."""

from pathlib import Path

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

import glasshouse
from glasshouse.data import prepared_data
from glasshouse.data.shards import Shard
from glasshouse.models.encoder import Encoder
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.text_inputs import Rows, TextInputs, joined, lengths_of, repeated, rows_of, texts_of, truncated_pairs
from glasshouse.training.job import Job
from tests.refusals import refused
from tests.tasks.json_rows import use_json_rows, write_rows

PAIRS = st.lists(st.tuples(st.lists(st.integers(1, 9), max_size=9), st.lists(st.integers(1, 9), max_size=9)), min_size=1)
SMALL = (
    "data.context=10",
    "model.width=16",
    "model.layers=1",
    "model.dropout=0",
    "model.head.hidden=0",
    "training.batch=8",
    "training.threads=1",
    "training.precision=fp32",
    "training.learning_rate=1e-2",
    "evaluation.every=50",
)


def shorten(first, second, max_length):
    """Remove the last token of the longer text, of the second if both are equal, until both fit."""
    first, second = list(first), list(second)
    while len(first) + len(second) > max_length:
        (first if len(first) > len(second) else second).pop()
    return first, second


@given(PAIRS, st.integers(0, 12))
def test_the_longer_text_of_a_pair_is_truncated_first(pairs, max_length):
    first, second = (rows_of(list(texts)) for texts in zip(*pairs, strict=True))
    rows = truncated_pairs(first, second, max_length)
    for number, pair in enumerate(pairs):
        found = tuple(side.tokens_NL[number, : side.lengths_N[number]].tolist() for side in rows)
        assert found == shorten(pair[0], pair[1], max_length)


def test_a_pair_is_one_sequence_with_separator_and_segments():
    inputs = TextInputs(context=9, paired=True, segments=True)
    inputs.prefix_and_suffix, inputs.separator = ([101], [102]), [102]
    batch = inputs.batch_of([[1, 2], [3]], [[4], [5, 6, 7, 8, 9]])
    assert batch["tokens"].tolist() == [[101, 1, 2, 102, 4, 102, 0, 0, 0], [101, 3, 102, 5, 6, 7, 8, 9, 102]]
    assert batch["lengths"].tolist() == [6, 9]
    assert batch["segments"].tolist() == [[0, 0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1, 1]]
    single = TextInputs(context=9, segments=True)
    assert set(single.batch_of([[1, 2]])) == {"tokens", "lengths"}


def pair_rows(tmp_path, monkeypatch):
    """Pairs of words. The second text alone decides the class."""
    use_json_rows(monkeypatch)
    words = ("owl", "fig", "saw", "plum")
    content = [
        {"text": f"{first} {number}", "second": second, "label": "bird" if second == "owl" else "other"}
        for number in range(12)
        for first in words
        for second in words
    ]
    return write_rows(tmp_path / "pairs.jsonl", content)


def test_a_pair_classifier_reads_both_texts(tmp_path, monkeypatch):
    rows = pair_rows(tmp_path, monkeypatch)
    changes = (f"data.files={rows}", *SMALL, "training.epochs=3", "model.head.pooling=max")
    run = glasshouse.train("pair-classifier", *changes, name="pairs", device="cpu")
    bird, other = run.classify(["saw 1", "saw 1"], second=["owl", "fig"])
    assert bird["bird"] > 0.5 > other["bird"]
    every = glasshouse.evaluate("pairs", rows, device="cpu")[str(rows)]
    assert every["accuracy"] > every["majority"] == 0.75
    with refused(GlasshouseError, "one second text for each text"):
        run.predict(["owl 1"])
    with refused(GlasshouseError, "2 texts and 1 second ones"):
        run.predict(["owl 1", "fig 2"], second=["owl"])


def test_the_batches_of_a_split_are_those_of_its_texts(tmp_path, monkeypatch):
    rows = pair_rows(tmp_path, monkeypatch)
    job = Job.prepare(glasshouse.runs.spec_of("pair-classifier", f"data.files={rows}", *SMALL), torch.device("cpu"))
    assert isinstance(model := job.model(), Encoder)
    assert model.segments is not None
    shard, tokenizer = job.prepared.splits["train"], job.prepared.tokenizer
    documents = list(prepared_data.find_source(job.spec.data, job.task.columns).documents("train"))[:5]
    texts = [[document.text for document in documents], [document.fields["second"] for document in documents]]
    expected = job.task.inputs.batch_of(*([tokenizer.encode(text).tolist() for text in side] for side in texts))
    found = job.task.inputs.batch(shard, np.arange(5))
    assert found.keys() == expected.keys() == {"tokens", "lengths", "segments"}
    assert all(torch.equal(found[name], expected[name]) for name in found)
    assert (found["tokens"] == tokenizer.end_of_text).sum() == 5


def test_a_leak_is_a_pair_and_not_its_first_text(tmp_path, monkeypatch):
    use_json_rows(monkeypatch)
    content = [{"text": "one text", "second": f"second {number}", "label": "ab"[number % 2]} for number in range(20)]
    files = f"data.files={write_rows(tmp_path / 'a.jsonl', content)}"
    data = glasshouse.runs.spec_of("pair-classifier", files, "data.tokenizer=words").data
    assert not prepared_data.prepare(data, columns=("label", "second")).leaks
    assert prepared_data.prepare(data, columns=("label",)).leaks


def test_an_empty_second_text_is_kept(tmp_path, monkeypatch):
    use_json_rows(monkeypatch)
    content = [{"text": f"text {n}", "second": "" if n % 2 else "more", "label": "ab"[n % 2]} for n in range(20)]
    files = f"data.files={write_rows(tmp_path / 'a.jsonl', content)}"
    data = glasshouse.runs.spec_of("pair-classifier", files, "data.tokenizer=words").data
    shard = prepared_data.prepare(data, columns=("label", "second")).splits["train"]
    assert shard.second.documents == shard.documents
    lengths = [len(text) for text in shard.second.texts(np.arange(shard.documents))]
    assert sorted(set(lengths)) == [0, 1]


def test_a_single_text_classifier_refuses_pairs(tmp_path, monkeypatch):
    rows = pair_rows(tmp_path, monkeypatch)
    run = glasshouse.train("classifier", f"data.files={rows}", *SMALL, "training.epochs=1", device="cpu")
    with refused(GlasshouseError, "single texts, not pairs"):
        run.predict(["owl"], second=["fig"])


TEXTS = st.lists(st.lists(st.integers(1, 99), max_size=6), min_size=1, max_size=5)


def shard_of(texts: list[list[int]], separator: int | None) -> Shard:
    """A shard that holds these texts in memory."""
    start = [] if separator is None else [separator]
    tokens = [token for text in texts for token in [*start, *text]] + start
    starts = np.cumsum([0, *(len(start) + len(text) for text in texts)])
    shard = Shard(len(tokens), len(texts), 0, 0, 0, separator, "<u2", Path(), "train")
    shard.__dict__.update(tokens=np.array(tokens, "<u2"), starts=starts)
    return shard


def as_lists(rows: Rows) -> list[list[int]]:
    return [row[:length].tolist() for row, length in zip(rows.tokens_NL, rows.lengths_N, strict=True)]


@given(TEXTS, st.sampled_from([None, 0]), st.integers(0, 7), st.data())
def test_texts_are_read_in_any_order_and_truncated(texts, separator, max_length, data):
    if separator is None and not any(texts):
        return  # A split without a token cannot be read.
    shard = shard_of(texts, separator)
    examples = np.array(data.draw(st.lists(st.integers(0, len(texts) - 1), min_size=1, max_size=8)))
    rows = texts_of(shard, examples, max_length)
    assert as_lists(rows) == [texts[example][:max_length] for example in examples]
    assert lengths_of(shard, examples).tolist() == [len(texts[example]) for example in examples]


@given(st.lists(TEXTS, min_size=1, max_size=3).filter(lambda parts: len({len(part) for part in parts}) == 1))
def test_parts_are_joined_row_by_row_and_padded_with_zeros(parts):
    every = np.arange(len(parts[0]))
    rows = joined(*(texts_of(shard_of(part, 0), every, 99) for part in parts))
    expected = [[token for part in parts for token in part[row]] for row in every]
    assert as_lists(rows) == expected
    assert rows.tokens_NL.shape[1] == max(map(len, expected))
    assert not rows.tokens_NL[~rows.is_token_NL].any()


def test_the_same_tokens_in_every_row():
    assert as_lists(repeated([7, 8], 3)) == [[7, 8]] * 3
    assert as_lists(joined(repeated([], 2), repeated([5], 2))) == [[5], [5]]
