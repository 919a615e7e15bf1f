"""`glasshouse studies`: what has been compared."""

EXAMPLES = "Example: glasshouse studies"


def studies() -> None:
    """List the studies in the studies folder, oldest first."""
    import glasshouse
    from glasshouse.cli.tables import console, show
    from glasshouse.cli.verdicts import shortest
    from glasshouse.pages import study_text
    from glasshouse.specs.errors import GlasshouseError

    found = glasshouse.list_studies()
    if not found:
        begin = "glasshouse compare demo-lm model.position=learned,rotary"
        console.print(f"There are no studies in {glasshouse.studies_folder()} yet. Begin with: {begin}", soft_wrap=True)
        return
    rows = []
    for each in found:
        try:
            comparison, kind = each.comparison, each.design.question.kind
        except GlasshouseError as error:
            rows.append((each.name, "", "", "", "", "damaged", str(error)))
            continue
        done, wanted = study_text.runs(comparison)
        arms = str(len(comparison.arms))
        rows.append((each.name, kind, comparison.recipe, arms, f"{done}/{wanted}", comparison.status, shortest(comparison)))
    show(("study", "kind", "recipe", "arms", "runs", "status", "verdict"), rows, right=(3, 4))
