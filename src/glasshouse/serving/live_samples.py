"""Samples of runs in training, for their live views: made from the newest checkpoint while somebody looks.

They are made in one thread, on the CPU, with a fixed seed. So they are the same again after a restart, and a run on a GPU is
not slowed down. Nothing is written.
"""

import threading
from pathlib import Path

import torch

from glasshouse.pages.live_content import LiveSample
from glasshouse.records import checkpoint, progress_bar
from glasshouse.records.run_folder import RunFolder
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError

# Samples of so many evaluations are shown, the newest first.
MOST_STEPS = 4
MOST_TOKENS = 40
# A checkpoint that cannot be sampled is not tried again more often than this.
MOST_FAILURES = 3
# A larger checkpoint would take the memory and the cores that the training needs.
MOST_BYTES = 400_000_000
NOTE = "Made with the weights of the newest checkpoints; temperature 0.8, top-p 0.95, seed 0."


class LiveSamples:
    """The samples of each run that was looked at. `read` returns at once; new samples appear in a later answer."""

    def __init__(self) -> None:
        self._made: dict[Path, list[LiveSample]] = {}
        self._notes: dict[Path, str] = {}
        # The step that was sampled or tried last, and how often trying it failed.
        self._tried: dict[Path, tuple[int, int]] = {}
        self._busy = threading.Lock()

    def read(self, path: Path) -> tuple[tuple[LiveSample, ...], str]:
        """The samples of a run so far, and a remark if there are none."""
        steps = checkpoint.steps(path / "checkpoints")
        tried, failures = self._tried.get(path, (0, 0))
        due = bool(steps) and (steps[-1] != tried or 0 < failures < MOST_FAILURES)
        if due and self._busy.acquire(blocking=False):
            self._tried[path] = (steps[-1], failures if steps[-1] == tried else 0)
            threading.Thread(target=self._make, args=(path, steps[-1]), daemon=True).start()
        return tuple(self._made.get(path, ())), self._notes.get(path, "")

    def _make(self, path: Path, step: int) -> None:
        try:
            folder = checkpoint.folder_of(path / "checkpoints", step)
            if sum(file.stat().st_size for file in folder.iterdir()) > MOST_BYTES:
                self._notes[path] = f"The model is large: sample it with glasshouse sample {path.name}."
                return
            torch.set_num_threads(1)
            with progress_bar.quiet():
                run = Run(RunFolder(path), device="cpu", at_step=step)
                if not run.continues_text:
                    return
                settings = run.spec.evaluation
                prompts, tokens = settings.prompts[:2] or ("",), min(settings.sample_tokens, MOST_TOKENS)
                done = run.sample(prompts, tokens=tokens, temperature=0.8, top_p=0.95, seed=0)
            fresh = [LiveSample(step, each.prompt, each.text) for each in done]
            older = [sample for sample in self._made.get(path, []) if sample.step != step]
            kept = sorted({sample.step for sample in older}, reverse=True)[: MOST_STEPS - 1]
            self._made[path] = [*fresh, *(sample for sample in older if sample.step in kept)]
            self._notes[path] = NOTE
        except (GlasshouseError, OSError, RuntimeError, ValueError, KeyError):
            # The checkpoint was deleted while it was read, or the run is damaged. It is tried again, and then the next one.
            self._tried[path] = (step, self._tried[path][1] + 1)
        else:
            self._tried[path] = (step, 0)
        finally:
            self._busy.release()
