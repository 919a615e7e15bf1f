"""Scaling studies on disk that were planned by hand: one size, and no runs."""

from pathlib import Path

from glasshouse.records import atomic_files
from glasshouse.runs import resolve_spec
from glasshouse.scaling import compute_optimal, scale_study
from glasshouse.scaling.scale_study import ScaleStudy, SizeRuns
from glasshouse.specs import spec_files
from tests.studies.example_studies import PLAN

# A recipe whose study trains in seconds.
TINY = (
    "characters",
    "data.vocabulary=64",
    "data.context=16",
    "model.width=16",
    "model.layers=1",
    "model.heads=1",
    "training.batch=4",
    "training.threads=1",
    "training.precision=fp32",
)
# Options of a plan of so small models.
TINY_PLAN = {"most_epochs": 1e6, "sizes": 4, "name": "tiny", "device": "cpu", "tokens_per_parameter": 1.0}


def write_text(path: Path) -> Path:
    """A text to train on."""
    path.write_text("".join(f"{number} green bottles hang on the wall. " for number in range(200)))
    return path


def write_study(
    folder: Path, *overrides: str, recipe: str = "characters", data: str | None = "same", metric: str = "validation.loss"
) -> ScaleStudy:
    """Write a study of a recipe with overrides; `data` is the fingerprint of its data."""
    spec = spec_files.to_toml(resolve_spec.spec_of(recipe, *overrides))
    facts = {"plan": PLAN} if data is None else {"plan": PLAN, "data": data}
    size = SizeRuns("1x16", 1e15, spec, dict.fromkeys(compute_optimal.COUNTS, 100), 1000, 10, 1e15, 1.0, facts)
    study = ScaleStudy((recipe, *overrides), metric, (0, 1), 1000, (size,), 1.0, (), path=folder)
    folder.mkdir(parents=True)
    atomic_files.write_json(folder / scale_study.FILE, scale_study.to_json(study))
    return study
