"""Whether the losses of two scaling studies can be compared: the same metric, data and tokens."""

from os import PathLike
from pathlib import Path

from glasshouse.scaling import scale_study
from glasshouse.scaling.scale_study import FILE, ScaleStudy
from glasshouse.specs import spec_files
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import Spec
from glasshouse.studies import study_metric

TOKENIZER_FIELDS = ("tokenizer", "tokenizer_file", "vocabulary", "pattern")


def check_sources(a: str | PathLike[str], b: str | PathLike[str]) -> list[str]:
    """Refuse two sources, studies or CSV files, whose losses cannot be compared. The notes say what is not known."""
    studies = [scale_study.find(source) if scale_study.is_study_name(source) else None for source in (a, b)]
    paths = [Path(source) if study is None else study.path for source, study in zip((a, b), studies, strict=True)]
    if paths[0].resolve() == paths[1].resolve():
        raise DataError(f"both names mean {paths[0]}, and two studies are compared; name another one")
    first, second = studies
    if first is not None and second is not None:
        return check(first, second)
    files = " and ".join(path.name for path, study in zip(paths, studies, strict=True) if study is None)
    return [
        f"{files}: nothing tells whether a file has the same data, metric and tokenizer; losses of different ones are not "
        "comparable"
    ]


def check(a: ScaleStudy, b: ScaleStudy) -> list[str]:
    """Refuse studies whose losses cannot be compared. The notes say what differs without harm, or is not known."""
    specs = _spec(a), _spec(b)
    measured = [(spec.task, study.metric) for spec, study in zip(specs, (a, b), strict=True)]
    if measured[0] != measured[1]:
        first, second = (f"{metric} of the task {task}" for task, metric in measured)
        raise DataError(
            f"{a.name} measures {first}, and {b.name} measures {second}; plan both with the same task and data splits"
        )
    prints = [study.sizes[0].facts.get("data") for study in (a, b)]
    if None not in prints and prints[0] != prints[1]:
        raise DataError(
            f"the texts or splits differ ({a.name}: {_source(specs[0])}, {b.name}: {_source(specs[1])}), and so their "
            "losses are not comparable; plan both with the same data"
        )
    differing = [name for name in TOKENIZER_FIELDS if len({getattr(spec.data, name) for spec in specs}) > 1]
    if differing and study_metric.metric_declaration(a.metric, specs[0].task).per_token:
        first, second = (", ".join(f"data.{name}={getattr(spec.data, name)}" for name in differing) for spec in specs)
        raise DataError(
            f"the tokenizers differ ({a.name}: {first}; {b.name}: {second}), and losses for each token are not comparable "
            "between tokenizers; plan both with the same one"
        )
    notes = []
    if None in prints:
        notes.append("a study does not record its data, so that it is not known whether both have the same")
    contexts = [spec.data.context for spec in specs]
    if contexts[0] != contexts[1]:
        notes.append(
            f"the contexts differ ({contexts[0]} and {contexts[1]} tokens): predictions from more context have a lower loss"
        )
    return notes


def _spec(study: ScaleStudy) -> Spec:
    return spec_files.from_toml(study.sizes[0].spec, str(study.path / FILE))


def _source(spec: Spec) -> str:
    return spec.data.source or ", ".join(spec.data.files)
