"""The workbench: everything the commands do, as plain functions. `import glasshouse` offers these names."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from glasshouse import tokenizers
from glasshouse.certify import checks
from glasshouse.certify.checks import Check
from glasshouse.claims import trials
from glasshouse.data import prepared_data
from glasshouse.data.sources import data_set_list
from glasshouse.data.user_files.text import UserText
from glasshouse.generation import augmentation
from glasshouse.generation.augmentation import Augmented
from glasshouse.generation.paraphrase import Paraphrase, paraphrase
from glasshouse.generation.sampling import Sampling
from glasshouse.generation.text_stream import Completion
from glasshouse.inspection import entailment_metric, image_retrieval, labelled_texts, run_report
from glasshouse.inspection import feature_classifiers as feature_trial
from glasshouse.inspection import few_shot as few_shot_trial
from glasshouse.inspection.feature_classifiers import Features
from glasshouse.inspection.few_shot import FewShot
from glasshouse.interop import formats, imported_model
from glasshouse.pages import claims_page, figures
from glasshouse.pages import retrieval_page as prompting_page
from glasshouse.pages.claim_content import Case
from glasshouse.records import atomic_files, machine, progress_bar, run_folder
from glasshouse.records.status import Status
from glasshouse.runs import resolve_spec
from glasshouse.runs.resolve_spec import spec_of
from glasshouse.runs.run import Run, Translation
from glasshouse.specs import recipes as recipe_files
from glasshouse.specs.errors import GlasshouseError, Interrupted, RunError, SpecError
from glasshouse.specs.recipes import Recipe
from glasshouse.specs.spec import DataSpec
from glasshouse.studies import study_folder as studies
from glasshouse.studies import study_results, study_runner
from glasshouse.studies.study import Study
from glasshouse.studies.study_folder import Question, StudyFolder
from glasshouse.training import cost_plan as planning
from glasshouse.training import devices, loop, nonfinite
from glasshouse.training import resume as opening_runs
from glasshouse.training.cost_plan import Plan
from glasshouse.training.engine import load_weights
from glasshouse.training.job import Job
from glasshouse.training.matmul_speed import FORMATS, matrix_rate

DEMO = "demo-lm"


def recipes() -> list[Recipe]:
    """The named specs that ship with the package."""
    return list(recipe_files.every().values())


def train(
    recipe: str = DEMO, *overrides: str, name: str | None = None, device: str = "auto", **sections: dict[str, Any]
) -> Run:
    """Train a recipe: `train("demo-lm", model={"position": "learned"})` or `train("demo-lm", "model.position=learned")`."""
    devices.pick(device)
    spec = spec_of(recipe, *overrides, **sections)
    if spec.training.replicas > 1:
        raise SpecError(
            "several-runs", f"training.replicas={spec.training.replicas} gives several runs: call train_replicas for them"
        )
    run = run_folder.create(spec, name, resolve_spec.name_of(recipe))
    try:
        return _train(run, device)
    except (GlasshouseError, OSError):
        run.discard_unbegun()
        raise


def train_replicas(
    recipe: str = DEMO, *overrides: str, name: str | None = None, device: str = "auto", **sections: dict[str, Any]
) -> list[Run]:
    """Train a recipe `training.replicas` times, with seeds seed, seed + 1, ..., side by side where that is faster.

    Each is a run of its own; those that came through are returned. Their reports are written when they are asked for.
    """
    devices.pick(device)
    spec = spec_of(recipe, *overrides, **sections)
    seeds = range(spec.training.seed, spec.training.seed + spec.training.replicas)
    each = {f"seed-{seed}": replace(spec, training=replace(spec.training, seed=seed, replicas=1)) for seed in seeds}
    runs = run_folder.create_family(each, name, resolve_spec.name_of(recipe))
    try:
        return _train_together(runs, device)
    except Interrupted:
        raise
    except (GlasshouseError, OSError):
        if all(run.status() in (Status.NEW, Status.INTERRUPTED) for run in runs):
            for run in runs:
                run.discard_unbegun()
        raise


def compare(
    *words: str,
    seeds: str | int | Sequence[int] | None = None,
    metric: str | None = None,
    match: str = "steps",
    tune: str | None = None,
    margin: float | None = None,
    alpha: float = 0.05,
    until_decided: bool = False,
    batch: int | None = None,
    max_seeds: int | None = None,
    name: str | None = None,
    device: str = "auto",
    replicas: str = "auto",
) -> Study:
    """Did it matter? `compare("demo-lm", "model.position=learned,rotary", seeds=8)`, or recipes: `compare("a", "b")`."""
    growing = study_runner.growing(until_decided, batch, max_seeds)
    question = Question("compare", words, metric, match, tune, alpha, margin, **growing)
    return Study(study_runner.conduct(question, seeds, name, device, str(replicas)))


def sweep(
    *words: str,
    seeds: str | int | Sequence[int] = 4,
    metric: str | None = None,
    match: str = "steps",
    margin: float | None = None,
    alpha: float = 0.05,
    name: str | None = None,
    device: str = "auto",
    replicas: str = "auto",
) -> Study:
    """Which values do best? `sweep("demo-lm", "training.learning_rate=1e-4..1e-2:log:8", seeds=4)`."""
    question = Question("sweep", words, metric, match, None, alpha, margin)
    return Study(study_runner.conduct(question, seeds, name, device, str(replicas)))


def open_study(name: str | PathLike[str]) -> Study:
    """A study by its name or path."""
    return Study(name)


def list_studies() -> list[Study]:
    """Every study under the studies folder, oldest first."""
    return [Study(found) for found in studies.every()]


def resume(run: str | PathLike[str], device: str = "auto") -> Run | Study:
    """Continue a run that was interrupted, from its newest whole checkpoint to its end; or a study, to its verdicts.

    A replica goes on with all that were begun with it.
    """
    if study := _study_at(run):
        return Study(study_runner.go_on(study, device))
    found = run_folder.find(run)
    # A family is what a person asked for together; companions take their steps together, in a study too.
    if len(others := found.family()) > 1 or len(others := opening_runs.companions(found)) > 1:
        _train_together(others, device)
        return Run(found, device)
    return _train(found, device)


def plan(recipe: str = DEMO, *overrides: str, device: str = "auto", **sections: dict[str, Any]) -> Plan:
    """What a recipe would cost: parameters, FLOPs, memory and time."""
    spec = spec_of(recipe, *overrides, **sections)
    return planning.make(Job.of(spec, devices.pick(device)))


def open_run(name: str | PathLike[str], device: str = "auto") -> Run:
    """A run by its name or path."""
    return Run(name, device)


def list_runs() -> list[Run]:
    """Every run under the runs folder, oldest first."""
    return [Run(found, device="cpu") for found in run_folder.every()]


def evaluate(
    run: str | PathLike[str],
    data: str | PathLike[str] | None = None,
    device: str = "auto",
    metric: str | None = None,
    judge: str | PathLike[str] | None = None,
    examples: int = 500,
) -> dict[str, dict[str, float]]:
    """The task's metrics of a run on its held-out text, or on a file.

    With `metric="entailment"`, what a second run, `judge`, finds of its translations; at most so many examples of a split.
    """
    entailment_metric.check(metric, judge)
    with progress_bar.bar("evaluating") as bar:
        if judge is None:
            return Run(run, device).evaluate(data, bar)
        return entailment_metric.measure(Run(run, device), Run(judge, device), data, examples, bar)


def sample(
    run: str | PathLike[str], prompt: str | Sequence[str] = "", count: int = 1, device: str = "auto", **how: Any
) -> list[Completion]:
    """Continue a prompt: tokens, temperature, top_k, top_p, min_p, repetition_penalty, stop, seed."""
    return Run(run, device).sample(prompt, count, **how)


def classify(run: str | PathLike[str], texts: Sequence[str], device: str = "auto") -> list[dict[str, float]]:
    """The probability of each class for each text, likeliest first."""
    return Run(run, device).classify(texts)


def translate(run: str | PathLike[str], texts: Sequence[str], device: str = "auto", **how: Any) -> list[list[Translation]]:
    """The best translations of each text: beams, length_penalty, n_best, word_by_word."""
    with progress_bar.bar("translating") as bar:
        return Run(run, device).translate(texts, progress=bar, **how)


def prompt(
    run: str | PathLike[str],
    prompts: Sequence[str] = (),
    target: image_retrieval.Target = None,
    pictures: int = 6,
    output: str | PathLike[str] | None = None,
    device: str = "auto",
) -> tuple[prompting_page.Retrieval, Path]:
    """How well prompts go with a picture (a file, or a held-out one by number), what each finds, and the page of it."""
    opened = Run(run, device)
    path = Path(output) if output else opened.folder.path / "prompting.html"
    prompting_page.check_path(path)
    with progress_bar.bar("looking"):
        found = image_retrieval.examine(opened, target, prompts, pictures)
    if path.suffix == ".html":
        atomic_files.write_text(path, prompting_page.render(found))
    else:
        prompting_page.draw(found, path)
    return found, path


def features(
    run: str | PathLike[str],
    data: str,
    pooling: str = "mean",
    limit: int = 0,
    field: str = "text",
    label: str = "label",
    device: str = "auto",
) -> Features:
    """What simple classifiers tell from a run's frozen features; `data` is a labelled data set or a file of rows."""
    splits = {split: rows.sample(limit) for split, rows in labelled_texts.read(data, field, label).items()}
    with progress_bar.bar("computing features") as bar:
        return feature_trial.examine(Run(run, device), splits, pooling, bar)


