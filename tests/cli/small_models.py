"""A language model that trains in a second, for tests of the commands that ask one."""

from pathlib import Path

from .program import call, worked


def train_tiny(folder: Path) -> None:
    """Train the run `tiny`, and name it `small` in llms.toml of the folder."""
    text = folder / "text.txt"
    text.write_text("User: the cat sat on the mat.\nAssistant: and then? " * 40)
    fields = ("data.tokenizer=characters", "data.vocabulary=64", "data.context=48", "model.width=16", "model.layers=1")
    speed = ("model.heads=2", "training.steps=2", "training.batch=4", "training.threads=1", "training.precision=fp32")
    worked(call("train", "language-model", f"data.files={text}", *fields, *speed, "--name", "tiny", "--device", "cpu"))
    (folder / "llms.toml").write_text('[models.small]\nmodel = "run:tiny"\n')
