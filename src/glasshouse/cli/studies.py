"""`glasshouse studies`: list the studies."""

EXAMPLES = "Example: glasshouse studies"


def studies() -> None:
    """List the studies in the studies folder, oldest first, and then the scaling studies."""
    import glasshouse
    from glasshouse.cli.study_output import summary
    from glasshouse.cli.tables import console, show
    from glasshouse.pages import study_text
    from glasshouse.specs.errors import GlasshouseError

    saved, scaling = glasshouse.list_studies(), glasshouse.list_scale_studies()
    if not saved and not scaling:
        example = "glasshouse compare demo-lm model.position=learned,rotary"
        console.print(f"There are no studies in {glasshouse.studies_folder()} yet. Begin with: {example}", soft_wrap=True)
        return
    rows = []
    for study in saved:
        try:
            comparison, kind = study.comparison, study.design.question.kind
        except GlasshouseError as error:
            rows.append((study.name, "", "", "", "", "damaged", str(error)))
            continue
        done, planned = study_text.run_counts(comparison)
        arms = str(len(comparison.arms))
        rows.append((study.name, kind, comparison.recipe, arms, f"{done}/{planned}", comparison.status, summary(comparison)))
    for name in scaling:
        try:
            found = glasshouse.open_scale_study(name)
        except GlasshouseError as error:
            rows.append((name, "scaling", "", "", "", "damaged", str(error)))
            continue
        done, planned = found.ended(), len(found.sizes) * len(found.seeds)
        budgets = f"budgets: {', '.join(f'{budget:.3g}' for budget in found.budgets)} FLOPs"
        status = "done" if done == planned else "unfinished"
        rows.append((name, "scaling", found.words[0], "", f"{done}/{planned}", status, budgets))
    show(("study", "kind", "recipe", "arms", "runs", "status", "verdict"), rows, right=(3, 4))
