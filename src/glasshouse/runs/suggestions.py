"""Suggested next commands for a run, shown after training and in the report. They work without editing."""

import shlex

from glasshouse.runs.run import Run


def commands(run: Run) -> tuple[str, ...]:
    """Commands that use the run, evaluate it, and train it again with another positional encoding."""
    if "origin" in run.facts:
        can_sample = run.continues_text and run.folder.tokenizer_file.exists()
        return (*((f"glasshouse sample {run.name}",) if can_sample else ()), f"glasshouse certify {run.name}")
    position = "learned" if run.spec.model.position != "learned" else "rotary"
    prompt = next(iter(run.spec.evaluation.prompts), "")
    use = run.task.example_command(run.name, _quoted(prompt) if prompt else "")
    return (
        *((use,) if use else ()),
        f"glasshouse evaluate {run.name}",
        f"glasshouse train {run.folder.spec_file} model.position={position}",
    )


def _quoted(text: str) -> str:
    """The text as one shell word. Double quotes work in every shell, unless the text contains a special character."""
    return shlex.quote(text) if set(text) & set('"$`\\!') else f'"{text}"'
