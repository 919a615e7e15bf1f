"""A pulse for every command: the real program, a very small model, what a person would see and find afterwards."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import typer.main

import glasshouse
from glasshouse.cli.application import application
from glasshouse.specs import recipes

from .program import (
    EXECUTABLE,
    SMALL,
    call,
    checkpoints,
    environment,
    finish,
    folders,
    refused,
    resume,
    some_text,
    start,
    train,
    weights,
    worked,
)

TWO_STEPS = ("training.steps=2", "evaluation.every=2")


def commands() -> list[tuple[str, ...]]:
    """The words of every command, inner ones included; a group that does nothing by itself is left out."""
    group: Any = typer.main.get_command(application())
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        inner = getattr(command, "commands", {})
        if not inner or command.invoke_without_command:
            found.append((name,))
        found += [(name, each) for each in inner]
    return found


# Help.


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_help_has_an_example_that_parses(words: tuple[str, ...]) -> None:
    shown = " ".join(worked(call(*words, "--help")).out.split())
    assert "Usage: " in shown
    examples = re.search(r"Examples?: (glasshouse .*)$", shown)
    assert examples, shown
    for example in examples[1].split(" · "):
        command: Any = typer.main.get_command(application())
        arguments = shlex.split(example)[1:]
        while arguments and arguments[0] in getattr(command, "commands", {}):
            command = command.commands[arguments.pop(0)]
        command.make_context("glasshouse", arguments)  # raises a usage error for an option that is not there


def test_help_of_the_program_says_where_to_begin() -> None:
    shown = worked(call("--help")).out
    assert "Begin with: glasshouse demo" in shown
    for words in commands():
        assert words[0] in shown


def test_no_arguments_show_the_help() -> None:
    outcome = call()
    assert outcome.code in (0, 2)
    assert "Usage: " in outcome.out + outcome.err


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["recipes"], ["runs"]])
def test_torch_is_not_imported_before_it_is_needed(words: list[str], run: Path) -> None:
    script = f"""
import sys
from glasshouse.cli import main
sys.argv = ["glasshouse", *{words!r}]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
slow = {{"torch", "numba", "matplotlib"}} & set(sys.modules)
assert not slow, slow
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


# Through the executable.


def test_the_executable_samples(run: Path) -> None:
    sampled = worked(finish(start("sample", "tiny", "--prompt", "ba", "--tokens", "5")))
    assert sampled.out.startswith("ba")
    assert sampled.err == ""


def test_the_executable_refuses_without_a_traceback(runs: Path) -> None:
    refused(finish(start("recipes", "demo-ml")), "unknown-recipe")
    assert folders(runs) == []


def test_a_closed_pipe_is_no_fault() -> None:
    command = f"{shlex.quote(str(EXECUTABLE))} recipes demo-lm | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


# Recipes.


def test_recipes() -> None:
    shown = worked(call("recipes")).out
    for recipe in glasshouse.recipes():
        assert recipe.name in shown
        assert recipe.about[:30] in shown


def test_recipes_with_a_name() -> None:
    shown = worked(call("recipes", "demo-lm")).out
    tables = recipes.tables_of("demo-lm")
    assert re.search(rf"training.steps\s+{tables['training']['steps']}\s", shown)
    assert re.search(rf"data.source\s+{tables['data']['source']}\s", shown)
    assert "attention heads of a block" in shown


def test_every_recipe_can_be_shown() -> None:
    for recipe in glasshouse.recipes():
        worked(call("recipes", recipe.name))


# Training.


def test_train(runs: Path, text: Path) -> None:
    outcome = worked(call("train", "language-model", *SMALL, *TWO_STEPS, f"data.files={text}"))
    run = runs / "language-model"
    assert "validation" in outcome.out
    assert "test" in outcome.out
    assert str(run / "report.html") in outcome.out
    for name in ("spec.toml", "run.json", "tokenizer.json", "metrics.jsonl", "report.html"):
        assert (run / name).stat().st_size > 0
    assert [path.name for path in checkpoints(run)] == ["step-00000002"]
    facts = json.loads((run / "run.json").read_text())
    assert facts["status"] == "done"
    assert facts["outcome"]["validation"]["perplexity"] > 1
    assert [name for name in folders(run) if name.endswith(".tmp")] == []


