"""What to try next with a run: commands that work as they stand, for a terminal and for the report."""

from glasshouse.runs.run import Run


def commands(run: Run) -> tuple[str, ...]:
    """Continue a text, measure, and train again with one part changed."""
    prompts = run.spec.evaluation.prompts
    prompt = f' --prompt "{prompts[0]}"' if prompts else ""
    position = "learned" if run.spec.model.position != "learned" else "rotary"
    return (
        f"glasshouse sample {run.name}{prompt}",
        f"glasshouse evaluate {run.name}",
        f"glasshouse train {run.folder.spec_file} model.position={position}",
    )
