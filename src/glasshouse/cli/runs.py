"""`glasshouse runs`: what has been trained."""

EXAMPLES = "Example: glasshouse runs"


def runs() -> None:
    """List the runs in the runs folder, oldest first."""
    from glasshouse.cli.tables import console, show
    from glasshouse.records import metric_log, run_folder
    from glasshouse.specs.errors import GlasshouseError

    found = run_folder.every()
    if not found:
        console.print(f"There are no runs in {run_folder.root()} yet. Begin with: glasshouse demo", soft_wrap=True)
        return
    rows = []
    for run in found:
        try:
            facts, data = run.facts(), run.tables().get("data", {})
        except GlasshouseError as error:
            rows.append((run.name, "damaged", "", "", str(error)))
            continue
        logged = metric_log.read(run.metrics_file)
        steps = f"{int(logged[-1]['step']):,}" if logged else "0"
        text = data.get("source") or ", ".join(name.rsplit("/", 1)[-1] for name in data.get("files", ()))
        figures = ", ".join(f"{title} {figure}" for title, figure in facts.get("headline", {}).get("validation", ()))
        rows.append((run.name, run.status(), steps, figures, text or str(facts.get("origin", ""))))
    show(("run", "status", "steps", "validation", "text"), rows, right=(2,))
