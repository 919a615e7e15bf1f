"""How a command line of the documentation is run in the workspace: what is added to make it quick, and which are not run."""

import re
from typing import Any

from glasshouse.specs.spec import Spec

from .collected import Line
from .parsing import Parsed, specs_of

# Lines that are only parsed and spec-checked, and why.
NOT_RUN = {
    r" --on slurm": "needs Slurm: `make test-slurm` submits jobs",
    r"^glasshouse (jobs|cancel)": "asks Slurm about jobs: `make test-slurm` does",
    r"^glasshouse runs (rename|delete)": "changes the runs folder: tests/cli/test_runs.py does",
    r"^glasshouse serve": "serves until it is stopped: tests/cli/test_serve.py does",
    r" --live": "serves until it is stopped: tests/serving/test_live_pages.py does",
    r"^glasshouse pages shared-folder": "needs a folder of runs: tests/cli/test_pages.py has one",
    r"^glasshouse data get": "downloads",
    r"^glasshouse import (hub:|demo-lm$)": "downloads, or names no file",
    r"^glasshouse import package:": "needs a package with weights: tests/interop/test_formats.py makes one",
    r"^glasshouse import stories260K.bin": "needs a published file: tests/interop/test_llama2c.py has it",
    r"\bremote\b": "asks a server on the network",
    r"\bgguf:": "needs a model with a long context: tests/llms/test_local_models.py does",
    r"^glasshouse demo$": "trains for minutes: tests/cli/test_demo.py runs it with fewer steps",
    r"^glasshouse claim ": "a trial takes hours: tests/claims/test_quick_runs.py runs every claim with --quick",
    r"^glasshouse claims (report|check)": "of a record: tests/claims/test_record.py and tests/test_documents.py do",
    r"^glasshouse scale (run|plan) ": "measures many runs: tests/cli/test_scale.py does with small ones",
    r"^glasshouse scale (fit|predict|transfer) (scaling-|wikitext)": "needs a finished scaling study",
    r"(training\.processes=|--processes )": "starts torchrun: tests/training/test_parallelism.py does",
    r" --multiverse": "trains more than a hundred runs: tests/studies does with small ones",
    r"compare --replicate ": "needs a registered study of the reader: tests/cli/test_compare.py has one",
    r"^glasshouse (resume|report|studies) studies/": "needs a study of the reader: tests/cli/test_studies.py has one",
    r"^glasshouse replay": "needs a run that failed: tests/cli/test_replay.py has one",
    r"^glasshouse compare shakespeare .*--match time": "measures step times: tests/cli/test_compare.py does",
    r"^glasshouse (patch stories|attribute .*--target)": "needs the tokens of a trained model: tests/cli/test_look.py",
    r"^glasshouse sweep .*(log:8|1\.\.6)": "trains more than thirty runs: tests/cli/test_sweep.py does with small ones",
    r"^glasshouse scale fit curves.csv": "needs training curves: tests/scaling/test_scaling_fit.py has some",
    r"^glasshouse scale check demo-lm$": "needs a scaling study of the run",
    r"^glasshouse evaluate demo-lm --metric entailment": "leaves the translator to the reader; another line names one",
    r"^glasshouse export mine": "needs a model of that width: tests/interop/architectures/test_distilbert.py exports one",
}
SPEED = {
    "training.steps": "2",
    "training.batch": "4",
    "training.threads": "1",
    "training.precision": "fp32",
    "evaluation.every": "2",
}
SIZE = {"model.width": "16", "model.heads": "2"}
# Options that make a command quick, if it has them.
OPTIONS = {
    "device": ("--device", "cpu"),
    "tokens": ("--tokens", "8"),
    "then_train": ("--then-train", "1"),
    "examples": ("--examples", "4"),
    "max_tokens": ("--max-tokens", "4"),
    "resamples": ("--resamples", "20"),
    "replicas": ("--replicas", "off"),
    "rounds": ("--rounds", "1"),
    "repeats": ("--repeats", "1"),
}


def reason_not_to_run(line: Line) -> str:
    """Why a line is not run; empty if it is."""
    return next((reason for pattern, reason in NOT_RUN.items() if re.search(pattern, line.text)), "")


def quick_words(line: Line, parsed: Parsed) -> list[str]:
    """The words of a line with fewer steps, a smaller model and less output."""
    words, parameters = list(line.words), parsed.parameters
    if parsed.command in (("train",), ("compare",), ("sweep",)):
        words = _with_changes(words, smaller(specs_of(parsed)[0]))
    for name, (option, value) in OPTIONS.items():
        if parameters.get(name) and (name == "resamples" or parsed.command[0] != "scale"):
            words += [option, value]
    if parsed.command in (("compare",), ("sweep",)):
        words += ["--max-seeds", "4"] if parameters.get("until_decided") else ["--seeds", "2"]
    return words


def smaller(spec: Spec) -> dict[str, str]:
    """Fields that make a training short: few steps, a small model unless it starts from another, a short text."""
    changes = dict(SPEED)
    if not spec.training.start_from:
        changes |= SIZE
    if spec.task == "next-token":
        changes["evaluation.tokens"] = "500"
        if not spec.data.files:
            changes["data.files"] = "mine.txt"
    return changes


def _with_changes(words: list[str], changes: dict[str, str]) -> list[str]:
    """The words with these fields, except those that the line varies."""
    fields: dict[str, Any] = {word.partition("=")[0]: word for word in words}
    varied = {field for field, word in fields.items() if "," in word or ".." in word}
    kept = [word for word in words if word.partition("=")[0] not in changes.keys() - varied]
    added = [f"{field}={value}" for field, value in changes.items() if field not in varied]
    first_option = next((index for index, word in enumerate(kept) if word.startswith("--")), len(kept))
    return [*kept[:first_option], *added, *kept[first_option:]]