def test_train_again_takes_the_next_free_name(runs: Path, text: Path) -> None:
    for _ in range(2):
        worked(call("train", "language-model", *SMALL, "training.steps=1", f"data.files={text}"))
    assert folders(runs) == ["language-model", "language-model-2"]


def test_train_from_a_spec_file_gives_the_same_weights(runs: Path, finished: Path) -> None:
    worked(call("train", str(finished / "spec.toml"), "--name", "again", "--device", "cpu"))
    assert weights(runs / "again") == weights(finished)


def test_train_dry_run_trains_nothing(runs: Path, text: Path) -> None:
    shown = worked(call("train", "language-model", *SMALL, f"data.files={text}", "--dry-run")).out
    for words in ("parameters", "FLOPs", "memory", "time", "embedding"):
        assert words in shown
    assert folders(runs) == []


def test_train_on_a_plain_file_with_a_relative_path(runs: Path, text: Path) -> None:
    shutil.copy(text, "mine.txt")
    worked(train(*TWO_STEPS, "data.files=mine.txt"))
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    worked(call("evaluate", "tiny"))


def test_train_on_a_gzip_file(runs: Path, text: Path, finished: Path) -> None:
    Path("mine.txt.gz").write_bytes(gzip.compress(text.read_bytes()))
    overrides = ("training.steps=8", "training.checkpoint_every=2", "evaluation.every=4")
    worked(train(*overrides, "data.files=mine.txt.gz"))
    assert weights(runs / "tiny") == weights(finished), "the same text gives the same run, compressed or not"


def test_train_on_two_files(runs: Path) -> None:
    Path("a.txt").write_text(some_text(seed=1))
    Path("b.txt").write_text(some_text(seed=2))
    worked(train(*TWO_STEPS, "data.files=[a.txt,b.txt]"))
    spec = (runs / "tiny" / "spec.toml").read_text()
    assert str(Path("a.txt").absolute()) in spec
    assert str(Path("b.txt").absolute()) in spec


def test_train_on_json_lines(runs: Path) -> None:
    rows = [json.dumps({"id": seed, "body": some_text(100, seed)}) for seed in range(60)]
    Path("mine.jsonl").write_text("\n".join(rows) + "\n")
    worked(train(*TWO_STEPS, "data.files=mine.jsonl", "data.field=body"))
    assert "test" in worked(call("evaluate", "tiny")).out


@pytest.mark.parametrize("tokenizer", ["words", "characters"])
def test_train_with_another_tokenizer(text: Path, tokenizer: str) -> None:
    worked(train(*TWO_STEPS, f"data.files={text}", f"data.tokenizer={tokenizer}"))
    worked(call("sample", "tiny", "--prompt", "ba", "--tokens", "5"))


def test_train_without_held_out_text(text: Path) -> None:
    worked(train(*TWO_STEPS, f"data.files={text}", "data.validation=0", "data.test=0"))
    worked(call("report", "tiny"))
    refused(call("evaluate", "tiny"), "nothing-held-out", "--data")


def test_train_writes_event_files_for_tensorboard(runs: Path, text: Path) -> None:
    pytest.importorskip("tensorboard")
    worked(train(*TWO_STEPS, f"data.files={text}", "training.loggers=[tensorboard]"))
    assert list((runs / "tiny" / "tensorboard").iterdir())


def test_what_the_demo_does() -> None:
    evaluation = ("data.context=128", "evaluation.tokens=500", "evaluation.stride=128", "evaluation.batch=128")
    run = glasshouse.train("demo-lm", *SMALL, *TWO_STEPS, *evaluation, device="cpu")
    assert run.facts["status"] == "done"
    assert run.facts["recipe"] == "demo-lm"
    assert run.folder.report_file.exists()
    assert str(run.sample("The state of", tokens=5)[0]).startswith("The state of")


