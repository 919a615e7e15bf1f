"""What the claims about verbal arithmetic share: pretraining, recipes that start from it or from scratch, rows of evidence.

The task: is `seven minus nine` negative, zero or positive? An encoder is pretrained as a masked language model on sentences
about numbers and then fine-tuned to classify expressions.
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
# Two thirds of the recipe's steps, to save time. The loss falls only a little after that.
STEPS = "training.steps=2000"
METRIC = "test.accuracy"
CLASSES = ("negative", "zero", "positive")
QUICK_FINETUNE = ("training.steps=4", "evaluation.every=2", "training.precision=fp32", "training.threads=1")
QUICK_PRETRAIN = (*QUICK_FINETUNE, "model.width=16", "model.layers=1")


def pretrain(bench: Bench) -> Run:
    """Pretrain one encoder as a masked language model on sentences about numbers."""
    return bench.train("pretraining", PRETRAIN, STEPS, quick=QUICK_PRETRAIN)


def first_run(runs: Sequence[Run], study: str) -> Run:
    """The first finished run of a study."""
    if not runs:
        raise RunError(
            "all-diverged",
            f"every run of the study {study!r} diverged, so nothing can start from it; lower its learning rate",
        )
    return runs[0]


def from_run(bench: Bench, name: str, run: Run) -> str:
    """Write a recipe for fine-tuning that starts from a run, and return its path. Studies name the arm after the recipe."""
    return _write_spec(bench, name, resolve_spec.spec_of(FINETUNE, f"training.start_from={run.folder.path}"))


def from_scratch(bench: Bench, name: str, run: Run) -> str:
    """As `from_run`, but without the run's weights. Its shape and tokenizer are used, so only the weights differ."""
    spec = resolve_spec.spec_of(FINETUNE, f"training.start_from={run.folder.path}")
    return _write_spec(bench, name, replace(spec, training=replace(spec.training, start_from="")))


def _write_spec(bench: Bench, name: str, spec: Spec) -> str:
    path = bench.folder / f"{name}.toml"
    atomic_files.write_text(path, spec_files.to_toml(spec))
    return str(path)


def accuracy_rows(bench: Bench, study: StudyResults, arms: Mapping[str, tuple[str, str]]) -> list[Evidence]:
    """The majority-class accuracy, then accuracy and recall by class of each arm.

    `arms` maps the name of an arm to (its name in the evidence, its reported accuracy).
    """
    rows = [
        Evidence(
            "always the most frequent class, % of the test file right",
            "69.4 (74.7 of the training file)",
            majority_accuracy(bench, study),
        )
    ]
    for arm, (name, reported) in arms.items():
        recalls = (bench.values(study, arm, f"test.recall.{label}") for label in CLASSES)
        recall_text = " / ".join(rules.format_mean(by_seed, ".0f", 100) for by_seed in recalls)
        accuracy = rules.format_with_seeds(bench.values(study, arm, METRIC), ".1f", 100)
        rows += [
            Evidence(f"test accuracy, %, {name}", reported, accuracy),
            Evidence(f"test recall of {' / '.join(CLASSES)}, %, {name}", "", recall_text),
        ]
    return rows


def majority_accuracy(bench: Bench, study: StudyResults) -> str:
    """The test accuracy of always answering the most frequent class, in per cent."""
    shares = bench.values(study, study.arms[0].name, "test.majority")
    return f"{100 * max(shares.values()):.1f}" if shares else "not measured"


def describe_scope(bench: Bench, study: StudyResults, pretraining: Run, pretrainings: str = "one pretraining") -> str:
    """The scope of a claim: the data, the encoder, and the steps and seeds of pretraining and fine-tuning."""
    arm = study.arms[0]
    examples = bench.values(study, arm.name, "test.examples")
    test_size = f" ({max(examples.values()):.0f} test expressions)" if examples else ""
    model, training = pretraining.spec.model, pretraining.spec.training
    return (
        f"generated verbal arithmetic{test_size}; encoder of width {model.width} with {model.layers} layers; "
        f"{pretrainings} of {training.steps:,} steps (the recipe has more), fine-tuning of {arm.steps:,} steps; "
        f"{len(arm.seeds)} seeds of fine-tuning"
    )
