"""The content of the report of a run, collected from the run folder and the model."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from glasshouse.baselines.baseline_results import BaselineResults
from glasshouse.formatting import count, duration, flops, number, size
from glasshouse.generation.text_stream import Completion
from glasshouse.inspection import held_out_texts, translation_samples, word_attribution
from glasshouse.inspection.attention_maps import attention_map, unsupported_reason
from glasshouse.inspection.text_input import TextInput, token_texts
from glasshouse.metrics.metric import ACCURACY, BITS_PER_BYTE, LOSS, MAJORITY, PERPLEXITY, Metric, perplexity
from glasshouse.models import parameter_counts
from glasshouse.records import metric_log
from glasshouse.records.checkpoint import steps as checkpoint_steps
from glasshouse.records.status import Status
from glasshouse.results.report import AttentionMap, Curve, ExplainedText, Report, Sample, Section, Token
from glasshouse.results.table import Table
from glasshouse.runs import suggestions
from glasshouse.runs.run import Run
from glasshouse.specs import spec_files
from glasshouse.specs.errors import GlasshouseError
from glasshouse.training import evaluation_interval

# An attention map with more tokens than this is not readable.
MAP_TOKENS = 40
# How the samples of a report are drawn: a little more likely tokens than the model's own distribution has.
SAMPLING: dict[str, Any] = {"temperature": 0.8, "top_p": 0.95, "seed": 0}
# If a task has more headline metrics than this, all are shown of the test split, and of the validation split the first one,
# which is the main figure of lists of runs.
MOST_HEADLINES = 3
# From here on, the decimals of a perplexity say nothing.
LARGE_PERPLEXITY = 100
# Guessing each byte evenly.
BITS_OF_A_BYTE = 8.0
OTHER_CURVES = ("learning_rate", "gradient_norm", "tokens_per_second")
# The sections that a task can request (`Task.report_sections`), and the functions that collect their content.
SECTIONS: dict[str, Callable[[Run], Section]] = {
    "confusion": held_out_texts.confusion,
    "words": word_attribution.collect,
    "translations": lambda run: translation_samples.collect(run, MAP_TOKENS),
    **{name: partial(held_out_texts.collect, section=name) for name in held_out_texts.SECTIONS},
}


def collect(run: Run) -> Report:
    """The content of the page. The report of an unfinished run leaves out what does not exist yet."""
    facts, rows, title = run.facts, run.metrics, run.task.quality.title
    trained = bool(checkpoint_steps(run.folder.checkpoints))
    samples: list[Completion] = []
    if trained and run.continues_text:
        prompts = tuple(dict.fromkeys(run.spec.evaluation.prompts)) or ("",)
        samples = run.sample(prompts, tokens=run.spec.evaluation.sample_tokens, alternatives=5, **SAMPLING)
    # How the samples were drawn, with the option of `glasshouse sample` for each setting.
    settings = "".join(f"{name.replace('_', '-')} {value:g}, " for name, value in SAMPLING.items())
    parameters = parameter_counts.parameters_by_part(run.model) if trained else {}
    plan = facts.get("plan", {})
    notes = [*filter(None, [plan.get("choice")]), *plan.get("notes", ())]
    shown: dict[str, Any] = {}
    for name in run.task.report_sections if trained else ():
        section = SECTIONS[name](run)
        notes += section.notes
        shown |= {field: value for field, value in vars(section).items() if value and field != "notes"}
    attention = shown.pop("attention", None)
    if "translations" not in shown:
        attention = _attention_map(run, samples, shown.get("explained", ()))
    if (status := run.folder.status()) not in (Status.DONE, Status.IMPORTED):
        notes.append(f"this run is not finished: {status}")
    if reason := unsupported_reason(run):
        notes.append(f"no attention map: {reason}")
    columns, final = run.task.metrics.table(run.final_metrics)
    return Report(
        title=run.name,
        subtitle=_subtitle(run, sum(parameters.values()), rows),
        headline=_headline(run),
        scales=_scales(run),
        loss=_curves(rows, {"training": "loss", "validation": "validation.loss"}, LOSS.number_format),
        quality=_quality(run, rows),
        quality_name=title[:1].upper() + title[1:],
        samples=tuple(_sample_tokens(run, sample) for sample in samples),
        sampling=f"{settings}at most {run.spec.evaluation.sample_tokens:,} tokens" if samples else "",
        attention=attention,
        parameters=tuple(parameters.items()),
        planned_costs=_planned_costs(run),
        spec=spec_files.to_toml(run.spec),
        machine=tuple(facts.get("machine", {}).items()),
        other=_curves(rows, {name.replace("_", " "): name for name in OTHER_CURVES}),
        notes=tuple(notes),
        commands=suggestions.commands(run),
        baselines=run.baselines.section(run.task.metrics) if run.baselines else None,
        curves_note=_curves_note(run),
        final=Table("", columns, final) if final else None,
        **shown,
    )


def _sample_tokens(run: Run, sample: Completion) -> Sample:
    tokens = [Token(text, None) for text in token_texts(run, sample.prompt_tokens if sample.prompt else ())]
    for choice, text in zip(sample.choices, token_texts(run, [choice.token for choice in sample.choices]), strict=True):
        names = token_texts(run, [token for token, _ in choice.alternatives])
        probabilities = [math.exp(value) for _, value in choice.alternatives]
        tokens.append(Token(text, choice.probability, tuple(zip(names, probabilities, strict=True))))
    return Sample(sample.prompt, tuple(tokens))


def _attention_map(run: Run, samples: list[Completion], explained: Sequence[ExplainedText]) -> AttentionMap | None:
    """The map of the longest sample; of a classifier, that of the longest explained text. None if none is readable."""
    if unsupported_reason(run):
        return None
    texts = [(sample.prompt_tokens + [choice.token for choice in sample.choices])[:MAP_TOKENS] for sample in samples]
    for text in (text for text in explained if not text.second):
        # A classifier reads in both directions, so a text cannot be cut off for its map. One that is longer than the
        # context is refused.
        with suppress(GlasshouseError):
            ids = TextInput(run, text.text).ids
            texts += [ids] if 0 < len(ids) <= MAP_TOKENS else []
    # The longest text shows the most; of equally long ones, that with the most different tokens.
    return attention_map(run, max(texts, key=lambda tokens: (len(tokens), len(set(tokens))))) if texts else None


def _subtitle(run: Run, parameters: int, rows: list[dict]) -> str:
    data, model = run.spec.data, run.spec.model
    if "origin" in run.facts:
        return f"{model.kind}, {count(parameters)} parameters, imported from {run.facts['origin']}"
    text = data.source or ", ".join(Path(name).name for name in data.files)
    steps = int(rows[-1]["step"]) if rows else 0
    return f"{model.kind}, {count(parameters)} parameters, {steps:,} steps on {text}"


def _headline(run: Run) -> tuple[tuple[str, str], ...]:
    outcome, metrics = run.facts.get("outcome", {}), run.task.metrics
    shortened = len(metrics.headline) > MOST_HEADLINES and any(split.startswith("test") for split in run.final_metrics)
    figures = []
    for split, values in run.final_metrics.items():
        headlines = metrics.headlines(values)
        if shortened and split.startswith("validation"):
            headlines = headlines[:1]
        figures += [(f"{split} {title}", figure) for title, figure in headlines]
    for name, title in (("seconds", "training time"), ("evaluation_seconds", "final evaluation")):
        if name in outcome:
            figures.append((title, duration(outcome[name])))
    if speed := outcome.get("batches_per_second"):
        figures.append(("batches per second", f"{speed:.3g}"))
    if "plan" in run.facts:
        figures.append(("compute", flops(run.facts["plan"]["flops"])))
    return tuple(figures)


def _scales(run: Run) -> dict[str, str]:
    """Title of a headline figure, as "validation perplexity" -> its scale. A figure without one is left out."""
    metrics = run.task.metrics
    found: dict[str, str] = {}
    choices = {PERPLEXITY.name: run.vocabulary, ACCURACY.name: len(run.facts.get("labels", ()))}
    for split, values in run.final_metrics.items():
        for name in (name for name in metrics.headline if name in values):
            metric = metrics[name]
            count = choices.get(name, 0) or (run.vocabulary if name == ACCURACY.name and metric.per_token else 0)
            found[f"{split} {metric.title}"] = scale(metric, values, run.baselines, split, count)
    return {title: text for title, text in found.items() if text}


def scale(metric: Metric, values: Mapping[str, float], baselines: BaselineResults | None, split: str, choices: int) -> str:
    """The scale of a headline figure: what guessing reaches, and what the best simple baseline reaches on the same split.

    As "guessing evenly: 4,096; a 3-gram model: 512"; empty if nothing is known. `choices` is the number of answers that a
    model chooses one from, or 0.
    """
    guesses: dict[str, float] = {}
    if metric.name == BITS_PER_BYTE.name:
        guesses["guessing evenly"] = BITS_OF_A_BYTE
    elif choices:
        guesses["guessing evenly"] = float(choices) if metric.name == PERPLEXITY.name else 1 / choices
        if metric.name == ACCURACY.name and MAJORITY.name in values:
            guesses["always the commonest class of this split"] = values[MAJORITY.name]
    if baselines is not None and baselines.split == split and (best := baselines.best(metric)) is not None:
        guesses[best.title] = best.metrics[metric.name]

    def text(value: float) -> str:
        if value == BITS_OF_A_BYTE:
            return f"{value:g}"
        large = metric.name == PERPLEXITY.name and value >= LARGE_PERPLEXITY
        return number(value, 0) if large else metric.text(value)

    return "; ".join(f"{name}: {text(value)}" for name, value in guesses.items())


def _curves_note(run: Run) -> str:
    """Whether the curves have few points, which weights were evaluated, and whether the final figures are measured alike."""
    sentences = []
    steps = [row["step"] for row in run.metrics if any(name.startswith("validation.") for name in row)]
    if run.folder.status() == Status.DONE and 0 < len(steps) < evaluation_interval.FEWEST_EVALUATIONS:
        has = "1 evaluation" if len(steps) == 1 else f"{len(steps)} evaluations"
        few = f"The validation curve has {has}, fewer than {evaluation_interval.FEWEST_EVALUATIONS}"
        sentences.append(f"{few}: it shows little of how the training went.")
        every = evaluation_interval.interval_for_curve(max(steps))
        if every < run.spec.evaluation.every:
            sentences.append(f"With {evaluation_interval.FIELD}={every} it would have more.")
    best, final = run.facts.get("best"), run.final_metrics.get("validation")
    if best and final:
        weights = f"The final evaluation is of the best weights, those of step {run.final_step:,}."
        sentences.append(f"The validation curve was measured during training. {weights}")
        if not math.isclose(final[best["metric"]], best["value"], rel_tol=1e-6):
            thorough = "It is more thorough than the evaluations during training"
            sentences.append(f"{thorough}, so its figures differ from the curve.")
    return " ".join(sentences)


def _curves(
    rows: list[dict], names: Mapping[str, str], number_format: str = "", most: float = math.inf
) -> tuple[Curve, ...]:
    """Curves by title; `names` maps a title to a column of the metric log."""
    columns = {title: metric_log.column(rows, logged) for title, logged in names.items()}
    return tuple(Curve(title, *column, number_format, most) for title, column in columns.items() if column[0])


def _quality(run: Run, rows: list[dict]) -> tuple[Curve, ...]:
    quality = run.task.quality
    if not quality.exponential:
        logged = next(iter(quality.columns.values())).rpartition(".")[2]
        metric = run.task.metrics.find(logged)
        return _curves(rows, quality.columns, metric.number_format, metric.most)
    return tuple(
        Curve(curve.name, curve.steps, [perplexity(loss) for loss in curve.values], PERPLEXITY.number_format)
        for curve in _curves(rows, quality.columns)
    )


def _planned_costs(run: Run) -> Table | None:
    plan, outcome = run.facts.get("plan"), run.facts.get("outcome", {})
    if not plan:
        return None
    predicted, measured = duration(plan.get("seconds", 0.0)), "not finished"
    if outcome:
        measured = duration(outcome.get("seconds", 0.0) + outcome.get("evaluation_seconds", 0.0))
    memory = size(outcome["memory"]) if outcome.get("memory") else "not known"
    counted = "the growth of the whole process at the peak, with libraries and data"
    if run.facts.get("machine", {}).get("device") == "cuda":
        counted = "all tensors on the GPU at the peak"
    rows = (
        ("training time and final evaluation", predicted, measured),
        ("memory", size(sum(plan.get("memory", {}).values())), memory),
        ("FLOPs", flops(plan["flops"]), "counted, not measured"),
    )
    remark = f"Memory. Predicted: weights, gradients, optimiser state and activations. Measured: {counted}."
    return Table("", ("cost", "predicted", "measured"), rows, remark)
