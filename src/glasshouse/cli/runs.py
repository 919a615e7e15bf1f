"""`glasshouse runs`: list the runs."""

EXAMPLES = "Example: glasshouse runs"


def runs() -> None:
    """List the runs in the runs folder, oldest first."""
    import glasshouse
    from glasshouse.cli.tables import console, show

    overviews = glasshouse.runs_overview()
    if not overviews:
        console.print(f"There are no runs in {glasshouse.runs_folder()} yet. Begin with: glasshouse demo", soft_wrap=True)
        return
    rows = []
    for run in overviews:
        metrics = ", ".join(f"{title} {value}" for title, value in run.headline)
        rows.append((run.name, run.status, "" if run.error else f"{run.steps:,}", metrics, run.error or run.data))
    show(("run", "status", "steps", "validation", "data"), rows, right=(2,))
