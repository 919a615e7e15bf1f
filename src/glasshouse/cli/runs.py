"""`glasshouse runs`: list the runs, compare two of them, rename and delete runs."""

import json
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

import glasshouse
from glasshouse.cli.options import argument, group, option
from glasshouse.cli.tables import console, show
from glasshouse.formatting import MISSING, number

Name = Annotated[str, argument("The name of a run in the runs folder.", "NAME")]


def runs(
    context: typer.Context,
    sort: Annotated[
        str | None,
        option(
            "Sort by name, status, steps, data, task, recipe, date, a metric (validation.loss) or a field of the spec "
            "(model.width); -FIELD sorts from the largest to the smallest; default: oldest first.",
            metavar="FIELD",
        ),
    ] = None,
    filters: Annotated[
        list[str] | None,
        option("Keep the runs with this value; also < and >. Repeatable.", "--filter", metavar="FIELD=VALUE"),
    ] = None,
) -> Iterator[object]:
    """List the runs, oldest first; `diff` compares two, `rename` and `delete` change the runs folder.

    Examples:
        glasshouse runs
        glasshouse runs --sort -steps --filter status=done --filter 'model.width>8'
        glasshouse runs --json
        glasshouse runs diff a b
    """
    if context.invoked_subcommand is not None:
        return
    from glasshouse.api import listings

    overviews = listings.runs_overview(sort, filters or ())
    names = ("name", "status", "date", "task", "recipe", "steps", "data", "metrics", "fields", "error")
    values = [{name: getattr(run, name) for name in names} for run in overviews]
    yield [{name: value for name, value in run.items() if value != ""} for run in values]
    if not overviews:
        reason = "with these values" if filters else "yet. Begin with: glasshouse demo"
        console.print(f"There are no runs in {listings.runs_folder()} {reason}")
        return
    rows = []
    for run in overviews:
        metrics = ", ".join(f"{title} {value}" for title, value in run.headline)
        rows.append((run.name, run.status, "" if run.error else f"{run.steps:,}", metrics, run.error or run.data))
    show(("run", "status", "steps", "validation", "data"), rows, right=(2,))


def diff(
    first: Annotated[str, argument("The name of a run or its folder.", "RUN")],
    second: Annotated[str, argument("The name of another run or its folder.", "RUN")],
) -> Iterator[object]:
    """Show the fields of the specs in which two runs differ, and their final metrics side by side.

    Examples:
        glasshouse runs diff a b
        glasshouse runs diff a b --json
    """
    from glasshouse.api import listings

    found = listings.run_differences(first, second)
    tables = {"fields": found.fields, "metrics": found.metrics}
    content = {name: {row[0]: list(row[1:]) for row in rows} for name, rows in tables.items()}
    yield {"runs": found.names, **content}
    if found.fields:
        show(("field", *found.names), [(name, _cell(one), _cell(other)) for name, one, other in found.fields])
    else:
        console.print("the specs are equal")
    if found.metrics:
        rows = [(name, _figure(one), _figure(other), _change(one, other)) for name, one, other in found.metrics]
        show(("metric", *found.names, "difference"), rows, right=(1, 2, 3))


def rename(old: Name, new: Annotated[str, argument("Its new name: letters, digits, '.', '_' and '-'.", "NEW")]) -> None:
    """Rename a run. A run that is being trained is refused.

    Examples:
        glasshouse runs rename small tiny
    """
    from glasshouse.api import listings

    console.print(f"{old} is now {new}: {listings.rename_run(old, new)}")


def delete(
    names: Annotated[list[str], argument("The names of runs in the runs folder.", "NAME...")],
    yes: Annotated[bool, option("Do not ask.", "--yes")] = False,
) -> None:
    """Delete runs with all their files, after a question. A run that is being trained is refused.

    Examples:
        glasshouse runs delete a b
        glasshouse runs delete c --yes
    """
    from glasshouse.api import listings

    def ask(found: list[str]) -> bool:
        if yes:
            return True
        if not sys.stdin.isatty():
            raise glasshouse.GlasshouseError(
                f"deleting {', '.join(found)} must be confirmed, and there is no terminal to ask on; add --yes"
            )
        return typer.confirm(f"Delete {', '.join(found)} from {listings.runs_folder()}? This cannot be undone.")

    deleted = listings.delete_runs(*names, confirm=ask)
    if not deleted:
        console.print("nothing was deleted")
        raise typer.Exit(1)
    console.print(f"deleted {', '.join(deleted)}")


def _cell(value: Any) -> str:
    return MISSING if value is None else value if isinstance(value, str) and value else json.dumps(value)


def _figure(value: float | None) -> str:
    return MISSING if value is None else number(value)


def _change(first: float | None, second: float | None) -> str:
    return MISSING if first is None or second is None else number(second - first, signed=True)


app = group(runs, diff, rename, delete)
