"""The run that `train` and `open_run` return, and public functions that use one: sample, classify, evaluate."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from glasshouse.data import text_files
from glasshouse.data.read_limits import ReadLimits
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.text_stream import Completion
from glasshouse.inspection import entailment_metric
from glasshouse.metrics.metric import Metrics
from glasshouse.records import atomic_files, progress_bar, run_folder
from glasshouse.records.atomic_files import check_output as check_output
from glasshouse.records.user_paths import StrPath
from glasshouse.runs import seen_texts, text_predictions
from glasshouse.runs.run import Run as OpenRun
from glasshouse.runs.run import Translation, run_of
from glasshouse.runs.suggestions import commands as commands
from glasshouse.runs.text_predictions import Texts
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.options import takes

if TYPE_CHECKING:
    from glasshouse.api import exchange, experiments, inspection, reports

# Module of `glasshouse.api` -> its functions that are methods of a run.
METHODS = {
    "inspection": "look explore lens attribute patch heads head_statistics layers pruning_curves gradients",
    "experiments": "features few_shot describe prompt prune replay",
    "exchange": "export certify",
    "reports": "report card",
}


class Run(OpenRun):
    """One trained (or partly trained) model and everything in its run folder.

    The weights are loaded when the first method needs them, and stay. A run stands wherever its name or its path may stand.

    - The model: `name`, `spec`, `model`, `tokenizer`, `task`, `vocabulary`, `end_tokens`, `saved_weights`, `model_step`.
    - Its training: `facts`, `metrics`, `final_metrics`, `final_step`, `baselines`, `replay`.
    - What it is for: `continues_text`, `reads_pairs`, `joins_pairs`, `whole_text_task`.
    - Use it: `sample`, `stream`, `new_completion`, `constraint`, `evaluate`, `item_values`, `predict`, `classify`,
      `translate`, `embed`, `describe`, `prompt`, `held_out_examples`, `source_of_file`.
    - Look inside: `look`, `explore`, `lens`, `attribute`, `patch`, `heads`, `head_statistics`, `layers`, `gradients`.
    - Change it: `prune`, `pruning_curves`. Experiment with it: `features`, `few_shot`.
    - Show it and take it out: `report`, `card`, `export`, `certify`.

    What tells of the model, its training and its use is defined in `runs/run.py`. The others are functions of
    `glasshouse.api`, whose first argument is the run.
    """

    if TYPE_CHECKING:
        look = inspection.look
        explore = inspection.explore
        lens = inspection.lens
        attribute = inspection.attribute
        patch = inspection.patch
        heads = inspection.heads
        head_statistics = inspection.head_statistics
        layers = inspection.layers
        pruning_curves = inspection.pruning_curves
        gradients = inspection.gradients
        features = experiments.features
        few_shot = experiments.few_shot
        describe = experiments.describe
        prompt = experiments.prompt
        export = exchange.export
        certify = exchange.certify
        report = reports.report
        card = reports.card
        replay = experiments.replay
        prune = experiments.prune

    def evaluate(
        self, data: StrPath | None = None, progress: Callable[[float], None] = lambda share: None, **judged: Any
    ) -> dict[str, dict[str, float]]:
        """The metrics on each held-out split, or on a file; with `metric` and `judge` as `glasshouse.evaluate` has them."""
        return evaluate(self, data, **judged) if judged else super().evaluate(data, progress)


class RunMethod:
    """A function of the public interface as a method. Its module is imported on first use: all of them take a second."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __get__(self, run: Run | None, owner: type[Run]) -> Any:
        return getattr(import_module(f"glasshouse.api.{self.module}"), self.name).__get__(run, owner)


for module, names in METHODS.items():
    for name in names.split():
        setattr(Run, name, RunMethod(module, name))


def open_run(name: StrPath, device: str = "auto", dtype: str = "float32") -> Run:
    """Open a run by its name or path. `dtype` is the number format of the weights: "float32", "bfloat16" or "int8"."""
    return Run(name, device, dtype)


def list_runs() -> list[Run]:
    """Every run in the runs folder, oldest first."""
    return [Run(folder, device="cpu") for folder in run_folder.all_runs()]


def evaluate(
    run: StrPath,
    data: StrPath | None = None,
    device: str = "auto",
    metric: str | None = None,
    judge: StrPath | None = None,
    examples: int = 500,
) -> dict[str, dict[str, float]]:
    """Compute the metrics of a run's task on each of its held-out splits, or on a file.

    With `metric="entailment"`, a second run, the `judge`, predicts whether a reference entails a translation; at most
    `examples` texts of a split are judged. The metrics of a file have the number of its texts, and how many of them the run
    saw in training ("texts_in_train") or validation ("texts_in_validation"), if its own data can still be read.
    """
    entailment_metric.check_options(metric, judge)
    opened = run_of(run, device)
    with progress_bar.bar("evaluating") as bar:
        if judge is None:
            metrics = opened.evaluate(data, bar)
        else:
            metrics = entailment_metric.measure(opened, run_of(judge, device), data, examples, bar)
        if data is not None:
            bar(1.0, "comparing with the training data")
            seen, warning = seen_texts.counts(opened, data)
            metrics = {name: {**values, **seen} for name, values in metrics.items()}
            if warning:
                progress_bar.say(warning)
    return metrics


