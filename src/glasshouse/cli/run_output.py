"""Prints a trained run: its metrics, its folder, its samples, and commands to try next."""

from collections.abc import Sequence

from rich.text import Text

from glasshouse import Run
from glasshouse.api.runs import Completion, commands
from glasshouse.cli.tables import console, show
from glasshouse.metrics.metric import Metrics
from glasshouse.verdicts.verdict import summarise


def print_samples(run: Run) -> None:
    """Print a continuation of each prompt of the recipe, if the run is a language model."""
    if not run.continues_text:
        return
    settings = run.spec.evaluation
    prompts = settings.prompts or ("",)
    for completion in run.sample(prompts, tokens=settings.sample_tokens, temperature=0.8, top_p=0.95):
        print_completion(completion)


def print_completion(completion: Completion) -> None:
    """Print the prompt in bold and its continuation."""
    text = Text(completion.prompt, style="bold") + Text(completion.text, style="not bold")
    console.print(text, soft_wrap=not console.is_terminal)
    console.print()


def print_metrics(measured: dict[str, dict[str, float]], metrics: Metrics) -> None:
    """Print a table of metrics, with a row for each split or file: split -> metric -> value."""
    columns, rows = metrics.table(measured)
    show(columns, rows, right=range(1, len(columns)))


def print_baselines(run: Run) -> None:
    """Print the run's baselines, if they were measured: a table, and the best one beside the run in a sentence."""
    if results := run.baselines:
        section = results.section(run.task.metrics)
        show(section.columns, section.rows, right=range(1, section.numbers + 1))
        console.print(section.sentence)
        if section.statistics:
            console.print(f"    {section.statistics}", style="dim")


def print_replicas(runs: Sequence[Run]) -> None:
    """Print the headline metrics of each replica, their mean with half its 95 % interval, and the folders."""
    outcomes = [run.facts["outcome"] for run in runs]
    splits = [split for split in outcomes[0] if split.startswith(("validation", "test"))]
    metrics = runs[0].task.metrics
    columns = [(split, metrics[name]) for split in splits for name in metrics.headline if name in outcomes[0][split]]
    rows = [
        (run.name, *(metric.text(outcome[split][metric.name]) for split, metric in columns))
        for run, outcome in zip(runs, outcomes, strict=True)
    ]
    summaries = [(metric, summarise([outcome[split][metric.name] for outcome in outcomes])) for split, metric in columns]
    rows.append(("mean", *(metric.text(summary.mean) for metric, summary in summaries)))
    if len(runs) > 1:
        rows.append(("±", *(metric.text(summary.high - summary.mean) for metric, summary in summaries)))
    if baselines := runs[0].baselines:
        rows += [
            (
                baseline.title,
                *(
                    metric.text(baseline.metrics[metric.name])
                    if split == baselines.split and metric.name in baseline.metrics
                    else ""
                    for split, metric in columns
                ),
            )
            for baseline in baselines.baselines
            if baseline.metrics
        ]
    titles = [f"{split} {metric.title}" for split, metric in columns]
    show(("run", *titles), rows, right=range(1, len(columns) + 1))
    console.print(f"runs  {runs[0].folder.path} to {runs[-1].folder.path}")


def print_run(run: Run) -> None:
    """Print the final metrics, the folder, the report and suggested commands."""
    console.print(f"final evaluation, with the weights of step {run.final_step:,}")
    print_metrics(run.final_metrics, run.task.metrics)
    print_baselines(run)
    console.print(f"run     {run.folder.path}")
    console.print(f"report  {run.folder.report_file}")
    console.print("\nTry next:")
    for command in commands(run):
        console.print(f"  {command}")
