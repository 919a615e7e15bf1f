"""`glasshouse runs`: what has been trained."""

EXAMPLES = "Example: glasshouse runs"


def runs() -> None:
    """List the runs in the runs folder, oldest first."""
    import glasshouse
    from glasshouse.cli.tables import console, show

    found = glasshouse.runs_overview()
    if not found:
        console.print(f"There are no runs in {glasshouse.runs_folder()} yet. Begin with: glasshouse demo", soft_wrap=True)
        return
    rows = []
    for run in found:
        figures = ", ".join(f"{title} {figure}" for title, figure in run.headline)
        rows.append((run.name, run.status, "" if run.error else f"{run.steps:,}", figures, run.error or run.data))
    show(("run", "status", "steps", "validation", "text"), rows, right=(2,))
