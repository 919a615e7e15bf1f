"""The report of a run: collects its content from the run folder and the model, and writes `report.html`."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from glasshouse.formatting import count, duration, flops, size
from glasshouse.generation.text_stream import Completion
from glasshouse.inspection import (
    confusion,
    headline_scale,
    label_scores,
    linked_page,
    regression_errors,
    tag_scores,
    translation_samples,
    word_attribution,
)
from glasshouse.inspection.attention_maps import attention_map, unsupported_reason
from glasshouse.inspection.text_input import TextInput
from glasshouse.metrics.metric import LOSS, PERPLEXITY, perplexity
from glasshouse.models import parameter_counts
from glasshouse.pages import report_page
from glasshouse.records import metric_log
from glasshouse.records.checkpoint import steps as checkpoint_steps
from glasshouse.records.status import Status
from glasshouse.results.report import (
    AttentionMap,
    BaselineSection,
    Curve,
    ExplainedText,
    FinalEvaluation,
    PlannedCost,
    Report,
    Sample,
    Token,
)
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
# The sections that a task can request (`Task.report_sections`), and the functions that collect their content.
SECTIONS: dict[str, Callable[[Run], Any]] = {
    "confusion": confusion.collect,
    "words": word_attribution.collect,
    "regression": regression_errors.collect,
    "labels": label_scores.collect,
    "tags": tag_scores.collect,
    "translations": lambda run: translation_samples.collect(run, MAP_TOKENS),
}


def write(run: Run) -> Path:
    """Write the report into the run folder."""
    linked_page.write(run.folder.report_file, report_page.render(collect(run)))
    return run.folder.report_file


def collect(run: Run) -> Report:
    """The content of the page. The report of an unfinished run leaves out what does not exist yet."""
    facts, rows, title = run.facts, run.metrics, run.task.quality.title
    trained = bool(checkpoint_steps(run.folder.checkpoints))
    samples = _samples(run) if trained and run.continues_text else []
    parameters = parameter_counts.parameters_by_part(run.model) if trained else {}
    plan = facts.get("plan", {})
    notes = [*filter(None, [plan.get("choice")]), *plan.get("notes", ())]
    sections = {name: SECTIONS[name](run) for name in run.task.report_sections} if trained else {}
    classifier_errors, translation = sections.get("confusion"), sections.get("translations")
    words = sections.get("words")
    numbers, labels, tags = sections.get("regression"), sections.get("labels"), sections.get("tags")
    for section in sections.values():
        notes += section.notes if section else ()
    if (status := run.folder.status()) not in (Status.DONE, Status.IMPORTED):
        notes.append(f"this run is not finished: {status}")
    if reason := unsupported_reason(run):
        notes.append(f"no attention map: {reason}")
    return Report(
        title=run.name,
        subtitle=_subtitle(run, sum(parameters.values()), rows),
        headline=_headline(run),
        scales=headline_scale.scales(run),
        loss=_curves(rows, {"training": "loss", "validation": "validation.loss"}, LOSS.number_format),
        quality=_quality(run, rows),
        quality_name=title[:1].upper() + title[1:],
        samples=tuple(_sample_tokens(run, sample) for sample in samples),
        sampling=_sampling_text(run) if samples else "",
        attention=translation.attention if translation else _attention_map(run, samples, words.texts if words else ()),
        parameters=tuple(parameters.items()),
        planned_costs=_planned_costs(run),
        spec=spec_files.to_toml(run.spec),
        machine=tuple(facts.get("machine", {}).items()),
        other=_curves(
            rows,
            {
                "learning rate": "learning_rate",
                "gradient norm": "gradient_norm",
                "tokens per second": "tokens_per_second",
            },
        ),
        notes=tuple(notes),
        commands=suggestions.commands(run),
        confusion=classifier_errors.confusion if classifier_errors else None,
        mistakes=classifier_errors.mistakes if classifier_errors else (),
        explained=words.texts if words else (),
        translations=translation.translations if translation else None,
        baselines=_baselines(run),
        curves_note=_curves_note(run),
        final=_final_evaluation(run),
        regression=numbers.regression if numbers else None,
        scores=labels.scores if labels else tags.scores if tags else None,
        label_errors=labels.errors if labels else (),
        tagged=tags.sentences if tags else (),
    )


def _samples(run: Run) -> list[Completion]:
    settings = run.spec.evaluation
    prompts = tuple(dict.fromkeys(settings.prompts)) or ("",)
    return run.sample(prompts, tokens=settings.sample_tokens, alternatives=5, **SAMPLING)


def _sampling_text(run: Run) -> str:
    """How the samples were drawn, and the option of `glasshouse sample` for each setting."""
    names = {"temperature": "temperature", "top_p": "top-p", "seed": "seed"}
    settings = ", ".join(f"{names[name]} {value:g}" for name, value in SAMPLING.items())
    return f"{settings}, at most {run.spec.evaluation.sample_tokens:,} tokens"


def _sample_tokens(run: Run, sample: Completion) -> Sample:
    def text(token: int) -> str:
        return run.tokenizer.token_bytes(token).decode("utf-8", "replace")

    prompt = [Token(text(token), None) for token in (sample.prompt_tokens if sample.prompt else [])]
    generated = [
        Token(
            text(choice.token),
            choice.probability,
            tuple((text(token), math.exp(value)) for token, value in choice.alternatives),
        )
        for choice in sample.choices
    ]
    return Sample(sample.prompt, tuple(prompt + generated))


def _attention_map(run: Run, samples: list[Completion], explained: Sequence[ExplainedText]) -> AttentionMap | None:
    """The map of the longest sample; of a classifier, that of the longest explained text. None if none is readable."""
    if unsupported_reason(run):
        return None
    texts = [(sample.prompt_tokens + [choice.token for choice in sample.choices])[:MAP_TOKENS] for sample in samples]
    for text in (text for text in explained if not text.second):
        # A classifier reads in both directions, so a text cannot be cut off for its map. One that is longer than the
        # context is refused.
        with suppress(GlasshouseError):
            ids = TextInput(run, text.text or " ".join(word.text for word in text.words)).ids
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
    outcome = run.facts.get("outcome", {})
    figures = []
    for split in outcome:
        if split.startswith(("validation", "test")):
            figures += [(f"{split} {title}", figure) for title, figure in _split_headline(run, split)]
    if "seconds" in outcome:
        figures.append(("training time", duration(outcome["seconds"])))
    if "evaluation_seconds" in outcome:
        figures.append(("final evaluation", duration(outcome["evaluation_seconds"])))
    if speed := outcome.get("batches_per_second"):
        figures.append(("batches per second", f"{speed:.3g}"))
    if "plan" in run.facts:
        figures.append(("compute", flops(run.facts["plan"]["flops"])))
    return tuple(figures)


def _final_evaluation(run: Run) -> FinalEvaluation | None:
    columns, rows = run.task.metrics.table(run.final_metrics)
    return FinalEvaluation(columns, tuple(rows)) if rows else None


def _curves_note(run: Run) -> str:
    """Whether the curves have few points, which weights were evaluated, and whether the final figures are measured alike."""
    sentences = [few] if (few := _few_evaluations(run)) else []
    best, final = run.facts.get("best"), run.final_metrics.get("validation")
    if best and final:
        weights = f"The final evaluation is of the best weights, those of step {run.final_step:,}."
        sentences.append(f"The validation curve was measured during training. {weights}")
        if not math.isclose(final[best["metric"]], best["value"], rel_tol=1e-6):
            sentences.append(
                "It is more thorough than the evaluations during training, so its figures differ from the curve."
            )
    return " ".join(sentences)


def _few_evaluations(run: Run) -> str:
    """That a trained run has curves of few evaluations, and what gives it more; empty if it has enough."""
    steps = [row["step"] for row in run.metrics if any(name.startswith("validation.") for name in row)]
    if run.folder.status() != Status.DONE or not 0 < len(steps) < evaluation_interval.FEWEST_EVALUATIONS:
        return ""
    has = "1 evaluation" if len(steps) == 1 else f"{len(steps)} evaluations"
    every = evaluation_interval.interval_for_curve(max(steps))
    remedy = f" With {evaluation_interval.FIELD}={every} it would have more." if every < run.spec.evaluation.every else ""
    return (
        f"The validation curve has {has}, fewer than {evaluation_interval.FEWEST_EVALUATIONS}: it shows little of how the "
        f"training went.{remedy}"
    )


def _baselines(run: Run) -> BaselineSection | None:
    if not (results := run.baselines):
        return None
    metrics = run.task.metrics
    table = results.table(metrics)
    sentences = results.plain_sentence(metrics), results.statistics(metrics)
    return BaselineSection(table.columns, table.rows, table.numbers, *sentences)


def _split_headline(run: Run, split: str) -> list[tuple[str, str]]:
    outcome, metrics = run.facts["outcome"], run.task.metrics
    has_test = any(other.startswith("test") for other in outcome)
    figures = metrics.headlines(outcome[split])
    many = split.startswith("validation") and has_test and len(metrics.headline) > MOST_HEADLINES
    return figures[:1] if many else figures


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


def _counted_memory(run: Run) -> str:
    """What the predicted and the measured memory count, which are two things on a CPU."""
    predicted = "Predicted: weights, gradients, optimiser state and activations"
    if run.facts.get("machine", {}).get("device") == "cuda":
        return f"{predicted}. Measured: all tensors on the GPU at the peak."
    return f"{predicted}. Measured: the growth of the whole process at the peak, with libraries and data."


# The entries of an outcome that are times.
TIMES = ("seconds", "evaluation_seconds")


def _planned_costs(run: Run) -> tuple[PlannedCost, ...]:
    plan, outcome = run.facts.get("plan"), run.facts.get("outcome", {})
    if not plan:
        return ()
    measured = {
        "time": duration(sum(outcome.get(name, 0.0) for name in TIMES)) if outcome else "not finished",
        "memory": size(outcome["memory"]) if outcome.get("memory") else "not known",
    }
    return (
        PlannedCost("training time and final evaluation", duration(plan.get("seconds", 0.0)), measured["time"]),
        PlannedCost("memory", size(sum(plan.get("memory", {}).values())), measured["memory"], _counted_memory(run)),
        PlannedCost("FLOPs", flops(plan["flops"]), "counted, not measured"),
    )
