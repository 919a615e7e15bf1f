"""What to try next with a run: commands that work as they stand, for a terminal and for the report."""

from glasshouse.runs.run import Run


def commands(run: Run) -> tuple[str, ...]:
    """Use it, measure it, and train again with one part changed."""
    if "origin" in run.facts:
        sampled = run.continues_text and run.folder.tokenizer_file.exists()
        return (*((f"glasshouse sample {run.name}",) if sampled else ()), f"glasshouse certify {run.name}")
    prompts = run.spec.evaluation.prompts
    prompt = f' --prompt "{prompts[0]}"' if prompts else ""
    position = "learned" if run.spec.model.position != "learned" else "rotary"
    if not run.continues_text and run.spec.task != "classify":
        return (f"glasshouse evaluate {run.name}", f"glasshouse train {run.folder.spec_file} model.position={position}")
    use = f'classify {run.name} "Thank you all."' if run.spec.task == "classify" else f"sample {run.name}{prompt}"
    return (
        f"glasshouse {use}",
        f"glasshouse evaluate {run.name}",
        f"glasshouse train {run.folder.spec_file} model.position={position}",
    )
