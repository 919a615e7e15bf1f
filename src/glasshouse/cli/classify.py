"""`glasshouse classify`: predict the class of a text, or its classes, its number, or the tags of its words."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from glasshouse.cli.arguments import Device, Limits, Overwrite, Run
from glasshouse.formatting import MISSING

EXAMPLES = (
    'Examples: glasshouse classify presidents "My fellow Americans, our economy is strong." · '
    'glasshouse classify presidents "First text" "Second text" --json · '
    'glasshouse classify pair-classifier "A man sleeps." --second "Nobody is awake." · '
    "glasshouse classify presidents --file lines.txt --output classes.csv · "
    "glasshouse classify presidents --file mine.csv --field body --output classes.jsonl · "
    "cat lines.txt | glasshouse classify presidents - > classes.csv"
)
STANDARD_INPUT = "-"
# Of the standard input, in characters.
LONGEST_LINE = 1 << 24


class _Screen(io.StringIO):
    """Standard output. On a terminal, signs stand for the control characters of labels and texts."""

    def write(self, text: str) -> int:
        from glasshouse.cli.tables import shown

        return sys.stdout.write(shown(text, raw=True))


def classify(
    run: Run,
    texts: Annotated[
        list[str] | None, typer.Argument(help="One or more texts, each in quotes; - reads one text a line from a pipe.")
    ] = None,
    second: Annotated[
        list[str] | None, typer.Option(help="The second text of a pair; once for each text, in the same order.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="A file of texts: one a line, or a table (.csv, .tsv, .jsonl, ...); - is the standard input."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The file for the predictions of --file: .csv or .jsonl; default: CSV on the screen.")
    ] = None,
    overwrite: Overwrite = False,
    field: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="With --file: the column of the texts; default: that of the run's own data."),
    ] = None,
    second_field: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --file: the column of the second texts of pairs.")
    ] = None,
    limits: Limits = "",
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table; of a file, JSON lines.")] = False,
) -> None:
    """Predict the class of each text, with its probability.

    A run of the task regress predicts a number, one of multi-label every class that applies, one of tag a tag for each word.
    Of a file, the predictions are written one after another, so that its size does not matter.
    """
    import glasshouse
    from glasshouse.api import runs
    from glasshouse.cli.tables import console, show

    if texts == [STANDARD_INPUT] or (not texts and file is None and not sys.stdin.isatty()):
        texts, file = None, Path(STANDARD_INPUT)
    if (file is None) == (not texts):
        raise glasshouse.GlasshouseError(
            'classify needs either texts or --file FILE, and not both; for example: glasshouse classify RUN "a text"'
        )
    if file is None and (output or field or second_field):
        raise glasshouse.GlasshouseError(
            "--output, --field and --second-field belong to --file FILE; add it, or leave them out"
        )
    if file is not None:
        if second:
            raise glasshouse.GlasshouseError(
                "--second is for texts on the command line; name the column of a file with --second-field"
            )
        if output and as_json:
            raise glasshouse.GlasshouseError(
                f"--json is for the screen, and the ending of --output {output} names the format; leave one out"
            )
        if output and output != file:  # the file that is read is refused below, also with --overwrite
            runs.check_output(output, overwrite)
        source = _standard_input() if str(file) == STANDARD_INPUT else file
        form = ".jsonl" if as_json else ".csv"
        if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
            sys.stdout.reconfigure(encoding="utf-8")  # as an output file is
        count = runs.write_predictions(run, source, output or _Screen(), device, field, second_field, form, limits)
        if output:
            console.print(f"wrote {count:,} predictions to {output}", soft_wrap=True)
        return
    texts = texts or []
    predictions = glasshouse.predict(run, texts, device, second or None)
    if as_json:
        print(json.dumps([_content(prediction) for prediction in predictions]))
        return
    names = [f"{text} | {other}" for text, other in zip(texts, second, strict=True)] if second else texts
    named = [(_short(name), prediction) for name, prediction in zip(names, predictions, strict=True)]
    if "value" in predictions[0]:
        show(("text", "value"), [(name, f"{prediction['value']:.6g}") for name, prediction in named], right=(1,))
    elif "tags" in predictions[0]:
        show(
            ("word", "tag", "probability"), [row for prediction in predictions for row in _word_rows(prediction)], right=(2,)
        )
    elif "labels" in predictions[0]:
        show(("text", "classes", "most likely others"), [(name, *_label_cells(prediction)) for name, prediction in named])
    else:
        headings = ("text", "class", "probability", "next most likely")
        show(headings, [(name, *_class_cells(prediction)) for name, prediction in named], right=(2,))


def _standard_input() -> Iterator[str]:
    """The lines of the standard input, which must be UTF-8."""
    from glasshouse.specs.errors import DataError

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    try:
        while line := sys.stdin.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                raise DataError(
                    f"a line of the standard input has {LONGEST_LINE:,} characters or more; divide it into several lines"
                )
            yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DataError(f"the standard input is not UTF-8 text ({error}); convert it to UTF-8") from None


def _content(prediction: dict[str, Any]) -> Any:
    """What is printed as JSON: of one class, its probabilities alone."""
    return prediction["probabilities"] if "label" in prediction else prediction


def _class_cells(prediction: dict[str, Any]) -> tuple[str, str, str]:
    (best, probability), *others = prediction["probabilities"].items()
    return best, f"{probability:.1%}", _shares(others[:2])


def _label_cells(prediction: dict[str, Any]) -> tuple[str, str]:
    shares = list(prediction["probabilities"].items())
    chosen = len(prediction["labels"])
    return _shares(shares[:chosen]) or "none", _shares(shares[chosen : chosen + 2])


def _word_rows(prediction: dict[str, Any]) -> list[tuple[str, str, str]]:
    """A row for each word. A word beyond the context has no tag."""
    words = zip(prediction["words"], prediction["tags"], prediction["probabilities"], strict=True)
    return [(word, tag or MISSING, MISSING if share is None else f"{share:.1%}") for word, tag, share in words]


def _shares(pairs: list[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {share:.1%}" for name, share in pairs)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
