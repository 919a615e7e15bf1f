"""A request to stop, as a file: the training loop saves and stops, and a resumed run forgets the request."""

import threading
import time
from pathlib import Path

import pytest

import glasshouse
from glasshouse.records import checkpoint, stop_request
from glasshouse.specs.errors import Interrupted

FIELDS = ("data.tokenizer=characters", "data.vocabulary=64", "data.context=16", "model.width=16", "model.layers=1")
SPEED = ("model.heads=2", "training.batch=4", "training.threads=1", "training.precision=fp32", "evaluation.every=100000")


def test_a_run_that_is_asked_to_stop_saves_and_can_be_resumed(runs: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat. " * 60)
    run, ended = runs / "a", threading.Event()

    def ask() -> None:
        while not ended.is_set() and not (run / "metrics.jsonl").exists():
            time.sleep(0.01)
        stop_request.make(run)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        with pytest.raises(Interrupted):
            glasshouse.train(
                "language-model", f"data.files={text}", *FIELDS, *SPEED, "training.steps=100000", name="a", device="cpu"
            )
    finally:
        ended.set()
        asking.join()
    assert not stop_request.is_made(run)
    [step] = checkpoint.steps(run / "checkpoints")
    assert 0 < step < 100000
    assert glasshouse.open_run("a").folder.status() == "interrupted"
