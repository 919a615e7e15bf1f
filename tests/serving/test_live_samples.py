"""Samples of a live view: those of the newest checkpoint, the same after a restart, and none of a damaged run."""

import shutil
import time
from pathlib import Path

from glasshouse.pages.live_content import LiveSample
from glasshouse.records import checkpoint
from glasshouse.runs.run import Run
from glasshouse.serving.live_samples import LiveSamples


def made(samples: LiveSamples, path: Path, step: int) -> tuple[LiveSample, ...]:
    for _ in range(600):
        found, _ = samples.read(path)
        if found and found[0].step == step:
            return found
        time.sleep(0.05)
    raise AssertionError("no sample was made")


def test_samples_follow_from_the_newest_checkpoint(language_model: Run, tmp_path: Path) -> None:
    path = tmp_path / "copy"
    shutil.copytree(language_model.folder.path, path)
    step = checkpoint.steps(path / "checkpoints")[-1]
    found = made(LiveSamples(), path, step)
    assert found == made(LiveSamples(), path, step)
    settings = language_model.spec.evaluation
    options = {"tokens": min(40, settings.sample_tokens), "temperature": 0.8, "top_p": 0.95, "seed": 0}
    expected = Run(path, "cpu", at_step=step).sample(settings.prompts[:2] or ("",), **options)
    assert [(sample.prompt, sample.text) for sample in found] == [(each.prompt, each.text) for each in expected]


def test_a_run_without_an_intact_checkpoint_has_no_samples(language_model: Run, tmp_path: Path) -> None:
    path = tmp_path / "copy"
    shutil.copytree(language_model.folder.path, path)
    samples = LiveSamples()
    for folder in (path / "checkpoints").iterdir():
        for file in folder.glob("*.safetensors"):
            file.write_bytes(b"half")
    for _ in range(20):
        assert samples.read(path)[0] == ()
        time.sleep(0.05)
    shutil.rmtree(path / "checkpoints")
    assert samples.read(path)[0] == ()
