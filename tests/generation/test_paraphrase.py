"""Paraphrases: a share is hidden, nothing special is drawn, the seed decides, long and odd texts, and files."""

import json

import numpy as np
import pytest

import glasshouse
from glasshouse.generation.paraphrase import paraphrase
from glasshouse.generation.sampling import Sampling
from tests.refusals import refused

TINY = {
    "model": {"width": 16, "layers": 1, "heads": 2},
    "training": {"steps": 3, "batch": 4, "threads": 1, "precision": "fp32"},
    "evaluation": {"every": 100},
}
TEXTS = ["the wren sat on the old oak and sang", "a crow", "naïve – “owl” 🦉 café", "wren " * 60, "", "zebra quagga"]


@pytest.fixture(scope="module", params=["byte-pair", "words", "characters"])
def run(request, tmp_path_factory, shared_cache):
    folder = tmp_path_factory.mktemp("masked")
    (folder / "text.txt").write_text("the wren and the owl and the crow sat on an old oak; naïve – “owl” 🦉 café\n" * 60)
    data = {"files": [str(folder / "text.txt")], "tokenizer": request.param, "vocabulary": 296, "context": 24}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder / "runs"))
        made = glasshouse.train("masked-model", name="m", device="cpu", data=data, **TINY)
        assert made.model is not None
    return made


def made(run, texts=TEXTS, **how):
    return paraphrase(run.model, run.tokenizer, texts, run.spec.data.context, **how)


def test_a_share_is_hidden_and_nothing_special_is_drawn(run):
    found = made(run, copies=3, share=0.3, sampling=Sampling(temperature=2.0))
    assert [len(copies) for copies in found] == [3] * len(TEXTS)
    for text, copies in zip(TEXTS, found, strict=True):
        count = len(run.tokenizer.encode(text))
        for copy in copies:
            assert not any(mark in copy.text for mark in run.tokenizer.specials)
            assert "\ufffd" not in copy.text
            assert "\n" not in copy.text
            assert copy.changed <= copy.hidden <= count
            if text and run.tokenizer.name == "byte-pair":
                assert copy.hidden == max(round(0.3 * count), 1) or "🦉" in text
    assert found[4][0].text == ""
    assert len({copy.text for copy in found[0]}) > 1, "copies differ"


def test_the_seed_decides_and_the_batch_does_not(run):
    first = made(run, batch=32)
    assert first == made(run, batch=1)
    assert first != made(run, sampling=Sampling(seed=1))
    alone = made(run, TEXTS[:1])
    assert alone == first[:1], "other texts change nothing"
    greedy = made(run, TEXTS[:1], sampling=Sampling(temperature=0))
    assert greedy == made(run, TEXTS[:1], sampling=Sampling(temperature=0))


def test_what_is_not_hidden_stays(run):
    text = TEXTS[0]
    copy = made(run, [text], copies=1, share=0.01, sampling=Sampling(temperature=3.0))[0][0]
    assert copy.hidden == 1 or run.tokenizer.unknown is not None
    before, after = run.tokenizer.encode(text), [int(t) for t in run.tokenizer.encode(copy.text)]
    if run.tokenizer.name == "words":
        assert int((before != np.array(after)).sum()) == copy.changed


def test_what_cannot_be_is_refused(run, tmp_path):
    with refused("bad-option", "copies=0"):
        made(run, copies=0)
    with refused("bad-option", "share=0"):
        made(run, share=0)
    with refused("bad-option", "temperature=-1"):
        glasshouse.augment(run.folder.path, "x.tsv", "y.tsv", temperature=-1)


def test_a_file_is_written_with_its_labels(run, tmp_path):
    rows = [("bird", "the wren sat\ton\nan oak"), ("tree", "an old oak"), ("none", "")]
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows))
    found = glasshouse.augment(run.folder.path, source, tmp_path / "more.tsv", copies=2, device="cpu")
    lines = (tmp_path / "more.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["bird"] * 3 + ["tree"] * 3
    assert lines[0] == "bird\tthe wren sat on an oak"
    assert all(line.count("\t") == 1 for line in lines)
    assert (found.rows, found.copies) == (2, 4)
    assert found.hidden >= 4
    again = glasshouse.augment(run.folder.path, source, tmp_path / "again.tsv", copies=2, device="cpu")
    assert (tmp_path / "again.tsv").read_text() == (tmp_path / "more.tsv").read_text()
    assert again.changed == found.changed
    plain = tmp_path / "lines.txt"
    plain.write_text("the wren\n\nan old owl\n")
    glasshouse.augment(run.folder.path, plain, tmp_path / "lines.more.txt", copies=1, device="cpu")
    written = (tmp_path / "lines.more.txt").read_text().splitlines()
    assert len(written) == 4
    assert written[::2] == ["the wren", "an old owl"]
    for output, code in (("more.tsv", "output-exists"), ("x.csv", "wrong-suffix"), ("no/x.tsv", "missing-folder")):
        with refused(code, output.partition("/")[0]):
            glasshouse.augment(run.folder.path, source, tmp_path / output, device="cpu")


def test_a_run_of_another_task_is_refused(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("".join(f"{'ab'[n % 2]}\tword{n}\n" for n in range(40)))
    training = {"epochs": 1, "threads": 1, "precision": "fp32"}
    glasshouse.train("classifier", name="c", device="cpu", data={"files": [str(path)]}, training=training)
    with refused("not-a-masked-model"):
        glasshouse.augment("c", path, tmp_path / "more.tsv", device="cpu")
    assert not (tmp_path / "more.tsv").exists()
