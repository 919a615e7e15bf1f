"""Public functions that use a run: open it, sample, classify, translate, evaluate, and write its report."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from glasshouse.data import text_files
from glasshouse.generation.text_stream import Completion
from glasshouse.inspection import entailment_metric, image_retrieval, picture_descriptions, run_report
from glasshouse.inspection.held_out_pictures import Target
from glasshouse.inspection.picture_descriptions import Description
from glasshouse.metrics.metric import Metrics
from glasshouse.pages import figures, inspection_figures, retrieval_page
from glasshouse.pages.retrieval_page import Retrieval
from glasshouse.records import atomic_files, progress_bar, run_folder
from glasshouse.runs import baseline_comparison
from glasshouse.runs.run import Run, Translation
from glasshouse.runs.suggestions import commands
from glasshouse.specs.errors import GlasshouseError
from glasshouse.studies import study_folder, study_results


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
    `examples` texts of a split are judged.
    """
    entailment_metric.check_options(metric, judge)
    with progress_bar.bar("evaluating") as bar:
        if judge is None:
            return Run(run, device).evaluate(data, bar)
        return entailment_metric.measure(Run(run, device), Run(judge, device), data, examples, bar)


def metrics_of(run: str | PathLike[str], metric: str | None = None) -> Metrics:
    """The metrics that `evaluate` reports for a run: their titles, formats and whether higher is better."""
    return entailment_metric.METRICS if metric else Run(run, device="cpu").task.metrics


def sample(
    run: str | PathLike[str], prompt: str | Sequence[str] = "", count: int = 1, device: str = "auto", **how: Any
) -> list[Completion]:
    """Continue one or more prompts, `count` times each.

    `how` can contain tokens, temperature, top_k, top_p, min_p, repetition_penalty, stop, seed, and regex or json_schema,
    which the continuation must match.
    """
    return Run(run, device).sample(prompt, count, **how)


def classify(
    run: str | PathLike[str], texts: Sequence[str], device: str = "auto", second: Sequence[str] | None = None
) -> list[dict[str, float]]:
    """The probability of each class for each text, the most likely class first. `second`: the second texts of pairs."""
    return Run(run, device).classify(texts, second)


def predict(
    run: str | PathLike[str], texts: Sequence[str], device: str = "auto", second: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """What a run predicts for each text: its class, its classes, its number, or the tags of its words.

    The keys are "label" and "probabilities", "labels" and "probabilities", "value", or "words", "tags" and "probabilities".
    `second` are the second texts of pairs.
    """
    return Run(run, device).predict(texts, second)


def translate(run: str | PathLike[str], texts: Sequence[str], device: str = "auto", **how: Any) -> list[list[Translation]]:
    """The translations of each text, best first. An empty text has none.

    `how` can contain beams, length_penalty, n_best and word_by_word; the defaults are the evaluation settings of the run.
    """
    with progress_bar.bar("translating") as bar:
        translations = iter(Run(run, device).translate([text for text in texts if text.strip()], progress=bar, **how))
    return [next(translations) if text.strip() else [] for text in texts]


def translate_file(
    run: str | PathLike[str], file: str | PathLike[str], device: str = "auto", **how: Any
) -> list[list[Translation]]:
    """The translations of each line of a text file, best first."""
    lines = [line.strip() for line in text_files.read_lines(Path(file))]
    if not lines:
        raise GlasshouseError("empty-file", f"{file} has no lines to translate; choose a file that contains text")
    return translate(run, lines, device, **how)


def write_lines(path: str | PathLike[str], lines: Sequence[str]) -> Path:
    """Write lines of text to a file atomically: the file is complete, or it does not exist."""
    atomic_files.write_text(Path(path), "\n".join(lines) + "\n")
    return Path(path)


def check_output(path: str | PathLike[str]) -> None:
    """Raise an error if this file cannot be written, so that a command fails before it starts its work."""
    atomic_files.check_output(Path(path))


def describe(
    run: str | PathLike[str],
    pictures: Sequence[Target] = (),
    output: str | PathLike[str] | None = None,
    device: str = "auto",
) -> list[Description]:
    """What a run writes about pictures: files, numbers of held-out pictures, or arrays; by default the first six held-out.

    `output` is an image file that shows each picture with its description.
    """
    if output is not None:
        figures.check_path(Path(output))
    with progress_bar.bar("describing") as bar:
        found = picture_descriptions.describe(Run(run, device), pictures, bar)
    if output is not None:
        inspection_figures.captioned_pictures([(each.picture, each.text, each.caption) for each in found], Path(output))
    return found


def prompt(
    run: str | PathLike[str],
    prompts: Sequence[str] = (),
    target: Target = None,
    pictures: int = 6,
    output: str | PathLike[str] | None = None,
    device: str = "auto",
) -> tuple[Retrieval, Path]:
    """Rank prompts by their similarity to a picture, retrieve pictures for each prompt, and write a page of the results.

    The target is a picture file, or the number of a held-out picture.
    """
    opened = Run(run, device)
    path = Path(output) if output else opened.folder.path / "prompting.html"
    retrieval_page.check_path(path)
    with progress_bar.bar("comparing"):
        result = image_retrieval.rank_and_retrieve(opened, target, prompts, pictures)
    if path.suffix == ".html":
        atomic_files.write_text(path, retrieval_page.render(result))
    else:
        retrieval_page.draw(result, path)
    return result, path


def report(name: str | PathLike[str], device: str = "auto") -> Path:
    """Write the report of a run or a study again, and return its path."""
    if study := study_folder.find_unambiguous(name):
        study_results.write(study)
        return study.report_file
    run = Run(name, device)
    baseline_comparison.ensure(run)
    return run_report.write(run)
