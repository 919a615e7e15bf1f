"""Scaling studies on disk that were planned by hand: one size, and no runs."""

from pathlib import Path

from glasshouse.records import atomic_files
from glasshouse.runs import resolve_spec
from glasshouse.scaling import scale_study
from glasshouse.scaling.scale_study import ScaleStudy, SizeRuns
from glasshouse.specs import spec_files


def write_study(
    folder: Path, *overrides: str, recipe: str = "characters", data: str | None = "same", metric: str = "validation.loss"
) -> ScaleStudy:
    """Write a study of a recipe with overrides; `data` is the fingerprint of its data."""
    spec = spec_files.to_toml(resolve_spec.spec_of(recipe, *overrides))
    facts = {} if data is None else {"data": data}
    size = SizeRuns("1x16", 1e15, spec, {"all": 100}, 1000, 10, 1e15, 1.0, facts)
    study = ScaleStudy(folder, (recipe, *overrides), metric, (0, 1), 1000, (size,), 1.0, ())
    folder.mkdir(parents=True)
    atomic_files.write_json(folder / scale_study.FILE, scale_study.to_json(study))
    return study