# What is done with a run.


def test_resume_of_a_finished_run_says_so(run: Path) -> None:
    before = weights(run)
    outcome = worked(resume())
    assert "has taken all its 8 steps already" in outcome.err
    assert weights(run) == before


def test_resume_goes_on(run: Path, finished: Path) -> None:
    shutil.rmtree(checkpoints(run)[-1])
    outcome = worked(resume())
    assert "step 8/8" in outcome.err
    assert weights(run) == weights(finished)


def test_runs(run: Path) -> None:
    shown = worked(call("runs")).out
    assert re.search(r"tiny\s+done\s+8\s", shown)


def test_runs_without_any(runs: Path) -> None:
    assert "glasshouse demo" in worked(call("runs")).out


def test_evaluate(run: Path) -> None:
    shown = worked(call("evaluate", "tiny")).out
    for words in ("validation", "test", "perplexity", "bits per byte"):
        assert words in shown


def test_evaluate_json_agrees_with_the_record(run: Path) -> None:
    metrics = json.loads(worked(call("evaluate", "tiny", "--json", "--device", "cpu")).out)
    recorded = json.loads((run / "run.json").read_text())["outcome"]
    assert set(metrics) == {"validation", "test"}
    for split, values in metrics.items():
        assert values["loss"] == pytest.approx(recorded[split]["loss"], rel=1e-6)


def test_evaluate_data(run: Path) -> None:
    Path("other.txt").write_text(some_text(200, seed=3))
    metrics = json.loads(worked(call("evaluate", "tiny", "--data", "other.txt", "--json")).out)
    assert metrics["other.txt"]["bytes"] == Path("other.txt").stat().st_size
    assert "other.txt" in worked(call("evaluate", "tiny", "--data", "other.txt")).out


def test_evaluate_finds_a_run_by_its_folder(finished: Path) -> None:
    worked(call("evaluate", str(finished)))


def test_sample(run: Path) -> None:
    outcome = worked(call("sample", "tiny", "--prompt", "ba", "--tokens", "8"))
    assert outcome.out.startswith("ba")
    assert len(outcome.out) > 3
    assert outcome.err == ""


def test_sample_with_every_option(run: Path) -> None:
    options = "--tokens 12 --temperature 0.7 --top-k 40 --top-p 0.9 --min-p 0.01 --repetition-penalty 1.2 --seed 7"
    more = ("--stop", "zzz", "--stop", "qqq", "--count", "3", "--device", "cpu", "--prompt", "ba")
    shown = worked(call("sample", "tiny", *options.split(), *more)).out
    assert shown.count("ba") >= 3


def test_sample_is_the_same_for_the_same_seed_only(run: Path) -> None:
    texts = [worked(call("sample", "tiny", "--tokens", "30", "--seed", seed)).out for seed in ("1", "1", "2")]
    assert texts[0] == texts[1] != texts[2]


def test_sample_greedily_does_not_depend_on_the_seed(run: Path) -> None:
    texts = [worked(call("sample", "tiny", "--temperature", "0", "--seed", seed)).out for seed in ("1", "2")]
    assert texts[0] == texts[1]


def test_sample_ends_before_a_stop_string(run: Path) -> None:
    whole = worked(call("sample", "tiny", "--tokens", "40", "--prompt", "ba")).out.rstrip("\n")
    stop = whole[10:12]
    cut = worked(call("sample", "tiny", "--tokens", "40", "--prompt", "ba", "--stop", stop)).out.rstrip("\n")
    assert cut == "ba" + whole[2:].split(stop)[0]


def test_sample_beyond_the_context(run: Path) -> None:
    worked(call("sample", "tiny", "--prompt", "ba " * 50, "--tokens", "40"))


def test_report(run: Path) -> None:
    (run / "report.html").unlink()
    outcome = worked(call("report", "tiny"))
    assert outcome.out.strip() == str(run / "report.html")
    assert "tiny" in (run / "report.html").read_text()


