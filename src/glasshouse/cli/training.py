"""Train a recipe, resume and replay a run; list the recipes and the parts of models."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Annotated

from rich.text import Text

import glasshouse
from glasshouse.cli.doctor import print_plan
from glasshouse.cli.jobs import print_submission
from glasshouse.cli.options import Device, On, Overrides, Run, RunName, RunOrStudy, argument, cluster, has_options, option
from glasshouse.cli.tables import console, show
from glasshouse.launching.cluster_settings import Slurm


def demo(device: Device = "auto") -> None:
    """Train a small GPT on the State of the Union addresses, sample from it and write a report. Takes about two minutes.

    Examples:
        glasshouse demo
    """
    from glasshouse.api import training
    from glasshouse.cli.run_output import print_run, print_samples

    run = glasshouse.train(training.DEMO, name=None, device=device)
    print_samples(run)
    print_run(run)


def recipes(name: Annotated[str | None, argument("Show every field of this recipe's spec.")] = None) -> None:
    """List the recipes. With NAME, show the fields of that recipe with their values and meanings.

    Examples:
        glasshouse recipes
        glasshouse recipes demo-lm
    """
    from glasshouse.api import listings

    if name is None:
        show(("recipe", "description"), [(recipe.name, recipe.about) for recipe in listings.recipes()])
        return
    rows = []
    for field in listings.recipe_fields(name):
        value = "[" + ", ".join(field.value) + "]" if isinstance(field.value, tuple) else str(field.value)
        rows.append((field.name, value, f"{field.about}: {', '.join(field.words)}" if field.words else field.about))
    show(("field", "value", "meaning"), rows)
    console.print(f"Any field can be changed: glasshouse train {name} model.width=64")


def parts(
    family: Annotated[str | None, argument("A family of parts, such as attention; default: list all families.")] = None,
) -> None:
    """List the parts that a spec can name. With FAMILY, show the formula, cost, source, settings and limits of each part.

    Examples:
        glasshouse parts
        glasshouse parts attention
        glasshouse parts position
    """
    if family is None:
        rows = [(name, field, ", ".join(words)) for name, (field, words) in glasshouse.parts.part_families().items()]
        show(("family", "field", "values"), rows)
        return
    meanings = glasshouse.parts.CAPABILITIES
    for entry in glasshouse.parts.parts_of(family):
        console.print(Text(f"{entry.field}={entry.word}", style="bold").append(f"  ({entry.name})", style="not bold"))
        for paragraph in (*entry.about.split("\n\n"), entry.source):
            if paragraph:
                console.print(" ".join(paragraph.split()))
        for name, (_, rule, default) in entry.settings.items():
            console.print(f"- {name} = {default!r}: {rule.about}")
        for capability, reason in entry.unsupported.items():
            console.print(f"- lacks {capability} ({meanings[capability]}): {reason}")
        console.print()


@has_options(Slurm, leave_out=("jobs", "dry_run"))
def train(
    slurm: Slurm,
    recipe: Annotated[str, argument("The name of a recipe (see `glasshouse recipes`) or a .toml file with a spec.")],
    overrides: Overrides = None,
    name: RunName = None,
    device: Device = "auto",
    dry_run: Annotated[
        bool, option("Predict the cost and do not train; with --on slurm, print the script.", "--dry-run")
    ] = False,
    live: Annotated[
        bool, option("Serve the pages of all runs beside the training, and open them in a browser.", "--live")
    ] = False,
    on: On = None,
) -> None:
    """Train a recipe. Any field of its spec can be changed with FIELD=VALUE.

    With --on slurm a job trains it. The job saves at its time limit and goes on in the queue.

    Examples:
        glasshouse train demo-lm model.position=learned training.steps=300
        glasshouse train language-model data.files=mine.txt
        glasshouse train demo-lm lr=1e-3 batch_size=16 n_layer=2
        glasshouse train demo-lm training.replicas=8
        glasshouse train demo-lm --live
        glasshouse train language-model 'data.files=[a.txt,b.jsonl.gz]' data.field=body --dry-run
        glasshouse train language-model data.files=mine.txt --on slurm --nodes 2 --gpus-per-node 4 --time 4:00:00
    """
    from glasshouse.api import serving, training
    from glasshouse.cli.run_output import print_replicas, print_run

    where = cluster(on, slurm)
    if live and (on or dry_run):
        typed = "--on slurm" if on else "--dry-run"
        raise glasshouse.GlasshouseError(
            f"--live shows a training on this machine, and {typed} trains nothing here; leave one of them out"
        )
    if where:
        where = replace(where, dry_run=dry_run)
        print_submission(glasshouse.train(recipe, *(overrides or ()), name=name, device=device, on=where))
        return
    if dry_run:
        print_plan(glasshouse.plan(recipe, *(overrides or ()), device=device))
        return
    several = training.spec_of(recipe, *(overrides or ())).training.replicas > 1
    with serving.live_pages() if live else nullcontext():
        if several:
            print_replicas(training.train_replicas(recipe, *(overrides or ()), name=name, device=device))
        else:
            print_run(glasshouse.train(recipe, *(overrides or ()), name=name, device=device))


@has_options(Slurm, leave_out=("jobs", "dry_run"))
def resume(
    name: RunOrStudy,
    slurm: Slurm,
    device: Device = "auto",
    processes: Annotated[
        int | None, option("Continue a run in another number of processes.", low=1, high=65536, metavar="N")
    ] = None,
    task: Annotated[
        int | None, option("Train this task of an array of jobs; NAME is then the folder of the jobs.", low=0, high=10**6)
    ] = None,
    on: On = None,
) -> None:
    """Continue a run from its newest intact checkpoint, or a study with its remaining runs.

    On the CPU, a continued run has the same weights, bit for bit, as a run that was never interrupted. With --on slurm a job
    continues a run, and an array of jobs the runs of a study.

    Examples:
        glasshouse resume demo-lm
        glasshouse resume studies/demo-lm-position
        glasshouse resume big-lm --processes 4
        glasshouse resume demo-lm --on slurm --time 1:00:00
    """
    from glasshouse.api import submission
    from glasshouse.cli.run_output import print_run
    from glasshouse.cli.study_output import print_outcome

    where = cluster(on, slurm)
    if task is not None:
        submission.train_task(name, task, device)
        return
    resumed = glasshouse.resume(name, device, processes, where)
    if isinstance(resumed, glasshouse.Run):
        print_run(resumed)
    else:
        print_outcome(resumed)


def replay(
    run: Run,
    device: Device = "cpu",
    everything: Annotated[
        bool, option("Print every module and gradient, not only those around the first failure.", "--all")
    ] = False,
) -> None:
    """Repeat the step at which the loss or the gradient became NaN or infinite, and print the module that failed first.

    Examples:
        glasshouse replay demo-lm --all
    """
    from glasshouse.api import experiments

    replayed = experiments.replay(run, device)
    culprit, outputs = replayed.culprit, replayed.outputs
    position = outputs.index(culprit) if culprit else len(outputs)
    selected = outputs if everything else outputs[max(0, position - 6) : position + 3]
    rows = [
        (
            output.module,
            output.kind,
            f"{output.largest:.3g}",
            f"{output.bad:,} of {output.total:,}" if output.bad else "none",
            "<-" if output is culprit else "",
        )
        for output in selected
    ]
    console.print(f"step {replayed.step + 1}, loss {replayed.loss}")
    show(("module", "tensor", "largest finite", "not finite", ""), rows, right=(2, 3))
    if culprit:
        conclusion = f"the first value that is not finite is in the {culprit.kind} of {culprit.module}"
    else:
        conclusion = "no value was NaN or infinite in this repetition"
    console.print(conclusion)
