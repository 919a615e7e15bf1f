"""`glasshouse data`: list, fetch and show data sets; look at one's own files; tokenise large text files."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glasshouse.cli.doctor import milliseconds
from glasshouse.cli.jobs import print_submission
from glasshouse.cli.options import Device, Limits, On, argument, cluster, group, has_options, option
from glasshouse.cli.tables import console, show, shown
from glasshouse.formatting import count, duration, size
from glasshouse.launching.cluster_settings import Slurm

if TYPE_CHECKING:
    from glasshouse.api.data import LookedAtData

CLASSES_SHOWN = 12
# Of the letters, for a script to be named.
SMALLEST_SHARE = 0.005


def _print_look(found: "LookedAtData") -> None:
    """Print columns, splits, classes, lengths and examples."""
    look = found.look
    if look is None:
        return
    if look.columns:
        rows = []
        for one in look.columns:
            more = "+" if one.sampled else ""  # only the first rows were counted
            rows.append((one.name, one.kind, f"{one.values:,}{more}", f"{one.empty:,}{more}", one.example))
        show(("column", "kind", "values", "empty", "example"), rows, right=(2, 3))
    if look.splits:
        sizes = [(split.name, f"{split.documents:,}", size(split.bytes)) for split in look.splits]
        show(("split", "documents", "text"), sizes, right=(1, 2))
    if look.classes:
        shown_classes, others = list(look.classes[:CLASSES_SHOWN]), look.classes[CLASSES_SHOWN:]
        if others:
            shown_classes.append((f"{len(others)} more", sum(rows for _, rows in others)))
        total = sum(rows for _, rows in look.classes)
        cells = [(name, f"{rows:,}", f"{rows / total:.1%}") for name, rows in shown_classes]
        title = f"{len(look.classes)} classes" if len(look.classes) > 1 else "1 class"
        show((title, "rows", "share"), cells, right=(1, 2))
    facts = []
    if look.words:
        median, long, longest = look.words.values()
        length = f"half of the texts have up to {median:,.0f} words, 95 % up to {long:,.0f}, all up to {longest:,.0f}"
        facts.append(("length", length))
    if found.truncated:
        context = f"{found.truncated:.1%} of the texts are longer than data.context={found.spec.data.context}"
        facts.append(("context", context))
    if look.repeated:
        facts.append(("repeats", f"{look.repeated:,} rows have the text of an earlier row"))
    if look.scripts:
        scripts = [f"{script} {share:.0%}" for script, share in look.scripts[:4] if share >= SMALLEST_SHARE]
        facts.append(("letters", ", ".join(scripts)))
    if facts:
        show(("what", "found"), facts)
    if look.examples:
        show(("example", "text"), list(look.examples))


FIELD_VALUE = re.compile(r"[a-z_]+(\.[a-z_]+)*=")
Name = Annotated[str, argument("The name of a data set.")]


def data(context: typer.Context) -> None:
    """List data sets; `get` fetches one, `show` describes one. `look` shows your own files, `prepare` tokenises them.

    Examples:
        glasshouse data
        glasshouse data get shakespeare
        glasshouse data show state-of-the-union
    """
    if context.invoked_subcommand is None:
        from glasshouse.api import data

        rows = [
            (entry.name, entry.about, f"{'yes' if entry.present else 'no'}: {entry.availability}", entry.licence)
            for entry in data.data_sets()
        ]
        show(("name", "description", "available", "licence"), rows)


def get(name: Name) -> None:
    """Fetch a data set into the cache and verify its checksum.

    Examples:
        glasshouse data get shakespeare
    """
    from glasshouse.api import data

    for path in data.get_data(name):
        print(shown(str(path), raw=True))


def show_(name: Name) -> None:
    """Show the origin, licence and splits of a data set, and the beginning of its text.

    Examples:
        glasshouse data show state-of-the-union
    """
    from glasshouse.api import data

    entry, splits = data.data_set(name)
    show((name, ""), [("description", entry.about), ("origin", entry.origin), ("licence", entry.licence)])
    rows = [(split.name, f"{split.documents:,}", size(split.bytes)) for split in splits]
    show(("split", "documents", "text"), rows, right=(1, 2))
    if packages := data.data_set_packages(name):
        lines = [
            (
                f"{one.name} {one.version}",
                one.licence or "not stated",
                one.split or f"none: {one.reason}",
                f"{len(one.files):,}",
                size(one.bytes),
            )
            for one in packages
        ]
        show(("package", "licence", "split", "files", "text"), lines, right=(3, 4))
    console.print(splits[0].excerpt)


def look(
    files: Annotated[list[str], argument("Files, folders or patterns; then FIELD=VALUE for the recipe.")],
    recipe: Annotated[str | None, option("The recipe to train with; default: the one that fits.")] = None,
    cost: Annotated[bool, option("Take a few steps to predict the time.", "--cost/--no-cost")] = True,
    device: Device = "auto",
) -> None:
    """Show what would be understood of your own files: columns, classes, lengths, repeats, and what a run would cost.

    Examples:
        glasshouse data look mine.csv
        glasshouse data look reviews.tsv data.label=2
        glasshouse data look 'texts/*.txt' --recipe masked-model --no-cost
    """
    from glasshouse.api import data

    overrides = [word for word in files if FIELD_VALUE.match(word) and not Path(word).exists()]
    names = [word for word in files if word not in overrides]
    found = data.look_at_data(names, *overrides, recipe=recipe, cost=cost, device=device)
    _print_look(found)
    for note in found.notes:
        console.print(note)
    if found.refusal:
        raise found.refusal
    words = [f"data.files=[{','.join(names)}]" if len(names) > 1 else f"data.files={names[0]}", *overrides]
    console.print(f"\ntrain with:  glasshouse train {found.recipe} {' '.join(words)}")
    if plan := found.plan:
        console.print(
            f"which has {count(sum(plan.parameters.values()))} parameters and takes {plan.steps:,} steps of "
            f"{milliseconds(plan.step_seconds)}: {duration(plan.seconds)} on this machine"
        )


@has_options(Slurm, leave_out=("nodes", "jobs", "gpus_per_node"))
def prepare(
    files: Annotated[list[str], argument("Text files: plain, .gz or JSON lines.")],
    slurm: Slurm,
    recipe: Annotated[str, option("The recipe to prepare for. Its data settings are the defaults.")] = ("language-model"),
    tokenizer: Annotated[str | None, option("A kind of tokenizer to train, or a tokenizer.json.")] = None,
    vocabulary: Annotated[int | None, option("The size of the vocabulary.", high=10**7)] = None,
    pattern: Annotated[str | None, option("The pre-tokenizer of byte-pair: gpt-2 or gpt-4.")] = None,
    validation: Annotated[float | None, option("The share held out for validation.")] = None,
    test: Annotated[float | None, option("The share held out for testing.")] = None,
    field: Annotated[str | None, option("The field of a JSON line that holds the text.")] = None,
    limits: Limits = "",
    jobs: Annotated[
        int | None, option("Processes that encode parts of the text, or with --on slurm jobs; default: 1.", high=10000)
    ] = None,
    output: Annotated[str | None, option("The folder for the shards, for data.files=FOLDER; or the cache.")] = None,
    on: On = None,
    name: Annotated[str | None, option("With --on slurm: the name of the jobs; default: the folder's.")] = None,
) -> None:
    """Tokenise large text files in parallel. `train` on the same files and data settings finds the result.

    The command can be stopped at any moment; the same command goes on. Several at the same time, also on several machines,
    share the work; with --on slurm they are the jobs of an array. Memory does not grow with the size of the text.

    Examples:
        glasshouse data prepare corpus.txt --jobs 8
        then: glasshouse train language-model data.files=corpus.txt
        on a cluster: glasshouse data prepare corpus.txt --output prepared --on slurm --jobs 16
    """
    from glasshouse.api import corpora

    text: dict[str, Any] = {
        "recipe": recipe,
        "output": output,
        "tokenizer": tokenizer,
        "vocabulary": vocabulary,
        "pattern": pattern,
        "validation": validation,
        "test": test,
        "field": field,
        "limits": limits or None,
    }
    if where := cluster(on, slurm):
        print_submission(corpora.submit_preparation(files, name=name, on=replace(where, jobs=jobs), **text))
        return
    prepared = corpora.prepare_data(files, jobs=1 if jobs is None else jobs, **text)
    for damaged in prepared.remade:
        print(shown(f"the {damaged} split was damaged and has been made again"))
    rows = [
        (split, f"{shard.documents:,}", f"{shard.tokens_count:,}", size(shard.bytes))
        for split, shard in prepared.shards.items()
    ]
    show(("split", "documents", "tokens", "text"), rows, right=(1, 2, 3))
    print(shown(f"shards  {prepared.folder}"))


app = group(data, get, show_, look, prepare)
