"""Paraphrases and augmented files: the share of masked tokens, seeds, unusual texts, labels, and what is refused."""

import json

import numpy as np

import glasshouse
from glasshouse.generation.paraphrase import paraphrase
from glasshouse.generation.sampling_options import Sampling
from glasshouse.specs.errors import DataError, GlasshouseError
from tests.refusals import refused

TEXTS = ["the wren sat on the old oak and sang", "a crow", "naïve – “owl” 🦉 café", "wren " * 60, "", "zebra quagga"]


def paraphrases(run, texts=TEXTS, **options):
    return paraphrase(run.model, run.tokenizer, texts, run.spec.data.context, **options)


def test_a_share_is_masked_and_no_special_token_is_sampled(masked_run):
    tokenizer = masked_run.tokenizer
    results = paraphrases(masked_run, copies=3, share=0.3, sampling=Sampling(temperature=2.0))
    assert [len(copies) for copies in results] == [3] * len(TEXTS)
    for text, copies in zip(TEXTS, results, strict=True):
        count = len(tokenizer.encode(text))
        for copy in copies:
            assert not any(special in copy.text for special in tokenizer.specials)
            assert "\ufffd" not in copy.text
            assert "\n" not in copy.text
            assert copy.changed <= copy.hidden <= count
            if text and tokenizer.name == "byte-pair":
                assert copy.hidden == max(round(0.3 * count), 1) or "🦉" in text
    assert results[4][0].text == ""
    assert len({copy.text for copy in results[0]}) > 1, "copies differ"


def test_the_result_depends_on_the_seed_and_not_on_the_batch(masked_run):
    first = paraphrases(masked_run, batch=32)
    assert first == paraphrases(masked_run, batch=1)
    assert first != paraphrases(masked_run, sampling=Sampling(seed=1))
    alone = paraphrases(masked_run, TEXTS[:1])
    assert alone == first[:1], "other texts change nothing"
    greedy = paraphrases(masked_run, TEXTS[:1], sampling=Sampling(temperature=0))
    assert greedy == paraphrases(masked_run, TEXTS[:1], sampling=Sampling(temperature=0))


def test_tokens_that_are_not_masked_stay(masked_run):
    text, tokenizer = TEXTS[0], masked_run.tokenizer
    copy = paraphrases(masked_run, [text], copies=1, share=0.01, sampling=Sampling(temperature=3.0))[0][0]
    assert copy.hidden == 1 or tokenizer.unknown is not None
    before, after = tokenizer.encode(text), [int(t) for t in tokenizer.encode(copy.text)]
    if tokenizer.name == "words":
        assert int((before != np.array(after)).sum()) == copy.changed


def test_options_out_of_range_are_refused(masked_run):
    with refused(GlasshouseError, "copies=0"):
        paraphrases(masked_run, copies=0)
    with refused(GlasshouseError, "share=0"):
        paraphrases(masked_run, share=0)
    with refused(GlasshouseError, "temperature=-1"):
        glasshouse.data.augment(masked_run.folder.path, "x.tsv", "y.tsv", temperature=-1)


def test_a_file_is_written_with_its_labels(masked_run, tmp_path):
    rows = [("bird", "the wren sat\ton\nan oak"), ("tree", "an old oak"), ("none", "")]
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows))
    path = masked_run.folder.path
    augmented = glasshouse.data.augment(path, source, tmp_path / "more.tsv", copies=2, device="cpu")
    lines = (tmp_path / "more.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["bird"] * 3 + ["tree"] * 3
    assert lines[0] == "bird\tthe wren sat on an oak"
    assert all(line.count("\t") == 1 for line in lines)
    assert (augmented.rows, augmented.copies) == (2, 4)
    assert augmented.hidden >= 4
    again = glasshouse.data.augment(path, source, tmp_path / "again.tsv", copies=2, device="cpu")
    assert (tmp_path / "again.tsv").read_text() == (tmp_path / "more.tsv").read_text()
    assert again.changed == augmented.changed
    plain = tmp_path / "lines.txt"
    plain.write_text("the wren\n\nan old owl\n")
    glasshouse.data.augment(path, plain, tmp_path / "lines.more.txt", copies=1, device="cpu")
    written = (tmp_path / "lines.more.txt").read_text().splitlines()
    assert len(written) == 4
    assert written[::2] == ["the wren", "an old owl"]
    for output, kind in (("more.tsv", GlasshouseError), ("x.csv", GlasshouseError), ("no/x.tsv", GlasshouseError)):
        with refused(kind, output.partition("/")[0]):
            glasshouse.data.augment(path, source, tmp_path / output, device="cpu")


def test_a_run_of_another_task_is_refused(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("".join(f"{'ab'[n % 2]}\tword{n}\n" for n in range(40)))
    training = {"epochs": 1, "threads": 1, "precision": "fp32"}
    glasshouse.train("classifier", name="c", device="cpu", data={"files": [str(path)]}, training=training)
    with refused(DataError):
        glasshouse.data.augment("c", path, tmp_path / "more.tsv", device="cpu")
    assert not (tmp_path / "more.tsv").exists()