def test_report_of_a_run_that_has_only_begun(run: Path) -> None:
    shutil.rmtree(run / "checkpoints")
    (run / "metrics.jsonl").unlink()
    facts = {"format": 1, "glasshouse": "0.1.0", "recipe": "language-model", "status": "new"}
    (run / "run.json").write_text(json.dumps(facts))
    worked(call("report", "tiny"))
    assert "tiny" in worked(call("runs")).out


# Tokenizers.


@pytest.mark.parametrize("kind", ["byte-pair", "words", "characters"])
def test_tokenizer_train_and_show(text: Path, kind: str) -> None:
    shown = worked(call("tokenizer", "train", str(text), "--vocabulary", "300", "--kind", kind, "--output", "out.json"))
    assert shown.out.startswith("out.json: ")
    assert json.loads(Path("out.json").read_text())["version"] == "1.0"
    cut = worked(call("tokenizer", "show", "out.json", "--text", "ba be"))
    assert re.search(r"\d+ tokens, 5 characters, 5 bytes", cut.out)


def test_tokenizer_train_with_every_option() -> None:
    for name, seed in (("a.jsonl", 1), ("b.jsonl", 2)):
        Path(name).write_text(json.dumps({"body": some_text(seed=seed)}) + "\n")
    options = "--vocabulary 320 --output gpt4.json --kind byte-pair --pattern gpt-4 --field body"
    assert "320 tokens" in worked(call("tokenizer", "train", "a.jsonl", "b.jsonl", *options.split())).out
    worked(call("tokenizer", "show", "gpt4.json", "--text", "ba 123"))


def test_tokenizer_show_of_a_run(run: Path) -> None:
    assert "tokens" in worked(call("tokenizer", "show", str(run), "--text", "état 雪 [bold]")).out


def test_train_with_a_tokenizer_file(runs: Path, text: Path) -> None:
    worked(call("tokenizer", "train", str(text), "--vocabulary", "310", "--output", "mine.json"))
    worked(train(*TWO_STEPS, f"data.files={text}", "data.tokenizer_file=mine.json"))
    assert len(json.loads((runs / "tiny" / "tokenizer.json").read_text())["model"]["vocab"]) == 310


# Data sets.


def test_data() -> None:
    shown = worked(call("data")).out
    for name in ("state-of-the-union", "shakespeare", "wikitext-2"):
        assert name in shown