def few_shot(
    run: str | PathLike[str],
    data: str,
    shots: Sequence[int] = (0, 1, 2, 4, 8),
    examples: int = 200,
    draws: int = 3,
    template: str | None = None,
    calibrate: bool = False,
    output: str | PathLike[str] | None = None,
    seed: int = 0,
    field: str = "text",
    label: str = "label",
    device: str = "auto",
) -> FewShot:
    """How well a run that continues text classifies from examples in its context; `output` is a picture to draw."""
    if output:
        figures.check_path(Path(output))
    splits = labelled_texts.read(data, field, label)
    with progress_bar.bar("asking") as bar:
        form = template or few_shot_trial.TEMPLATE
        found = few_shot_trial.measure(Run(run, device), splits, shots, examples, draws, form, calibrate, seed, bar)
    if output:
        few_shot_trial.draw(found, Path(output))
    return found


def augment(
    run: str | PathLike[str],
    file: str | PathLike[str],
    output: str | PathLike[str],
    copies: int = 2,
    share: float = 0.15,
    temperature: float = 1.0,
    seed: int = 0,
    field: str = "text",
    label: str = "label",
    device: str = "auto",
) -> Augmented:
    """Write the rows of a file and paraphrases of each, made by a masked-token run."""
    sampling = Sampling(temperature=temperature, seed=seed)
    augmentation.check(Path(file), Path(output))
    opened = Run(run, device)
    with progress_bar.bar("paraphrasing") as bar:

        def made(texts: Sequence[str]) -> list[list[Paraphrase]]:
            how = (opened.spec.data.context, copies, share, sampling)
            return paraphrase(opened.model, opened.tokenizer, texts, *how, progress=bar)

        return augmentation.augment(Path(file), Path(output), made, field, label)


