"""A pulse of `glasshouse recover`: the estimate, the distribution, the samples, the file and the refusals."""

import json
from pathlib import Path

from glasshouse.specs.errors import GlasshouseError

from .program import call, refused, worked


def test_a_distribution_is_recovered_from_the_top_of_a_run(runs: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat. " * 40)
    fields = ("data.tokenizer=characters", "data.vocabulary=64", "data.context=24", "model.width=16", "model.layers=1")
    speed = ("model.heads=2", "training.steps=2", "training.batch=4", "training.threads=1", "training.precision=fp32")
    worked(call("train", "language-model", f"data.files={text}", *fields, *speed, "--name", "tiny", "--device", "cpu"))
    asked = ("recover", "tiny", "--prompt", "the c", "--top", "2", "--device", "cpu")
    shown = worked(call(*asked, "--decimals", "4", "--estimate")).out
    assert "shows 2 log-probabilities after the bias, exact to 5e-05" in shown
    assert "method ratio" in shown
    assert "largest error" not in shown
    output = tmp_path / "all.json"
    shown = worked(call(*asked, "--top-p", "0.9", "--count", "3", "--output", str(output))).out
    assert "largest error against the log-probabilities of the run" in shown
    assert "sampled: " in shown
    tokens = json.loads(output.read_text())["tokens"]
    assert [row["token"] for row in tokens] == list(range(len(tokens)))
    refused(call(*asked, "--method", "forced"), GlasshouseError)
    refused(call("recover", "missing", "--prompt", "x"), GlasshouseError)