def test_data_show() -> None:
    shown = worked(call("data", "show", "state-of-the-union")).out
    for words in ("American Presidency Project", "public domain", "train", "validation", "test"):
        assert words in shown


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with nothing in it, and no folder of data sets beside it."""
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GLASSHOUSE_DATA", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that a server on this machine gives out; the program is told to fetch from there."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

    folder = tmp_path / "mirror"
    (folder / "shakespeare").mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("GLASSHOUSE_MIRROR", f"http://127.0.0.1:{server.server_port}/")
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_data_get(mirror: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    original = Path(os.environ.get("GLASSHOUSE_DATA", "")) / "shakespeare" / "input.txt"
    if not os.environ.get("GLASSHOUSE_DATA") or not original.exists():
        pytest.skip("needs shakespeare/input.txt in the folder that GLASSHOUSE_DATA names")
    shutil.copy(original, mirror / "shakespeare" / "input.txt")
    monkeypatch.delenv("GLASSHOUSE_DATA")
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    assert "no: glasshouse data get shakespeare" in worked(call("data")).out
    got = Path(worked(call("data", "get", "shakespeare")).out.strip())
    assert got.read_bytes() == original.read_bytes()
    assert files_in(tmp_path / "cache") == [got]
    (mirror / "shakespeare" / "input.txt").unlink()
    worked(call("data", "get", "shakespeare"))
    assert "no: glasshouse data get shakespeare" not in worked(call("data")).out
    assert "First Citizen" in worked(call("data", "show", "shakespeare")).out


def test_data_get_refuses_a_wrong_checksum(mirror: Path, empty_cache: Path) -> None:
    (mirror / "shakespeare" / "input.txt").write_text("To be or not")
    refused(call("data", "get", "shakespeare"), "wrong-checksum", "SHA-256", "86c4e6aa9db7", "shakespeare/input.txt")
    assert files_in(empty_cache) == []


def test_data_get_of_a_file_that_the_server_lacks(mirror: Path, empty_cache: Path) -> None:
    refused(call("data", "get", "shakespeare"), "fetch-failed", "shakespeare/input.txt")
    assert files_in(empty_cache) == []


def test_data_get_from_a_dead_server(mirror: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The discard port: nothing listens there.
    monkeypatch.setenv("GLASSHOUSE_MIRROR", "http://127.0.0.1:9")
    refused(call("data", "get", "shakespeare"), "fetch-failed", "http://127.0.0.1:9/")
    assert files_in(empty_cache) == []


@pytest.mark.parametrize("address", ["not-an-address", "http://["])
def test_data_get_from_a_mirror_that_is_no_address(empty_cache: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("GLASSHOUSE_MIRROR", address)
    refused(call("data", "get", "shakespeare"), "fetch-failed", address)
    assert files_in(empty_cache) == []


def test_data_get_of_what_ships_with_the_package() -> None:
    refused(call("data", "get", "state-of-the-union"), "nothing-to-fetch")


def test_a_data_set_that_is_not_here_says_how_to_get_it(runs: Path, empty_cache: Path) -> None:
    remedy = "glasshouse data get shakespeare"
    refused(call("data", "show", "shakespeare"), "data-set-missing", remedy)
    refused(train(*TWO_STEPS, "data.source=shakespeare"), "data-set-missing", remedy)
    assert folders(runs) == []


# The machine.


def test_doctor() -> None:
    shown = worked(call("doctor", "--device", "cpu")).out
    for words in ("cores", "memory", "torch", "fp32", "bf16", "FLOP"):
        assert words in shown


def test_doctor_with_a_recipe(text: Path) -> None:
    shown = worked(call("doctor", "language-model", *SMALL, f"data.files={text}", "--device", "cpu")).out
    for words in ("fp32", "parameters", "FLOPs", "memory", "time"):
        assert words in shown


def test_names_may_be_given_through_the_environment(tmp_path: Path, finished: Path) -> None:
    done = finish(start("runs", env=environment(GLASSHOUSE_RUNS=str(finished.parent))))
    assert "tiny" in worked(done).out


def test_a_classifier_from_rows_to_answers(tmp_path: Path) -> None:
    rows = [f"{label}\t{label}a {label}b {number}" for label in ("ba", "do") for number in range(40)]
    (tmp_path / "mine.tsv").write_text("\n".join(rows))
    sizes = ("model.width=16", "model.layers=1", "model.heads=2", "training.epochs=4", "training.precision=fp32")
    fields = (f"data.files={tmp_path / 'mine.tsv'}", "training.threads=1", "evaluation.every=10")
    out = worked(call("train", "classifier", *fields, *sizes, "--name", "rows", "--device", "cpu")).out
    assert "accuracy" in out
    assert "majority class" in out
    assert 'glasshouse classify rows "' in out
    assert "ba" in worked(call("classify", "rows", "baa bab 7", "--device", "cpu")).out
    found = json.loads(worked(call("classify", "rows", "baa", "dob", "--json", "--device", "cpu")).out)
    assert [set(each) for each in found] == [{"ba", "do"}, {"ba", "do"}]
    assert "accuracy" in worked(call("evaluate", "rows", "--device", "cpu")).out
    assert "accuracy" in worked(call("runs")).out
    refused(call("sample", "rows"), "not-a-language-model")


def test_batch_norm_in_parts_is_refused(text: Path) -> None:
    changes = ("model.norm=batch", "training.gradient_accumulation=2", "training.steps=2")
    refused(train(f"data.files={text}", *changes), "lacks-capability", "training.gradient_accumulation=2")