def report(run: str | PathLike[str], device: str = "auto") -> Path:
    """Write the report of a run or a study anew and give its path."""
    if study := _study_at(run):
        study_results.write(study)
        return study.report_file
    return run_report.write(Run(run, device))


def import_model(source: str | PathLike[str], name: str, tokenizer: str | PathLike[str] | None = None) -> Run:
    """A model from elsewhere as a run: a Hugging Face directory or hub name, a GGUF file, a llama2.c file."""
    run_folder.check_free(name)
    with progress_bar.bar("importing"):
        understood = formats.read(source, Path(tokenizer) if tokenizer else None)
        run = imported_model.write(understood, name)
    if understood.tokenizer is None:
        progress_bar.say(
            f"{name} has no tokenizer: it came with no tokenizer.json; import it with --tokenizer FILE to have one"
        )
    return Run(run, device="cpu")


def export(run: str | PathLike[str], to: str, output: str | PathLike[str]) -> Path:
    """Write a run for others: `to` is "huggingface" (a directory) or "gguf" (a file)."""
    if to not in formats.EXPORTS:
        raise GlasshouseError("unknown-word", f"to={to!r} is not one of: {', '.join(formats.EXPORTS)}")
    opened, path = Run(run, device="cpu"), Path(output)
    if os.path.lexists(path):
        raise GlasshouseError("output-exists", f"{path} exists already; give a path that does not, or delete it")
    if not path.absolute().parent.is_dir():
        raise GlasshouseError(
            "missing-folder", f"there is no folder {path.absolute().parent} to write {path.name} into; make it first"
        )
    with progress_bar.bar(f"exporting to {to}"):
        formats.EXPORTS[to](opened, path)
    return path


def certify(run: str | PathLike[str], device: str = "auto") -> list[Check]:
    """Do all the ways to the same result agree? The largest difference of each, its tolerance, and what does not apply."""
    with progress_bar.bar(f"certifying {run}") as bar:
        return list(checks.certify(Run(run, device), bar))


