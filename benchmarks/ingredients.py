"""What each ingredient of a fast run is worth: the recipe `shakespeare-small` with one change at a time, given equal time.

    python benchmarks/ingredients.py                       # all changes, 4 seeds: about 45 minutes on one core
    python benchmarks/ingredients.py --steps 200 --seeds 8
    python benchmarks/ingredients.py --smoke               # does it run? Two tiny arms, no figure

It writes a spec for each change to the studies folder and compares them by `glasshouse compare --match time`. That
times the steps of each arm alone, in rounds over all arms, and gives each arm the steps that take as long as those of the
recipe. After the timing, other programs on the machine change nothing. Steps run on one thread, whose time other programs
disturb least. The same command continues a study that was stopped.
"""

import argparse

import glasshouse
from glasshouse.pages import study_tables
from glasshouse.specs import recipes, spec_files

RECIPE = "shakespeare-small"
# Arm -> changes of the recipe, which has query-key norm, branches that begin at zero, SwiGLU, a tied output matrix and Muon.
ARMS: dict[str, tuple[str, ...]] = {
    "recipe": (),
    "no-query-key-norm": ("model.query_key_norm=false",),
    "no-zero-branches": ("model.zero_branches=false",),
    # As many weights as SwiGLU with its three matrices has.
    "relu-squared": ("model.activation=relu-squared", "model.feed_forward=516"),
    "adamw": ("training.optimiser=adamw",),
    "value-residual": ("model.value_residual=true",),
    "head-softcap": ("model.head.softcap=15",),
    "attention-softcap": ("model.attention_softcap=50",),
    "future-tokens": ("model.head.future_tokens=1",),
    "batch-warmup": ("training.batch_warmup=0.5",),
    "window-warmup": ("training.window_warmup=0.5",),
    "both-warmups": ("training.batch_warmup=0.5", "training.window_warmup=0.5"),
    "untied": ("model.tied=false",),
}
# One evaluation at the end. No baselines: the recipe is what the arms are compared with.
COMMON: tuple[str, ...] = (
    "training.threads=1",
    "training.precision=fp32",
    "evaluation.stride=64",
    "evaluation.baselines=false",
)
SMOKE = (
    *("data.source=state-of-the-union", "data.context=16", "model.width=16", "model.layers=1", "model.heads=2"),
    *("model.feed_forward=32", "training.batch=4", "evaluation.tokens=200", "evaluation.stride=16"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=120, help="steps of the recipe")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    steps, seeds, arms = options.steps, options.seeds, list(ARMS)
    changes: tuple[str, ...] = COMMON
    if options.smoke:
        steps, seeds, arms, changes = 20, 2, ["recipe", "both-warmups"], (*COMMON, *SMOKE)
    folder = glasshouse.studies.studies_folder() / "ingredients-specs"
    folder.mkdir(parents=True, exist_ok=True)
    lengths = (f"training.steps={steps}", f"evaluation.every={steps}")
    for name in arms:
        spec = recipes.spec(RECIPE, [*changes, *lengths, *ARMS[name]])
        (folder / f"{name}.toml").write_text(spec_files.to_toml(spec))
    study = glasshouse.compare(
        *(str(folder / f"{name}.toml") for name in arms), seeds=seeds, match="time", name=f"ingredients-{steps}"
    )
    print(study_tables.markdown(study.comparison))


if __name__ == "__main__":
    main()
