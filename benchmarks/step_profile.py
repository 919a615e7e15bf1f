"""Where the time of a training step goes: matrix products, attention, the loss, norms, and what else there is.

    python benchmarks/step_profile.py shakespeare-small                       # a recipe as it ships
    python benchmarks/step_profile.py speech-lm model.norm=rms                # with changes
    python benchmarks/step_profile.py shakespeare-small --picture steps.svg   # a picture too
    python benchmarks/step_profile.py --smoke                                 # does it run? A few seconds, no figure

Several recipes, divided by `+`, stand below each other in table and picture. On a CPU the steps run on one thread, so that
no thread waits for another. On CUDA the times are those of kernels; for the rest of the step no kernel runs.
"""

import argparse
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

import glasshouse
from glasshouse.claims import step_profile
from glasshouse.claims.step_profile import ATTENTION, IDLE, LOSS, OPTIMISER, OTHER, PRODUCTS
from glasshouse.pages import figures
from glasshouse.records import machine
from glasshouse.specs import recipes
from glasshouse.training import compute_choice, cost_plan, devices
from glasshouse.training.job import Job

# The kinds of `profile_steps`, and finer ones of what is left.
GROUPS = {
    ATTENTION: (*step_profile.WORDS[ATTENTION], "cudnn::fusion"),
    **{kind: step_profile.WORDS[kind] for kind in (OPTIMISER, LOSS)},
    "rounding to 8 bits": ("abs_amax", "_transpose_kernel"),
    "norms": ("norm",),
    "activations": ("gelu", "silu", "relu", "swiglu", "activation", "threshold", "clamp", "sigmoid", "tanh"),
    "rotary positions": ("rotation", "rotary"),
    PRODUCTS: step_profile.WORDS[PRODUCTS],
}
COLOURS = ("#2f6f4f", "#c2703d", "#4a6fa5", "#8a5a83", "#b8a13a", "#6aa58b", "#d98c8c", "#1f3a4d", "#9aa8a0", "#e0e7e2")
SMOKE = ("demo-lm", "model.width=16", "model.layers=1", "model.heads=2", "data.vocabulary=300", "training.batch=2")


def step_parts(job: Job, steps: int) -> dict[str, float]:
    """Milliseconds of a step for each kind of computation."""
    choice = compute_choice.choose(job)
    milliseconds = cost_plan.step_seconds(job.engine(choice.precision), job.device) * 1e3
    shares = step_profile.profile_steps(job.engine(choice.precision), GROUPS, steps)
    return {kind: share * milliseconds for kind, share in shares.items() if share}


def draw(profiles: dict[str, dict[str, float]], path: Path) -> None:
    """A bar for each recipe, of the milliseconds of its groups."""
    figure = figures.new_figure(8.0, 1.6 + 0.6 * len(profiles), path)
    panel = figure.add_subplot()
    groups = [group for group in (*GROUPS, OTHER, IDLE) if any(group in parts for parts in profiles.values())]
    colours = dict(zip((*GROUPS, OTHER, IDLE), COLOURS, strict=True))
    names = [name.replace(" ", "\n", 1) for name in profiles]
    profiles = dict(zip(names, profiles.values(), strict=True))
    starts = dict.fromkeys(names, 0.0)
    for group in sorted(groups, key=lambda group: -max(parts.get(group, 0.0) for parts in profiles.values())):
        widths = [profiles[name].get(group, 0.0) for name in names]
        panel.barh(names, widths, left=[starts[name] for name in names], color=colours[group], label=group, height=0.6)
        starts = {name: starts[name] + width for name, width in zip(names, widths, strict=True)}
    panel.invert_yaxis()
    panel.set_xlabel("milliseconds of a step", color=figures.SOFT)
    figures.style_panel(panel)
    panel.grid(visible=False, axis="y")
    panel.legend(frameon=False, labelcolor=figures.INK, ncols=4, loc="lower center", bbox_to_anchor=(0.45, 1.0), fontsize=8)
    figures.save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", help="a recipe with changes, more after a +; by default the demo")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=20, help="steps that are measured")
    parser.add_argument("--picture", type=Path, help="an .svg or .png file to draw")
    parser.add_argument("--smoke", action="store_true", help="a tiny model for a few seconds: does it run?")
    options = parser.parse_args()
    words = list(SMOKE) if options.smoke else options.recipes or [recipes.DEMO]
    device = devices.pick(options.device)
    if device.type == "cpu":
        torch.set_num_threads(1)
    print(", ".join(f"{name} {value}" for name, value in machine.describe(str(device)).items()))
    profiles = {}
    for text in " ".join(words).split("+"):
        recipe, *overrides = text.split()
        try:
            job = Job.prepare(glasshouse.runs.spec_of(recipe, *overrides), device)
        except glasshouse.GlasshouseError as error:
            parser.error(str(error))
        profiles[" ".join((recipe, *overrides))] = step_parts(job, 2 if options.smoke else options.steps)
    table = Table(title=f"milliseconds of a step on {device}")
    for column in ("", *profiles):
        table.add_column(column, justify="right")
    for group in (*GROUPS, OTHER, IDLE):
        if any(group in parts for parts in profiles.values()):
            table.add_row(group, *(f"{parts.get(group, 0.0):.3f}" for parts in profiles.values()))
    table.add_row("sum", *(f"{sum(parts.values()):.3f}" for parts in profiles.values()))
    Console(width=150).print(table)
    if options.picture:
        draw(profiles, options.picture)


if __name__ == "__main__":
    main()