def train_tokenizer(
    files: Sequence[str],
    vocabulary: int = 8192,
    output: str | PathLike[str] = "tokenizer.json",
    kind: str = "byte-pair",
    pattern: str = "gpt-2",
    field: str = "text",
) -> tokenizers.Tokenizer:
    """Train a tokenizer on all the text of some files and save it."""
    data = DataSpec(files=tuple(files), field=field, tokenizer=kind, vocabulary=vocabulary, pattern=pattern)
    source = UserText(data.files, field, validation=0.0, test=0.0)
    with progress_bar.bar("training a tokenizer") as bar:
        trained = prepared_data.tokenizer_for(data, source, lambda what, share: bar(share, what))
    trained.save(output)
    return trained


def data_sets() -> list[data_set_list.DataSet]:
    """The data sets by name: what they are, and whether they are on this machine."""
    return data_set_list.every()


def get_data(name: str) -> list[Path]:
    """Fetch a data set into the cache and give its files; each must match its checksum."""
    with progress_bar.bar(f"fetching {name}") as bar:
        return data_set_list.get(name, bar)


@dataclass(frozen=True)
class Replay:
    """A failed step, run again: its number, its loss, and what each module gave."""

    step: int
    loss: float
    findings: list[nonfinite.ModuleOutput]


def replay(run: str | PathLike[str], device: str = "cpu") -> Replay:
    """Repeat the step at which a run's loss or gradient stopped being finite."""
    opened = Run(run, device)
    if not (opened.folder.failure / "failure.json").exists():
        raise RunError("no-failure", f"{opened.name} has no failed step to replay: none of its losses was NaN or infinite")
    step, batch, weights = nonfinite.load(opened.folder.failure)
    engine = Job.of(opened.spec, opened.device, opened.tokenizer).engine()
    load_weights(engine.model, weights, str(opened.folder.failure))
    loss, findings = nonfinite.examine(engine, step, batch)
    return Replay(step, loss, findings)


@dataclass(frozen=True)
class Diagnosis:
    """What this machine is and gives: facts, and FLOP/s of matrix products by number format."""

    facts: dict[str, str]
    rates: dict[str, float]


def doctor(device: str = "auto") -> Diagnosis:
    """Look at this machine and measure it."""
    chosen = devices.pick(device)
    size = 512 if chosen.type == "cpu" else 8192
    rates = {name: matrix_rate(chosen, name, size) for name in FORMATS}
    return Diagnosis(machine.describe(str(chosen)), rates)


def claims() -> list[Case]:
    """What is asserted about Transformers, each claim with its trial where there was one."""
    return trials.cases()


def try_claim(name: str, seeds: int | None = None, quick: bool = False, device: str = "auto") -> Case:
    """Put a claim on trial, or go on with its trial, and keep the finding in its folder."""
    return trials.attempt(name, seeds, quick, device)


def claims_report(output: str | PathLike[str] = "claims.html") -> Path:
    """Write every claim with its verdict, reported beside measured, as an .html page or as .md."""
    claims_page.check_path(path := Path(output))
    claims_page.write(trials.cases(), path)
    return path


def _study_at(name: str | PathLike[str]) -> StudyFolder | None:
    """The study of a name, if it has one; a name that is a run's too must be told apart."""
    study = studies.at(name)
    if study and (run := run_folder.root() / name) != study.path and (run / "spec.toml").is_file():
        raise RunError("run-and-study", f"{str(name)!r} is both a run and a study; say which: {run} or {study.path}")
    return study


def _train_together(runs: Sequence[run_folder.RunFolder], device: str) -> list[Run]:
    """Train replicas to their ends; those that came through."""
    began = time.perf_counter()
    failed = loop.train_group(runs, device)
    trained = [Run(run, device) for run in runs if run.status() == Status.DONE]
    if not trained:
        raise RunError(
            "training-failed",
            failed[0] if failed else f"{runs[0].name} and its companions have all failed; lower the learning rate",
        )
    progress_bar.say(f"{len(trained)} of {len(runs)} runs: done in {time.perf_counter() - began:.0f} s")
    return trained


def _train(run: run_folder.RunFolder, device: str) -> Run:
    began = time.perf_counter()
    went_on = loop.train(run, device)
    trained = Run(run, device)
    run_report.write(trained)
    if went_on:
        progress_bar.say(f"{run.name}: done in {time.perf_counter() - began:.0f} s")
    return trained
