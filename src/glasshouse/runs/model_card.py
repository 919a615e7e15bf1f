"""A model card in Markdown: what a run is, its data, figures and limits, and the command that made it. Evaluates nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from glasshouse.baselines.baseline_results import FEWEST_ITEMS
from glasshouse.data.sources import data_set_list
from glasshouse.formatting import count, duration, flops
from glasshouse.metrics.metric import Metric
from glasshouse.records import item_values
from glasshouse.records.status import Status
from glasshouse.runs import suggestions
from glasshouse.runs.run import Run
from glasshouse.specs import spec_files
from glasshouse.specs.spec import Spec
from glasshouse.verdicts.estimates import from_units
from glasshouse.verdicts.mean_intervals import binomial_interval

FILE = "README.md"  # in an exported directory
SETTINGS = "spec.toml"  # where a reader puts the settings; a file of this name is taken as it is
# Fields of the model that tell a reader what it is.
SHAPE = ("kind", "layers", "width", "heads", "attention", "position", "norm", "activation")


def markdown(run: Run) -> str:
    """The card of a run. It has the header that Hugging Face reads, with the task as a tag."""
    sections = {
        "Model": _model(run),
        "Data": _data(run),
        "Training": _training(run),
        "Figures": _figures(run),
        "Limits": _limits(run),
        # A card is given away, the texts of the data are not.
        "Use": ["```", *suggestions.commands(run, from_data=False)[:2], "```"],
        "Reproduce": _reproduce(run),
    }
    header = ["---", "tags:", "- glasshouse", f"- {run.spec.task}", "---", "", f"# {run.name}"]
    parts = [header, *([f"## {title}", "", *lines] for title, lines in sections.items())]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _model(run: Run) -> list[str]:
    spec, parameters = run.spec, sum(run.facts.get("plan", {}).get("parameters", {}).values())
    of_size = f" of {count(parameters)} parameters" if parameters else ""
    origin = f" It was imported from {run.facts['origin']}." if "origin" in run.facts else ""
    lines = [f"A model of kind `{spec.model.kind}`{of_size} for the task `{spec.task}`, made with Glasshouse.{origin}", ""]
    shape = [(name, getattr(spec.model, name)) for name in SHAPE]
    rows = [*shape, ("context", f"{spec.data.context} tokens"), ("tokenizer", spec.data.tokenizer)]
    if labels := run.facts.get("labels"):
        rows.append(("classes", ", ".join(labels)))
    return [*lines, *_table(("", ""), [(name, str(value)) for name, value in rows])]


def _data(run: Run) -> list[str]:
    data = run.spec.data
    if data.source:
        found = data_set_list.find_data_set(data.source)
        return [f"`{data.source}`: {found.about}.", "", f"- origin: {found.origin}", f"- licence: {found.licence}"]
    if data.files:
        names = ", ".join(f"`{Path(file).name}`" for file in data.files)
        return [f"Files of the author: {names}.", "", "- licence: not known to Glasshouse; ask the author"]
    return ["The run has no data of its own; see where it was imported from. The licence of the data is not known."]


def _training(run: Run) -> list[str]:
    facts, training = run.facts, run.spec.training
    plan, outcome, machine = (facts.get(name, {}) for name in ("plan", "outcome", "machine"))
    rows = [("recipe", str(facts.get("recipe", ""))), ("status", str(run.folder.status())), ("seed", str(training.seed))]
    if plan:
        rows += [
            ("steps", f"{plan['steps']:,}"),
            ("tokens", count(plan["tokens"])),
            ("compute", flops(plan["flops"])),
            ("number format", str(plan.get("precision", ""))),
        ]
    if "seconds" in outcome:
        rows.append(("time", duration(outcome["seconds"])))
    if machine:
        rows.append(("device", f"{machine.get('device', '')}, {machine.get('processor', '')}"))
    if training.start_from:
        rows.append(("started from", _without_folders(run.spec).training.start_from))
    return _table(("", ""), rows)


def _figures(run: Run) -> list[str]:
    if not run.final_metrics:
        return ["The run has no final evaluation."]
    columns, rows = run.task.metrics.table(run.final_metrics)
    lines = _table(columns, rows)
    intervals = [line for split in run.final_metrics for line in _intervals(run, split)]
    if intervals:
        lines += ["", "95 % intervals over the items of a split, for this one model:", "", *intervals]
    if results := run.baselines:
        table = results.section(run.task.metrics)
        lines += ["", "Beside simple baselines on the same split:", "", *_table(table.columns, table.rows)]
    return lines


def _intervals(run: Run, split: str) -> Iterator[str]:
    for name, values in item_values.read(run.folder, split).items():
        if name in run.task.metrics and name in run.final_metrics[split] and len(values) >= FEWEST_ITEMS:
            metric: Metric = run.task.metrics[name]
            low, high = _interval(np.asarray(values, float))
            yield f"- {split} {metric.title}: {metric.text(low)} to {metric.text(high)} ({len(values):,} items)"


def _interval(values: np.ndarray) -> tuple[float, float]:
    if np.isin(values, (0.0, 1.0)).all():
        return binomial_interval(float(values.mean()), len(values))
    return from_units(values.tolist()).interval()


def _limits(run: Run) -> list[str]:
    spec = run.spec
    lines = [
        f"- A text of more than {spec.data.context} tokens is cut, or read in parts.",
        "- The figures are of one seed. Another seed gives other figures; `glasshouse compare` measures how much they vary.",
        "- The figures hold for texts like those of the data. Nothing was measured on others.",
        "- It was not examined for bias, for safety, or for texts of its training data that it repeats.",
    ]
    if run.facts.get("labels"):
        lines.append("- It knows no other classes than those above, and chooses among them for any text.")
    if (status := run.folder.status()) not in (Status.DONE, Status.IMPORTED):
        lines.insert(0, f"- Its training is not complete: it is {status}.")
    return lines


def _reproduce(run: Run) -> list[str]:
    """The command that trains the same spec, and all settings."""
    lines, shown = [], _without_folders(run.spec)
    if "origin" not in run.facts:
        beside = f", beside `{shown.data.tokenizer_file}` of the run" if shown.data.tokenizer_file else ""
        lines = [f"The command, with the settings below in a file `{SETTINGS}`{beside}:"]
        lines += ["", "```", f"glasshouse train {SETTINGS}", "```", ""]
    text = spec_files.to_toml(shown).strip()
    return [*lines, "<details><summary>All settings</summary>", "", "```toml", text, "```", "", "</details>"]


def _without_folders(spec: Spec) -> Spec:
    """The spec with the names of files alone. The folders of the author are of no use to others."""
    data, start = spec.data, spec.training.start_from
    names: dict[str, Any] = {
        name: tuple(Path(file).name for file in getattr(data, name)) for name in ("files", "validation_files", "test_files")
    }
    start = Path(start).name if Path(start).is_absolute() else start
    tokenizer = Path(data.tokenizer_file).name
    training = replace(spec.training, start_from=start)
    return replace(spec, data=replace(data, tokenizer_file=tokenizer, adapt=(), **names), training=training)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    escaped = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return lines + [f"| {' | '.join(cells)} |" for cells in escaped]
