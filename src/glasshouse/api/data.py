"""Public functions for data sets and tokenizers."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from glasshouse import tokenizers
from glasshouse.data import data_look, prepared_data
from glasshouse.data.data_look import DataLook
from glasshouse.data.sources import data_set_list
from glasshouse.data.sources.data_set_list import DataSet, Split
from glasshouse.data.sources.installed_python import CodePackage
from glasshouse.data.user_files.text import UserText
from glasshouse.records import progress_bar, run_folder
from glasshouse.runs import resolve_spec
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError, LimitExceeded
from glasshouse.specs.spec import DataSpec, Spec
from glasshouse.tokenizers import Tokenizer
from glasshouse.training import cost_plan, devices
from glasshouse.training.cost_plan import Plan
from glasshouse.training.job import Job

# The recipe for one's own data of each task.
RECIPES = {
    "next-token": "language-model",
    "classify": "classifier",
    "multi-label": "multi-label-classifier",
    "regress": "regressor",
    "tag": "tagger",
    "translate": "translator",
    "match": "scene-clip",
}


def data_sets() -> list[DataSet]:
    """All data sets, with their descriptions and whether they are available on this machine."""
    return data_set_list.all_data_sets()


def data_set(name: str) -> tuple[DataSet, list[Split]]:
    """A data set and the contents of its splits."""
    with progress_bar.bar(f"reading {name}") as bar:
        return data_set_list.find_data_set(name), data_set_list.describe_splits(name, bar)


def data_set_packages(name: str) -> list[CodePackage]:
    """The packages that a data set is made of, with their licences and splits. Most data sets are made of none."""
    return data_set_list.packages(name)


def get_data(name: str) -> list[Path]:
    """Fetch a data set into the cache, verify its checksums and return its files."""
    with progress_bar.bar(f"fetching {name}") as bar:
        return data_set_list.fetch(name, bar)


@dataclass(frozen=True)
class LookedAtData:
    """What was understood of one's own files, and what the recipe that fits them would do and cost with its defaults.

    `spec` is that of the run, and `truncated` the share of training texts that are longer than its context. `notes` are what
    training would say. If the recipe refuses the data, `refusal` is its error.
    """

    recipe: str
    spec: Spec
    look: DataLook | None = None
    truncated: float = 0.0
    notes: tuple[str, ...] = ()
    plan: Plan | None = None
    refusal: DataError | None = None


def look_at_data(
    files: Sequence[str], *overrides: str, recipe: str | None = None, cost: bool = True, device: str = "auto"
) -> LookedAtData:
    """Show what would be understood of one's own files. Trains nothing.

    Without a recipe, the one that fits the columns is used. `overrides` change fields of its spec, such as
    "data.label=stars". `cost` takes a few steps to predict the time of training.
    """
    if not files:
        raise DataError("there is no file to look at; name a file, a folder or a pattern")
    words = (f"data.files=[{','.join(files)}]", *overrides)
    if recipe is None:
        task = data_look.suggest_task(resolve_spec.spec_of("language-model", *words).data)
        recipe = RECIPES.get(task, "language-model")
    spec = resolve_spec.spec_of(recipe, *words)
    try:
        job = Job.prepare(spec, devices.pick(device), even_if_too_large=True)
    except LimitExceeded as refusal:
        return LookedAtData(recipe, spec, refusal=refusal)
    except DataError as refusal:
        return _refused(recipe, spec, refusal)
    with progress_bar.bar("looking") as bar:
        source = prepared_data.find_source(job.spec.data, job.task.columns)
        source.progress = lambda what, share: bar(share, what)
        look = data_look.look(job.spec.data, source, job.task.columns)
    shard = job.prepared.splits["train"]
    truncated = job.task.truncated(shard) / max(shard.documents, 1)
    plan = cost_plan.make(job, even_if_too_large=True) if cost else None
    return LookedAtData(recipe, job.spec, look, truncated, plan.notes if plan else job.notes, plan)


def _refused(recipe: str, spec: Spec, refusal: DataError) -> LookedAtData:
    """What can be seen of data that the recipe refuses."""
    columns = catalogue.find("task", spec.task).columns
    try:
        look = data_look.look(spec.data, prepared_data.find_source(spec.data, columns), columns)
    except DataError:
        try:
            return LookedAtData(recipe, spec, data_look.look_at_columns(spec.data), refusal=refusal)
        except DataError:
            return LookedAtData(recipe, spec, refusal=refusal)
    return LookedAtData(recipe, spec, look, notes=look.notes, refusal=refusal)


def train_tokenizer(
    files: Sequence[str],
    vocabulary: int = 8192,
    output: str | PathLike[str] = "tokenizer.json",
    kind: str = "byte-pair",
    pattern: str = "gpt-2",
    field: str = "text",
    limits: str = "",
) -> Tokenizer:
    """Train a tokenizer on the text of several files and save it as tokenizer.json.

    `limits` raises limits on what is read of the files, such as "line=100".
    """
    data = DataSpec(
        files=tuple(files),
        field=field,
        tokenizer=kind,
        vocabulary=vocabulary,
        pattern=pattern,
        validation=0.0,
        test=0.0,
        limits=(limits,) if limits else (),
    )
    with progress_bar.bar("training a tokenizer") as bar:
        source = UserText(data)
        source.progress = lambda what, share: bar(share, what)
        trained = prepared_data.Preparation(data, source, progress=lambda step, share: bar(share, step)).tokenizer()
    trained.save(output)
    return trained


def load_tokenizer(file: str | PathLike[str]) -> Tokenizer:
    """Load a tokenizer from a tokenizer.json file, or from a run by its name or folder."""
    path = Path(file)
    return tokenizers.load(path if path.is_file() or path.suffix else run_folder.find(file).tokenizer_file)
