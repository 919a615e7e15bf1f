"""What to try next with a run: commands that work as they stand, for a terminal and for the report."""

import shlex

from glasshouse.runs.run import Run


def commands(run: Run) -> tuple[str, ...]:
    """Use it, measure it, and train again with one part changed."""
    if "origin" in run.facts:
        sampled = run.continues_text and run.folder.tokenizer_file.exists()
        return (*((f"glasshouse sample {run.name}",) if sampled else ()), f"glasshouse certify {run.name}")
    position = "learned" if run.spec.model.position != "learned" else "rotary"
    prompt = next(iter(run.spec.evaluation.prompts), "")
    use = run.task.example_command(run.name, _quoted(prompt) if prompt else "")
    return (
        *((use,) if use else ()),
        f"glasshouse evaluate {run.name}",
        f"glasshouse train {run.folder.spec_file} model.position={position}",
    )


def _quoted(text: str) -> str:
    """As one word of a shell; in double quotes, which every system's shell knows, where nothing in it means more there."""
    return shlex.quote(text) if set(text) & set('"$`\\!') else f'"{text}"'
