"""Prepared data: caching, too little text, and bounded memory."""

import json
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from glasshouse.data import prepared_data, text_files
from glasshouse.data.user_files import text as user_text
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec, ModelSpec, Spec
from glasshouse.tasks.next_token import NextToken
from glasshouse.tokenizers.byte_pair import BytePair
from tests.refusals import refused

TEXT = "It is a truth universally acknowledged, that a single man must be in want of a wife.\n" * 40


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))


def test_preparing_is_done_once(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    data = DataSpec(files=(str(tmp_path / "a.txt"),), vocabulary=280, context=16)
    stages: list[str] = []
    first = prepared_data.prepare(data, progress=lambda what, share: stages.append(what))
    assert stages
    stages.clear()
    second = prepared_data.prepare(data, progress=lambda what, share: stages.append(what))
    assert set(stages) <= {"checking text"}
    assert np.array_equal(first.splits["train"].tokens, second.splits["train"].tokens)
    (tmp_path / "a.txt").write_text(TEXT.upper())
    assert prepared_data.prepare(data).fingerprint != first.fingerprint


def test_a_text_shorter_than_the_context_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("A short text.")
    data = DataSpec(files=(str(tmp_path / "a.txt"),), tokenizer="characters", context=64)
    prepared = prepared_data.prepare(data)
    with refused(DataError):
        NextToken(Spec(data=data)).complete_model(ModelSpec(), prepared)


@pytest.mark.slow
def test_two_gigabytes_of_text_need_less_than_one_gigabyte_of_memory(tmp_path):
    """A text of 2 GB becomes a tokenizer and shards in under 1 GB of memory."""
    program = """
        import json, re, sys
        from pathlib import Path
        from glasshouse.data import prepared_data
        from glasshouse.data.sources.speeches import StateOfTheUnion
        from glasshouse.specs.spec import DataSpec
        path = Path(sys.argv[1])
        speeches = [document.text for document in StateOfTheUnion().documents("train")]
        written = round_ = 0
        with open(path, "w", encoding="utf-8") as file:
            while written < 2 * 10**9:
                for speech in speeches:  # every round has new words, so the text does not repeat
                    written += file.write(speech.replace(" the ", f" the{round_} ") + "\\n\\n")
                round_ += 1
        prepared = prepared_data.prepare(DataSpec(files=(str(path),), vocabulary=8192))
        shard = prepared.splits["train"]
        # Unlike `ru_maxrss`, this does not begin with the memory of the process that started this one.
        peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
        print(json.dumps({"peak": peak, "tokens": shard.tokens_count, "bytes": shard.bytes}))
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "large.txt")]
    output = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert output["bytes"] > 1.7 * 10**9
    assert output["peak"] < 10**9


def test_a_large_text_is_prepared_in_parts_with_the_same_result(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(TEXT * 3)
    data = DataSpec(files=(str(tmp_path / "a.txt"),), vocabulary=280, context=16)
    whole = prepared_data.prepare(data)
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "another"))
    monkeypatch.setattr(user_text, "PART_BYTES", 1000)
    in_parts = prepared_data.prepare(data)
    assert (in_parts.splits["train"].folder / "manifest.json").is_file()
    assert not (whole.splits["train"].folder / "manifest.json").exists()
    assert in_parts.splits["train"].folder.name == whole.splits["train"].folder.name
    for split, shard in whole.splits.items():
        assert np.array_equal(in_parts.splits[split].tokens, shard.tokens)


def test_a_tokenizer_is_trained_on_a_bounded_sample(tmp_path, monkeypatch):
    """The sample comes from the whole text, and a text within the bound is used whole."""
    lines = [json.dumps({"text": f"{'abcdefghij'[number // 100] * 40} "}) for number in range(1000)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    data = DataSpec(files=(str(tmp_path / "a.jsonl"),), validation=0.0, test=0.0, tokenizer="words")
    source = prepared_data.find_source(data)
    monkeypatch.setattr(text_files, "CHUNK_BYTES", 100)
    whole = "".join(prepared_data._tokenizer_text(source, (), None, lambda what, share: None))
    assert whole.count("<|endoftext|>") == 1000
    sample = "".join(prepared_data._tokenizer_text(source, (), 10_000, lambda what, share: None))
    assert 5000 < len(sample.replace("<|endoftext|>", "")) < 11_000
    assert all(letter in sample.replace("<|endoftext|>", "") for letter in "abcdefghij")


def test_processes_that_wait_for_the_same_tokenizer_train_it_once(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(TEXT)
    data = DataSpec(files=(str(tmp_path / "a.txt"),), vocabulary=280)
    trained = []
    train = BytePair.train

    def slowly(*inputs, **options):
        trained.append(1)
        time.sleep(0.3)
        return train(*inputs, **options)

    monkeypatch.setattr(BytePair, "train", slowly)
    load = lambda data: prepared_data.Preparation(data, prepared_data.find_source(data)).tokenizer()  # noqa: E731
    with ThreadPoolExecutor(3) as pool:
        digests = set(pool.map(lambda _: load(data).digest(), range(3)))
    assert (len(digests), trained) == (1, [1])
