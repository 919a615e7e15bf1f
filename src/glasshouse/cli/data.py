"""`glasshouse data`: list, fetch and show data sets; look at one's own files; tokenise large text files."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from glasshouse.cli.arguments import Device, Limits, On
from glasshouse.cli.options import at_most, cluster, has_options
from glasshouse.launching.cluster_settings import Slurm

app = typer.Typer(
    help="List data sets; `get` fetches one, `show` describes one. `look` shows your own files, `prepare` tokenises them.",
    invoke_without_command=True,
    epilog="Examples: glasshouse data · glasshouse data get shakespeare · glasshouse data show state-of-the-union",
)
FIELD_VALUE = re.compile(r"[a-z_]+(\.[a-z_]+)*=")
Name = Annotated[str, typer.Argument(help="The name of a data set.")]


@app.callback()
def listing(context: typer.Context) -> None:
    """List data sets; `get` fetches one, `show` describes one. `look` shows your own files, `prepare` tokenises them."""
    if context.invoked_subcommand is None:
        from glasshouse.api import data
        from glasshouse.cli.tables import show as show_table

        rows = [
            (entry.name, entry.about, f"{'yes' if entry.present else 'no'}: {entry.availability}", entry.licence)
            for entry in data.data_sets()
        ]
        show_table(("name", "description", "available", "licence"), rows)


@app.command(epilog="Example: glasshouse data get shakespeare")
def get(name: Name) -> None:
    """Fetch a data set into the cache and verify its checksum."""
    from glasshouse.api import data
    from glasshouse.cli.tables import shown

    for path in data.get_data(name):
        print(shown(str(path), raw=True))


@app.command(epilog="Example: glasshouse data show state-of-the-union")
def show(name: Name) -> None:
    """Show the origin, licence and splits of a data set, and the beginning of its text."""
    from glasshouse.api import data
    from glasshouse.cli.tables import console
    from glasshouse.cli.tables import show as show_table
    from glasshouse.formatting import size

    entry, splits = data.data_set(name)
    show_table((name, ""), [("description", entry.about), ("origin", entry.origin), ("licence", entry.licence)])
    rows = [(split.name, f"{split.documents:,}", size(split.bytes)) for split in splits]
    show_table(("split", "documents", "text"), rows, right=(1, 2))
    if packages := data.data_set_packages(name):
        lines = [
            (
                f"{one.name} {one.version}",
                one.licence or "not stated",
                one.split or f"none: {one.reason}",
                f"{one.files:,}",
                size(one.bytes),
            )
            for one in packages
        ]
        show_table(("package", "licence", "split", "files", "text"), lines, right=(3, 4))
    console.print(splits[0].excerpt, markup=False)


@app.command(
    epilog="Examples: glasshouse data look mine.csv · glasshouse data look reviews.tsv data.label=2 · "
    "glasshouse data look 'texts/*.txt' --recipe masked-model --no-cost"
)
def look(
    files: Annotated[list[str], typer.Argument(help="Files, folders or patterns; then FIELD=VALUE for the recipe.")],
    recipe: Annotated[str | None, typer.Option(help="The recipe to train with; default: the one that fits.")] = None,
    cost: Annotated[bool, typer.Option("--cost/--no-cost", help="Take a few steps to predict the time.")] = True,
    device: Device = "auto",
) -> None:
    """Show what would be understood of your own files: columns, classes, lengths, repeats, and what a run would cost."""
    from glasshouse.api import data
    from glasshouse.cli.data_output import print_look

    overrides = [word for word in files if FIELD_VALUE.match(word) and not Path(word).exists()]
    names = [word for word in files if word not in overrides]
    found = data.look_at_data(names, *overrides, recipe=recipe, cost=cost, device=device)
    print_look(found, [f"data.files=[{','.join(names)}]" if len(names) > 1 else f"data.files={names[0]}", *overrides])
    if found.refusal:
        raise found.refusal


@app.command(
    epilog="Examples: glasshouse data prepare corpus.txt --jobs 8 · then: glasshouse train language-model "
    "data.files=corpus.txt · on a cluster: glasshouse data prepare corpus.txt --output prepared --on slurm --jobs 16 · "
    "as the second of eight workers, by hand: glasshouse data prepare corpus.txt --part 2/8"
)
@has_options(Slurm, leave_out=("nodes", "jobs", "gpus_per_node"))
def prepare(
    files: Annotated[list[str], typer.Argument(help="Text files: plain, .gz or JSON lines.")],
    slurm: Slurm,
    recipe: Annotated[str, typer.Option(help="The recipe to prepare for. Its data settings are the defaults.")] = (
        "language-model"
    ),
    tokenizer: Annotated[str | None, typer.Option(help="A kind of tokenizer to train, or a tokenizer.json.")] = None,
    vocabulary: Annotated[int | None, typer.Option(callback=at_most(10**7), help="The size of the vocabulary.")] = None,
    pattern: Annotated[str | None, typer.Option(help="The pre-tokenizer of byte-pair: gpt-2 or gpt-4.")] = None,
    validation: Annotated[float | None, typer.Option(help="The share held out for validation.")] = None,
    test: Annotated[float | None, typer.Option(help="The share held out for testing.")] = None,
    field: Annotated[str | None, typer.Option(help="The field of a JSON line that holds the text.")] = None,
    limits: Limits = "",
    jobs: Annotated[
        int | None,
        typer.Option(
            callback=at_most(10_000), help="Processes that encode parts of the text, or with --on slurm jobs; default: 1."
        ),
    ] = None,
    part: Annotated[str | None, typer.Option(help="Be one of several workers: 2/8 is the second of eight.")] = None,
    output: Annotated[
        str | None, typer.Option(help="The folder for the shards, for data.files=FOLDER; or the cache.")
    ] = None,
    on: On = None,
    name: Annotated[str | None, typer.Option(help="With --on slurm: the name of the jobs; default: the folder's.")] = None,
) -> None:
    """Tokenise large text files in parallel. `train` on the same files and data settings finds the result.

    The command can be stopped at any moment; the same command goes on. Memory per process does not depend on the size of the
    text. With --on slurm the jobs of an array encode the text, and a last job joins the parts.
    """
    import glasshouse
    from glasshouse.api import corpora, corpus_jobs
    from glasshouse.cli.job_output import print_submission
    from glasshouse.cli.tables import show as show_table
    from glasshouse.cli.tables import shown
    from glasshouse.formatting import size

    settings: dict[str, Any] = {
        "vocabulary": vocabulary,
        "pattern": pattern,
        "validation": validation,
        "test": test,
        "field": field,
        "limits": limits or None,
    }
    text: dict[str, Any] = {"recipe": recipe, "output": output, "tokenizer": tokenizer, **settings}
    if where := cluster(on, slurm):
        if part is not None:
            raise glasshouse.GlasshouseError(
                "is one worker, and --on slurm submits all; leave one of them out", "part", part
            )
        print_submission(corpus_jobs.submit_preparation(files, name=name, on=replace(where, jobs=jobs), **text))
        return
    prepared = corpora.prepare_data(files, jobs=1 if jobs is None else jobs, part=part, **text)
    if not prepared.shards:
        done = prepared.parts - prepared.missing
        print(f"{done} of {prepared.parts} parts are encoded; the same command without --part joins them")
        return
    for damaged in prepared.remade:
        print(shown(f"{damaged} was damaged and has been made again"))
    rows = [
        (split, f"{shard.documents:,}", f"{shard.tokens_count:,}", size(shard.bytes))
        for split, shard in prepared.shards.items()
    ]
    show_table(("split", "documents", "tokens", "text"), rows, right=(1, 2, 3))
    print(shown(f"shards  {prepared.folder}"))
