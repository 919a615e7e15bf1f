"""Public functions for experiments with a trained run: features, few-shot, pictures, pruning, replays."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import glasshouse
from glasshouse.api.reports import train_folder
from glasshouse.generation import paraphrase
from glasshouse.generation.paraphrase import AugmentedFile
from glasshouse.generation.sampling_options import Sampling
from glasshouse.inspection import feature_classifiers, held_out_pictures, labelled_texts, pruning
from glasshouse.inspection import few_shot as few_shot_classification
from glasshouse.inspection.example_batches import held_out_batches
from glasshouse.inspection.feature_classifiers import Features
from glasshouse.inspection.few_shot import FewShot
from glasshouse.inspection.held_out_pictures import Description, Target
from glasshouse.inspection.pruning import Pruned
from glasshouse.pages import figures, inspection_figures, line_charts, retrieval_page
from glasshouse.records import atomic_files, progress_bar, run_folder
from glasshouse.records.user_paths import StrPath
from glasshouse.results.retrieval import Retrieval
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import run_of
from glasshouse.specs.errors import GlasshouseError, RunError
from glasshouse.training import nonfinite
from glasshouse.training.engine import load_weights
from glasshouse.training.job import Job
from glasshouse.training.nonfinite import ModuleOutput


def features(
    run: StrPath,
    data: str,
    pooling: str = "mean",
    limit: int = 0,
    field: str = "text",
    label: str = "label",
    device: str = "auto",
) -> Features:
    """Train a logistic regression and a linear SVM on the frozen features of a run, and evaluate both.

    `data` is the name of a labelled data set, or a file of labelled rows. `limit` rows of each split are used; 0 means all.
    """
    splits = {split: rows.sample(limit) for split, rows in labelled_texts.read(data, field, label).items()}
    with progress_bar.bar("computing features") as bar:
        return feature_classifiers.train_and_evaluate(run_of(run, device), splits, pooling, bar)


def few_shot(
    run: StrPath,
    data: str,
    shots: Sequence[int] = (0, 1, 2, 4, 8),
    examples: int = 200,
    draws: int = 3,
    template: str | None = None,
    calibrate: bool = False,
    output: StrPath | None = None,
    seed: int = 0,
    field: str = "text",
    label: str = "label",
    device: str = "auto",
) -> FewShot:
    """Classify held-out texts with a language model, from labelled examples in its context and without training.

    `output` is the file for a figure of accuracy over the number of shots, .svg or .png.
    """
    figures.check_path(output)
    splits = labelled_texts.read(data, field, label)
    with progress_bar.bar("classifying") as bar:
        options = (shots, examples, draws, template or few_shot_classification.TEMPLATE, calibrate, seed, bar)
        result = few_shot_classification.measure(run_of(run, device), splits, *options)
    if output:
        points = {float(accuracy.shots): (accuracy.mean, accuracy.low, accuracy.high) for accuracy in result.by_shots}
        chart = line_charts.settings_chart({"": points}, "examples in the context", "accuracy")
        chart = line_charts.with_baseline(chart, "most frequent class", result.majority)
        figures.draw({"": chart}, Path(output), 6.4, 4.0)
    return result


def augment(
    run: StrPath,
    file: StrPath,
    output: StrPath,
    copies: int = 2,
    share: float = 0.15,
    temperature: float = 1.0,
    seed: int = 0,
    field: str = "text",
    label: str = "label",
    device: str = "auto",
) -> AugmentedFile:
    """Write the rows of a file with `copies` paraphrases of each, in which a masked-token run has replaced some tokens."""
    sampling = Sampling(temperature=temperature, seed=seed)
    paraphrase.check_augmented(Path(file), Path(output))
    opened = run_of(run, device)
    labels, texts = paraphrase.read_rows(Path(file), field, label)
    with progress_bar.bar("paraphrasing") as bar:
        options = (opened.spec.data.context, copies, share, sampling)
        paraphrases = paraphrase.paraphrase(opened.model, opened.tokenizer, texts, *options, progress=bar)
    return paraphrase.write_augmented(Path(output), labels, texts, paraphrases)


def describe(
    run: StrPath, pictures: Sequence[Target] = (), output: StrPath | None = None, device: str = "auto"
) -> list[Description]:
    """What a run writes about pictures: files, numbers of held-out pictures, or arrays; by default the first six held-out.

    `output` is an image file that shows each picture with its description.
    """
    figures.check_path(output)
    with progress_bar.bar("describing") as bar:
        found = held_out_pictures.describe(run_of(run, device), pictures, bar)
    if output is not None:
        inspection_figures.captioned_pictures([(each.picture, each.text, each.caption) for each in found], Path(output))
    return found


def prompt(
    run: StrPath,
    prompts: Sequence[str] = (),
    target: Target = None,
    pictures: int = 6,
    output: StrPath | None = None,
    device: str = "auto",
) -> tuple[Retrieval, Path]:
    """Rank prompts by their similarity to a picture, retrieve pictures for each prompt, and write a page of the results.

    The target is a picture file, or the number of a held-out picture.
    """
    opened = run_of(run, device)
    path = Path(output) if output else opened.folder.path / "prompting.html"
    atomic_files.check_output(path, (".html",))
    with progress_bar.bar("comparing"):
        result = held_out_pictures.rank_and_retrieve(opened, target, prompts, pictures)
    atomic_files.write_text(path, retrieval_page.render(result))
    return result, path


def prune(
    run: StrPath,
    name: str,
    heads: float | None = None,
    weights: float | None = None,
    by: str = "gradient",
    then_train: int = 0,
    data: StrPath | None = None,
    examples: int = 128,
    device: str = "auto",
) -> tuple[Pruned, "glasshouse.Run"]:
    """Write a smaller run: without a share of the heads, or with a share of the weights set to zero.

    With `then_train`, the pruned run is stored as `name`-untrained, and `name` is trained from it for this number of steps.
    Returns what was removed, and the final run.
    """
    if (heads is None) == (weights is None):
        raise GlasshouseError("prune needs a share of heads or a share of weights; give one of the two")
    if then_train < 0:
        raise GlasshouseError("is below 0; choose a number of steps", "then_train", then_train)
    if then_train and weights is not None:
        raise GlasshouseError("training would fill the weights that were set to zero; prune heads, or leave out then_train")
    pruned_name = f"{name}-untrained" if then_train else name
    for wanted in {name, pruned_name}:
        run_folder.check_free(wanted)
    opened = run_of(run, device)
    with progress_bar.bar("pruning") as bar:
        if heads is not None:
            batches = held_out_batches(opened, data, examples)
            result = pruning.prune_heads(opened, batches, heads, by, pruned_name, bar)
        else:
            result = pruning.prune_weights(opened, weights or 0.0, pruned_name)
    if not then_train:
        return result, glasshouse.Run(result.run, device)
    changes = (f"training.steps={then_train}", "training.epochs=0", f"training.start_from={result.run.path}")
    spec = resolve_spec.run_spec(str(result.run.spec_file), *changes)
    trained = run_folder.create(spec, name, name, asked=resolve_spec.words_of(str(result.run.spec_file), *changes))
    return result, glasshouse.Run(train_folder(trained, str(opened.device)), device)


@dataclass(frozen=True)
class Replay:
    """A failed step, repeated: its number, its loss, the output of every module, and the first output that is not finite."""

    step: int
    loss: float
    outputs: list[ModuleOutput]
    culprit: ModuleOutput | None


def replay(run: StrPath, device: str = "cpu") -> Replay:
    """Repeat the step at which the loss or the gradient of a run became NaN or infinite."""
    opened = run_of(run, device)
    if not (opened.folder.failure / "failure.json").exists():
        raise RunError(f"{opened.name} has no failed step to replay: all its losses and gradients are finite")
    step, batch, weights = nonfinite.load(opened.folder.failure)
    engine = Job.prepare(opened.spec, opened.device, opened.tokenizer).engine()
    load_weights(engine.model, weights, str(opened.folder.failure))
    loss, outputs = nonfinite.examine(engine, step, batch)
    return Replay(step, loss, outputs, nonfinite.first_nonfinite(outputs))
