"""Clients that others wrote: schemathesis against the description of the API, and lm-eval on a local task."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import glasshouse
from glasshouse.generation.engine import prompt_scores
from glasshouse.runs.run import Run
from tests import needs
from tests.serving.conftest import serving

pytestmark = pytest.mark.slow

TASK = """
task: cats
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{data}"}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{text}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{label}}}}"
target_delimiter: ""
metric_list:
  - {{metric: acc}}
"""


def test_the_description_of_the_api_is_kept(language_model: Run) -> None:
    """Schemathesis sends what the description allows and what it forbids; no answer may be undocumented or an error 500."""
    needs.package("schemathesis")
    with serving({"small": language_model}, most_tokens=8) as address:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json", "--max-examples", "25"]
        # A body that the description allows may still be refused: a prompt may be too long for the context.
        options = ["--checks", "all", "--exclude-checks", "positive_data_acceptance", "--phases", "coverage,fuzzing"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "12 selected / 12 total" in done.stdout


def test_lm_eval_gives_the_score_of_our_own_log_probabilities(language_model: Run, tmp_path: Path) -> None:
    needs.package("lm_eval")
    rows = [
        {"text": text, "choices": [" the mat", " the log", " where"], "label": label}
        for text, label in (("the cat sat on", 0), ("the dog sat on", 1), ("who sat", 2), ("and the dog sat on", 1))
    ]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "cats.yaml").write_text(TASK.format(data=data))
    glasshouse.export(language_model.folder.path, "huggingface", tmp_path / "exported")
    with serving({"small": language_model}) as address:
        arguments = (
            f"model=small,base_url={address}/v1/completions,tokenizer={tmp_path / 'exported'},"
            "num_concurrent=2,max_retries=1,max_length=48"
        )
        command = [sys.executable, "-m", "lm_eval", "--model", "local-completions", "--model_args", arguments]
        options = ["--tasks", "cats", "--include_path", str(tmp_path), "--output_path", str(tmp_path / "out")]
        offline = dict.fromkeys(("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"), "1")
        done = subprocess.run(
            [*command, *options], capture_output=True, text=True, timeout=600, check=False, env={**os.environ, **offline}
        )
    assert done.returncode == 0, done.stderr[-3000:]
    [results] = list((tmp_path / "out").rglob("results*.json"))
    score = json.loads(results.read_text())["results"]["cats"]["acc,none"]
    right = 0
    for row in rows:
        values = []
        for choice in row["choices"]:
            before = len(language_model.new_completion(str(row["text"])).prompt_tokens)
            tokens = language_model.new_completion(str(row["text"]) + str(choice)).prompt_tokens
            [scores] = prompt_scores(language_model.model, [tokens])
            values.append(sum(each.log_probability for each in scores[before:] if each is not None))
        right += max(range(3), key=values.__getitem__) == row["label"]
    assert math.isclose(score, right / len(rows))
