"""Generates the diagrams of `docs/architecture.md`: the steps of a command from the top down, and the files they write.

An SVG file in a page cannot know the colours of the page. So the background is transparent, all text stands in filled boxes,
and the lines are grey: both are legible on a light and on a dark page. Every file name in a box is checked.
"""

from dataclasses import dataclass
from html import escape
from pathlib import Path

import glasshouse

SOURCE = Path(glasshouse.__file__).parent
WIDTH, MARGIN, GAP, HEIGHT = 580, 52, 20, 58
STEP_WIDTH, FILE_LEFT, FILE_WIDTH = 324, 414, 164
STEP_FILL, FILE_FILL, LINE = "#1c6b62", "#6b4f1d", "#8b979c"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
CODE = "ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', monospace"


@dataclass(frozen=True)
class Step:
    """One box: what happens, the file behind it (under `src/glasshouse`), and the files that it writes."""

    title: str
    file: str
    writes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Loop:
    """The steps from `first` to `last` are repeated."""

    first: int
    last: int
    label: str


TRAIN = (
    Step("Read the command line", "cli/training.py"),
    Step("Call the public function", "api/training.py"),
    Step("Recipe + overrides = spec", "runs/resolve_spec.py"),
    Step("Create the run folder", "records/run_folder.py", ("spec.toml", "run.json")),
    Step("Find a checkpoint to resume", "training/resume.py"),
    Step("Check the model, tokenize data", "training/job.py", ("tokenizer.json",)),
    Step("Predict cost, choose precision", "training/cost_plan.py", ("run.json: plan",)),
    Step("Build model and optimiser", "training/engine.py"),
    Step("Batch, loss, gradient, update", "training/engine.py"),
    Step("Log; evaluate; checkpoint", "training/loop.py", ("metrics.jsonl", "checkpoints/")),
    Step("Evaluate the best weights", "training/run_progress.py", ("run.json: outcome",)),
    Step("Write the report", "api/reports.py", ("report.html",)),
    Step("Print metrics, suggest commands", "cli/run_output.py"),
)
COMPARE = (
    Step("Read the command line", "cli/studies.py"),
    Step("Call the public function", "api/studies.py"),
    Step("Words = arms, seeds, question", "studies/arms.py"),
    Step("Check the arms, pick the metric", "studies/study_planning.py"),
    Step("Match the arms", "studies/matching.py"),
    Step("Choose seeds per group", "training/replica_count.py"),
    Step("Create the study folder", "studies/study_folder.py", ("study.json",)),
    Step("Tune a field (with --tune)", "studies/tuning.py", ("ARM/tuning/",)),
    Step("Queue arms × seeds", "studies/run_queue.py"),
    Step("Train each group of runs", "training/loop.py", ("ARM/seed-N/",)),
    Step("Judge all arms", "verdicts/verdict.py"),
    Step("Write report and tables", "api/reports.py", ("report.html", "comparison.json")),
    Step("Print the verdicts", "cli/study_output.py"),
)


def train() -> str:
    """The diagram of `glasshouse train`."""
    return _diagram("The steps of glasshouse train", TRAIN, Loop(8, 9, "every step"))


def compare() -> str:
    """The diagram of `glasshouse compare`."""
    return _diagram("The steps of glasshouse compare", COMPARE, Loop(8, 10, "--until-decided"))


def _diagram(title: str, steps: tuple[Step, ...], loop: Loop) -> str:
    height = len(steps) * (HEIGHT + GAP) - GAP + 4
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>text {{ font-family: {FONT}; font-size: 16px; fill: #fff; }}",
        f".code {{ font-family: {CODE}; font-size: 14px; }}",
        f".line {{ stroke: {LINE}; stroke-width: 2; fill: none; }}</style>",
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L10 5 L0 10 z" fill="{LINE}"/></marker></defs>',
    ]
    for place, step in enumerate(steps):
        lines += _step(place, step, last=place == len(steps) - 1)
    return "\n".join([*lines, *_loop(loop), "</svg>"]) + "\n"


def _top(place: int) -> int:
    return 2 + place * (HEIGHT + GAP)


def _step(place: int, step: Step, last: bool) -> list[str]:
    if not (SOURCE / step.file).is_file():
        raise FileNotFoundError(f"the diagram names src/glasshouse/{step.file}, which does not exist")
    top, middle = _top(place), MARGIN + STEP_WIDTH // 2
    lines = [
        f'<rect x="{MARGIN}" y="{top}" width="{STEP_WIDTH}" height="{HEIGHT}" rx="8" fill="{STEP_FILL}"/>',
        f'<text x="{MARGIN + 14}" y="{top + 24}" font-weight="600">{escape(step.title)}</text>',
        f'<text x="{MARGIN + 14}" y="{top + 46}" class="code">{escape(step.file)}</text>',
    ]
    if not last:
        below = top + HEIGHT
        lines.append(f'<path class="line" d="M{middle} {below} V{below + GAP - 1}" marker-end="url(#arrow)"/>')
    if step.writes:
        lines.append(
            f'<path class="line" d="M{MARGIN + STEP_WIDTH} {top + HEIGHT // 2} H{FILE_LEFT - 1}" marker-end="url(#arrow)"/>'
        )
        size = (HEIGHT - 4 * (len(step.writes) - 1)) // max(len(step.writes), 2)
        start = top + (HEIGHT - size * len(step.writes) - 4 * (len(step.writes) - 1)) // 2
        for number, name in enumerate(step.writes):
            y = start + number * (size + 4)
            lines += [
                f'<rect x="{FILE_LEFT}" y="{y}" width="{FILE_WIDTH}" height="{size}" rx="4" fill="{FILE_FILL}"/>',
                f'<text x="{FILE_LEFT + 9}" y="{y + size / 2 + 5:g}" class="code">{escape(name)}</text>',
            ]
    return lines


def _loop(loop: Loop) -> list[str]:
    """An arrow back from the last repeated step to the first, and its label to the left."""
    first, last = _top(loop.first) + HEIGHT // 2, _top(loop.last) + HEIGHT // 2
    middle, length = (first + last) // 2, 9 * len(loop.label) + 12
    return [
        f'<path class="line" d="M{MARGIN} {last} H34 V{first} H{MARGIN - 1}" marker-end="url(#arrow)"/>',
        f'<g transform="rotate(-90 13 {middle})">',
        f'<rect x="{13 - length // 2}" y="{middle - 11}" width="{length}" height="22" rx="4" fill="#4a5459"/>',
        f'<text x="13" y="{middle + 5}" text-anchor="middle" class="code">{escape(loop.label)}</text></g>',
    ]
