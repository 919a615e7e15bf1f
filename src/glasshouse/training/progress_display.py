"""The display during training: a live line on a terminal, plain lines in a log file."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress, TaskID, TextColumn

from glasshouse.metrics.metric import LOSS, Metrics
from glasshouse.records import progress_bar


class Display:
    """Shows the latest metrics: updated in place on a terminal; elsewhere one line per evaluation."""

    def __init__(self, live: Progress, task: TaskID, steps: int, metrics: Metrics) -> None:
        self.live, self.task, self.steps, self.metrics = live, task, steps, metrics
        self.figures = {"loss": "", "validation": "", "speed": ""}

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        self.figures["loss"] = f"loss {LOSS.text(loss)}"
        self.figures["speed"] = f"{tokens_per_second:,.0f} tokens/s"
        self._show(step)

    def evaluation(self, step: int, metrics: dict[str, float]) -> None:
        if headlines := self.metrics.headlines(metrics):
            title, figure = headlines[0]
            self.figures["validation"] = f"validation {title} {figure}"
        self._show(step)
        if not progress_bar.is_terminal():
            parts = [self.figures["loss"], self.figures["validation"], self.figures["speed"]]
            progress_bar.say(f"step {step}/{self.steps}  " + "  ".join(part for part in parts if part))

    def _show(self, step: int) -> None:
        self.live.update(self.task, completed=step, **self.figures)  # type: ignore[arg-type]


@contextmanager
def show_progress(name: str, start: int, steps: int, metrics: Metrics) -> Iterator[Display]:
    """A display that is visible within the block."""
    columns = [TextColumn("{task.fields[" + field + "]}") for field in ("loss", "validation", "speed")]
    with progress_bar.display(*columns) as live:
        task = live.add_task(name, total=steps, completed=start, loss="", validation="", speed="")
        yield Display(live, task, steps, metrics)
