"""Public functions that use a run: open it, sample, classify, translate, evaluate."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any, TextIO, cast

from glasshouse.api.run import Run
from glasshouse.data import text_files
from glasshouse.data.read_limits import ReadLimits
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.text_stream import Completion
from glasshouse.inspection import entailment_metric
from glasshouse.metrics.metric import Metrics
from glasshouse.records import atomic_files, progress_bar, run_folder, user_paths
from glasshouse.runs import seen_texts, text_predictions
from glasshouse.runs.run import Run as OpenRun
from glasshouse.runs.run import Translation, run_of
from glasshouse.runs.suggestions import commands
from glasshouse.runs.text_predictions import TextFile
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.specs.options import takes


def open_run(name: str | PathLike[str], device: str = "auto", dtype: str = "float32") -> Run:
    """Open a run by its name or path. `dtype` is the number format of the weights: "float32", "bfloat16" or "int8"."""
    return Run(name, device, dtype)


def list_runs() -> list[Run]:
    """Every run in the runs folder, oldest first."""
    return [Run(folder, device="cpu") for folder in run_folder.all_runs()]


def suggestions(run: Run) -> tuple[str, ...]:
    """Suggested next commands for a run. Each can be run without changes."""
    return commands(run)


def evaluate(
    run: str | PathLike[str],
    data: str | PathLike[str] | None = None,
    device: str = "auto",
    metric: str | None = None,
    judge: str | PathLike[str] | None = None,
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


def metrics_of(run: str | PathLike[str], metric: str | None = None) -> Metrics:
    """The metrics that `evaluate` reports for a run: their titles, formats and whether higher is better."""
    return entailment_metric.METRICS if metric else run_of(run, "cpu").task.metrics


@takes(Sampling)
def sample(
    run: str | PathLike[str], prompt: str | Sequence[str] = "", count: int = 1, device: str = "auto", **how: Any
) -> list[Completion]:
    """Continue one or more prompts, `count` times each.

    `how` can also contain `tokens`, `stop`, and `regex` or `json_schema`, which the continuation must match.
    """
    return run_of(run, device).sample(prompt, count, **how)


def classify(
    run: str | PathLike[str], texts: Sequence[str], device: str = "auto", second: Sequence[str] | None = None
) -> list[dict[str, float]]:
    """The probability of each class for each text, the most likely class first. `second`: the second texts of pairs."""
    return run_of(run, device).classify(texts, second)


def predict(
    run: str | PathLike[str], texts: Sequence[str], device: str = "auto", second: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """What a run predicts for each text: its class, its classes, its number, or the tags of its words.

    The keys are "label" and "probabilities", "labels" and "probabilities", "value", or "words", "tags" and "probabilities".
    `second` are the second texts of pairs.
    """
    return run_of(run, device).predict(texts, second)


def predict_file(
    run: str | PathLike[str],
    file: str | PathLike[str] | Iterable[str],
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
    return text_predictions.predict_each(opened, _texts_of(opened, file, field, second_field, limits))


def write_predictions(
    run: str | PathLike[str],
    file: str | PathLike[str] | Iterable[str],
    output: str | PathLike[str] | TextIO,
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
    texts = _texts_of(opened, file, field, second_field, limits)
    total, predicted = texts.count if isinstance(texts, TextFile) else 0, 0

    def counted(predictions: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        nonlocal predicted
        for number, prediction in enumerate(predictions, 1):
            predicted += not text_predictions.is_missing(prediction)
            if total and number % text_predictions.CHUNK == 0:
                show(number / total)
            yield prediction

    with ExitStack() as stack:
        show: Callable[..., None] = stack.enter_context(progress_bar.bar("classifying")) if path else lambda share: None
        target = output
        if path:
            temporary = stack.enter_context(atomic_files.replacing(path))
            target = stack.enter_context(open(temporary, "w", encoding="utf-8", newline=""))
        predictions = text_predictions.predict_each(opened, texts)
        for line in text_predictions.lines(opened, texts, counted(predictions), form):
            cast(TextIO, target).write(line)
    return predicted


def _texts_of(
    run: OpenRun, file: str | PathLike[str] | Iterable[str], field: str | None, second_field: str | None, limits: str
) -> Iterable[tuple[str, str]]:
    if not isinstance(file, str | PathLike):
        if run.reads_pairs:
            raise DataError(
                f"{run.name} reads pairs of texts, and a stream has one text a line; use a table with two columns, "
                "such as a .csv file"
            )
        if field or second_field:
            raise DataError("a stream of texts has no columns; leave out --field and --second-field, or give a file")
        return ((text, "") for text in file)
    with progress_bar.bar("reading"):
        texts = TextFile(run, user_paths.expand(file), field, second_field, [limits])
    for remark in texts.remarks:
        progress_bar.say(remark)
    return texts


def translate(run: str | PathLike[str], texts: Sequence[str], device: str = "auto", **how: Any) -> list[list[Translation]]:
    """The translations of each text, best first. An empty text has none.

    `how` can contain beams, length_penalty, n_best and word_by_word; the defaults are the evaluation settings of the run.
    """
    with progress_bar.bar("translating") as bar:
        translations = iter(run_of(run, device).translate([text for text in texts if text.strip()], progress=bar, **how))
    return [next(translations) if text.strip() else [] for text in texts]


def translate_file(
    run: str | PathLike[str], file: str | PathLike[str], device: str = "auto", limits: str = "", **how: Any
) -> list[list[Translation]]:
    """The translations of each line of a text file, best first. `limits` raises limits on what is read, as in "line=100"."""
    raised = ReadLimits.of([limits])
    rows = ((line.strip(),) for line in text_files.read_lines(Path(file), limits=raised))
    with progress_bar.bar("reading"):
        lines = [line for (line,) in raised.kept(rows, Path(file))]
    if not lines:
        raise GlasshouseError(f"{file} has no lines to translate; choose a file that contains text")
    return translate(run, lines, device, **how)


def write_lines(path: str | PathLike[str], lines: Sequence[str]) -> Path:
    """Write lines of text to a file atomically: the file is complete, or it does not exist."""
    atomic_files.write_text(Path(path), "\n".join(lines) + "\n")
    return Path(path)


def check_output(path: str | PathLike[str] | None, overwrite: bool = True) -> None:
    """Raise an error if this file cannot be written, so that a command fails before it starts its work.

    Without `overwrite`, a file that exists is refused too.
    """
    if path is not None:
        atomic_files.check_output(Path(path), overwrite=overwrite)
