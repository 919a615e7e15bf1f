"""What the claims about verbal arithmetic share: pretraining, recipes that start from it or from nothing, rows of evidence.

Is `seven minus nine` negative, zero or positive? An encoder learns from sentences with gaps, then to tell the three classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Evidence
from glasshouse.pages.study_content import StudyResults
from glasshouse.records import atomic_files
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import Run
from glasshouse.specs import spec_files
from glasshouse.specs.errors import RunError
from glasshouse.specs.spec import Spec

PRETRAIN, FINETUNE = "arithmetic-pretrain", "arithmetic-finetune"
# Two thirds of the recipe's, to save time; the loss still falls a little after that.
STEPS = "training.steps=2000"
METRIC = "test.accuracy"
CLASSES = ("negative", "zero", "positive")
QUICK_FINETUNE = ("training.steps=4", "evaluation.every=2", "training.precision=fp32", "training.threads=1")
QUICK_PRETRAIN = (*QUICK_FINETUNE, "model.width=16", "model.layers=1")


def pretrained(bench: Bench) -> Run:
    """One encoder that has filled gaps in sentences about numbers."""
    return bench.train("pretraining", PRETRAIN, STEPS, quick=QUICK_PRETRAIN)


def first(runs: Sequence[Run], study: str) -> Run:
    """The first run of a study that came through."""
    if not runs:
        raise RunError(
            "all-diverged",
            f"every run of the study {study!r} diverged, so there is nothing to go on with; lower its learning rate",
        )
    return runs[0]


def from_run(bench: Bench, name: str, run: Run) -> str:
    """A recipe for fine-tuning that starts from a run; the name is what a study calls its arm."""
    return _written(bench, name, resolve_spec.spec_of(FINETUNE, f"training.start_from={run.folder.path}"))


def from_scratch(bench: Bench, name: str, run: Run) -> str:
    """The same without the run's weights, but with its shape and its tokenizer: the weights alone make the difference."""
    spec = resolve_spec.spec_of(FINETUNE, f"training.start_from={run.folder.path}")
    return _written(bench, name, replace(spec, training=replace(spec.training, start_from="")))


def _written(bench: Bench, name: str, spec: Spec) -> str:
    path = bench.folder / f"{name}.toml"
    atomic_files.write_text(path, spec_files.to_toml(spec))
    return str(path)


def rows(bench: Bench, comparison: StudyResults, arms: Mapping[str, tuple[str, str]]) -> list[Evidence]:
    """Of each arm, with its (name for people, reported accuracy): accuracy and recall by class, after what guessing has."""
    found = [
        Evidence(
            "always the commonest class, % of test right", "69.4 (74.7 of the training file)", majority(bench, comparison)
        )
    ]
    for arm, (name, reported) in arms.items():
        recalls = (bench.values(comparison, arm, f"test.recall.{each}") for each in CLASSES)
        told = " / ".join(rules.mean(values, ".0f", 100) for values in recalls)
        found += [
            Evidence(f"test accuracy, %, {name}", reported, rules.shown(bench.values(comparison, arm, METRIC), ".1f", 100)),
            Evidence(f"test recall of {' / '.join(CLASSES)}, %, {name}", "", told),
        ]
    return found


def majority(bench: Bench, comparison: StudyResults) -> str:
    """What always answering the commonest class would have, in per cent."""
    shares = bench.values(comparison, comparison.arms[0].name, "test.majority")
    return f"{100 * max(shares.values()):.1f}" if shares else "not measured"


def scope(bench: Bench, comparison: StudyResults, pretraining: Run, many: str = "one pretraining") -> str:
    """What was run."""
    first = comparison.arms[0]
    examples = bench.values(comparison, first.name, "test.examples")
    told = f" ({max(examples.values()):.0f} test expressions)" if examples else ""
    model, training = pretraining.spec.model, pretraining.spec.training
    return (
        f"verbal arithmetic, generated{told}; encoder of width {model.width} with {model.layers} layers; {many} of "
        f"{training.steps:,} steps (the recipe has more), fine-tuning of {first.steps:,} steps; {len(first.seeds)} seeds of "
        "fine-tuning"
    )