def metrics_of(run: StrPath, metric: str | None = None) -> Metrics:
    """The metrics that `evaluate` reports for a run: their titles, formats and whether higher is better."""
    return entailment_metric.METRICS if metric else run_of(run, "cpu").task.metrics


@takes(Sampling)
def sample(
    run: StrPath,
    prompt: str | Sequence[str] = "",
    count: int = 1,
    device: str = "auto",
    tokens: int = 100,
    stop: str | Sequence[str] = (),
    regex: str | None = None,
    json_schema: Mapping[str, Any] | bool | StrPath | None = None,
    **how: Any,
) -> list[Completion]:
    """Continue one or more prompts, `count` times each. A continuation matches `regex`, or is valid under `json_schema`."""
    forms = {"regex": regex, "json_schema": json_schema}
    return run_of(run, device).sample(prompt, count, tokens=tokens, stop=stop, **forms, **how)


def classify(
    run: StrPath, texts: Sequence[str], device: str = "auto", second: Sequence[str] | None = None
) -> list[dict[str, float]]:
    """The probability of each class for each text, the most likely class first. `second`: the second texts of pairs."""
    return run_of(run, device).classify(texts, second)


def predict(
    run: StrPath, texts: Sequence[str], device: str = "auto", second: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """What a run predicts for each text: its class, its classes, its number, or the tags of its words.

    The keys are "label" and "probabilities", "labels" and "probabilities", "value", or "words", "tags" and "probabilities".
    `second` are the second texts of pairs.
    """
    return run_of(run, device).predict(texts, second)


def predict_file(
    run: StrPath,
    file: StrPath | Iterable[str],
    device: str = "auto",
    field: str | None = None,
    second_field: str | None = None,
    limits: str = "",
) -> Iterator[dict[str, Any]]:
    """What a run predicts for each text of a file, one after another: "text" and the keys of `predict`.

    The texts are the lines of a text file, a column of a table (.csv, .tsv, .jsonl, ...), or any iterable of texts. `field`
    and `second_field` are the columns of a table, by name or number; by default those of the run's own data. An empty text
    has no prediction. Memory does not grow with the file. `limits` raises limits on what is read, such as "line=100".
    """
    opened = run_of(run, device)
    return text_predictions.predict_each(opened, Texts(opened, file, field, second_field, limits))


def write_predictions(
    run: StrPath,
    file: StrPath | Iterable[str],
    output: StrPath | TextIO,
    device: str = "auto",
    field: str | None = None,
    second_field: str | None = None,
    form: str = text_predictions.CSV,
    limits: str = "",
) -> int:
    """Write what `predict_file` gives to a .csv or .jsonl file, or in this `form` to an open file.

    Returns how many texts have a prediction: an empty one has a row and none. The output is complete, or it does not exist.
    An open file gets each prediction as soon as it is made.
    """
    path = Path(output) if isinstance(output, str | PathLike) else None
    if path:
        form = path.suffix.lower()
        atomic_files.check_output(path, text_predictions.FORMATS)
        if isinstance(file, str | PathLike) and path.exists() and Path(file).exists() and path.samefile(file):
            raise GlasshouseError(f"{output} is the file that is read; choose another output")
    if form not in text_predictions.FORMATS:
        raise GlasshouseError(f"is unknown; choose {' or '.join(text_predictions.FORMATS)}", "form", form)
    opened = run_of(run, device)
    texts = Texts(opened, file, field, second_field, limits)
    if path is None:
        return text_predictions.write(opened, texts, cast(TextIO, output), form, lambda share: None)
    with (
        progress_bar.bar("classifying") as show,
        atomic_files.replacing(path) as temporary,
        open(temporary, "w", encoding="utf-8", newline="") as target,
    ):
        return text_predictions.write(opened, texts, target, form, show)


def translate(run: StrPath, texts: Sequence[str], device: str = "auto", **how: Any) -> list[list[Translation]]:
    """The translations of each text, best first. An empty text has none.

    `how` can contain beams, length_penalty, n_best and word_by_word; the defaults are the evaluation settings of the run.
    """
    with progress_bar.bar("translating") as bar:
        translations = iter(run_of(run, device).translate([text for text in texts if text.strip()], progress=bar, **how))
    return [next(translations) if text.strip() else [] for text in texts]


def translate_file(
    run: StrPath, file: StrPath, device: str = "auto", limits: str = "", **how: Any
) -> list[list[Translation]]:
    """The translations of each line of a text file, best first. `limits` raises limits on what is read, as in "line=100"."""
    raised = ReadLimits.of([limits])
    rows = ((line.strip(),) for line in text_files.read_lines(Path(file), limits=raised))
    with progress_bar.bar("reading"):
        lines = [line for (line,) in raised.kept(rows, Path(file))]
    if not lines:
        raise GlasshouseError(f"{file} has no lines to translate; choose a file that contains text")
    return translate(run, lines, device, **how)


def write_lines(path: StrPath, lines: Sequence[str]) -> Path:
    """Write lines of text to a file atomically: the file is complete, or it does not exist."""
    atomic_files.write_text(Path(path), "\n".join(lines) + "\n")
    return Path(path)
