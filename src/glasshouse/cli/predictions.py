"""Continue a prompt, translate and classify texts with a run."""

import io
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import glasshouse
from glasshouse.cli.options import (
    AsJson,
    Device,
    DType,
    Limits,
    Overwrite,
    Raw,
    Run,
    argument,
    has_options,
    option,
    writes_output,
)
from glasshouse.cli.tables import console, show, shown
from glasshouse.formatting import MISSING
from glasshouse.generation.sampling_options import Sampling
from glasshouse.records import progress_bar
from glasshouse.records.progress_bar import say
from glasshouse.specs.errors import DataError, GlasshouseError, Interrupted
from glasshouse.specs.options import given


@has_options(Sampling, leave_out=("presence_penalty", "frequency_penalty"), temperature=0.8)
def sample(
    run: Run,
    sampling: Sampling,
    prompt: Annotated[str, option("The text to continue; default: the start of a new document.")] = "",
    tokens: Annotated[int, option("The largest number of tokens to generate.", high=10**6)] = 100,
    stop: Annotated[list[str] | None, option("Stop before this text; can be repeated.")] = None,
    regex: Annotated[
        str | None, option("The whole continuation matches this regular expression.", metavar="PATTERN")
    ] = None,
    json_schema: Annotated[
        Path | None, option("The continuation is JSON that is valid under the schema in this file.", metavar="FILE")
    ] = None,
    count: Annotated[int, option("The number of continuations.", low=1, high=4096)] = 1,
    raw: Raw = False,
    device: Device = "auto",
    dtype: DType = "float32",
) -> None:
    """Continue a prompt. A single continuation is printed token by token.

    Examples:
        glasshouse sample demo-lm --prompt "The state of"
        glasshouse sample demo-lm --prompt "My fellow" --temperature 0
        glasshouse sample demo-lm --count 3 --top-p 0.9 --seed 7
        glasshouse sample demo-lm --prompt "In the year " --regex "(19|20)[0-9]{2}"
        glasshouse sample demo-lm --json-schema speech.json --tokens 300
    """
    from glasshouse.cli.run_output import print_completion

    opened = glasshouse.open_run(run, device, dtype)
    completions = [opened.new_completion(prompt) for _ in range(count)]
    pieces = opened.stream(
        completions,
        tokens=tokens,
        stop=stop or (),
        regex=regex,
        json_schema=json_schema,
        **given(sampling),
    )
    if count > 1:
        made = _all_pieces(pieces, count * tokens)
        for completion in completions:
            if raw:
                sys.stdout.write(shown(completion.prompt + completion.text, raw) + "\n\n")
            else:
                print_completion(completion)
        if not made:
            raise Interrupted(signal.SIGINT, "stopped; the continuations are cut off")
    else:
        sys.stdout.write(shown(prompt, raw))
        for piece in pieces:
            sys.stdout.write(shown(piece.text, raw))
            sys.stdout.flush()
        sys.stdout.write("\n")
    cut = sum(completion.finish != "end" for completion in completions)
    if cut and (regex is not None or json_schema is not None):
        which = "the continuation was" if count == 1 else f"{cut} of {count} continuations were"
        typer.echo(f"{which} cut off and may lack the end of the form; raise --tokens", err=True)


def _all_pieces(pieces: Iterator[object], total: int) -> bool:
    """Make all continuations, with a progress bar. False if Ctrl-C stopped it."""
    try:
        with progress_bar.bar("sampling") as bar:
            for number, _ in enumerate(pieces, 1):
                bar(number / total)
    except KeyboardInterrupt:
        return False
    return True


@writes_output
def translate(
    run: Run,
    texts: Annotated[list[str] | None, argument("One or more texts, each in quotes.")] = None,
    file: Annotated[Path | None, option("A file to translate, line by line.")] = None,
    output: Annotated[Path | None, option("The file to write the translations to, one per line.")] = None,
    beams: Annotated[int | None, option("The beam width; 1 is greedy decoding.", low=1, high=1000)] = None,
    length_penalty: Annotated[
        float | None, option("Rank beams by log-probability / length ** PENALTY; 0 favours short outputs.", max=100)
    ] = None,
    n_best: Annotated[int, option("The number of translations per text.", low=1, high=1000)] = 1,
    word_by_word: Annotated[
        bool | None,
        option("Translate each word separately, or the whole text; default: as trained.", "--word-by-word/--whole"),
    ] = None,
    raw: Raw = False,
    limits: Limits = "",
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Translate texts, or the lines of a file, by greedy decoding or beam search.

    Examples:
        glasshouse translate piglatin-encoder-decoder "the air conditioning is working"
        glasshouse translate multi30k "A dog runs." --beams 5 --n-best 3
        glasshouse translate multi30k --file english.txt --output german.txt
    """
    from glasshouse.api import runs

    if (file is None) == (not texts):
        raise GlasshouseError(
            'translate needs either texts or --file FILE, and not both; for example: glasshouse translate RUN "a text"'
        )
    options = {"beams": beams, "length_penalty": length_penalty, "n_best": n_best, "word_by_word": word_by_word}
    if file:
        translations = runs.translate_file(run, file, device, limits, **options)
    else:
        translations = glasshouse.translate(run, texts or (), device, **options)
    if truncated := sum(best[0].truncated for best in translations if best):
        say(f"{truncated} of {len(translations)} sources are longer than the context of the run and were truncated")
    if as_json:
        rows = [[{"text": item.text, "score": item.score} for item in best] for best in translations]
        lines = [json.dumps(rows)]
    else:
        # An empty source has no translation; an empty line keeps the lines of input and output aligned.
        texts_of = [
            [f"{item.score:.3f}  {item.text}" if n_best > 1 else item.text for item in best] for best in translations
        ]
        lines = [line for group in texts_of for line in group or [""]]
    if output:
        runs.write_lines(output, lines)
        return
    for line in lines:
        print(shown(line, raw))


STANDARD_INPUT = "-"
# Of the standard input, in characters.
LONGEST_LINE = 1 << 24


class _Screen(io.StringIO):
    """Standard output. On a terminal, signs stand for the control characters of labels and texts."""

    def write(self, text: str) -> int:
        return sys.stdout.write(shown(text, raw=True))


def classify(
    run: Run,
    texts: Annotated[
        list[str] | None, argument("One or more texts, each in quotes; - reads one text a line from a pipe.")
    ] = None,
    second: Annotated[list[str] | None, option("The second text of a pair; once for each text, in the same order.")] = None,
    file: Annotated[
        Path | None, option("A file of texts: one a line, or a table (.csv, .tsv, .jsonl, ...); - is the standard input.")
    ] = None,
    output: Annotated[
        Path | None, option("The file for the predictions of --file: .csv or .jsonl; default: CSV on the screen.")
    ] = None,
    overwrite: Overwrite = False,
    field: Annotated[
        str | None, option("With --file: the column of the texts; default: that of the run's own data.", metavar="COLUMN")
    ] = None,
    second_field: Annotated[
        str | None, option("With --file: the column of the second texts of pairs.", metavar="COLUMN")
    ] = None,
    limits: Limits = "",
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Predict the class of each text, with its probability.

    A run of the task regress predicts a number, one of multi-label every class that applies, one of tag a tag for each word.
    Of a file, the predictions are written one after another, so that its size does not matter.

    Examples:
        glasshouse classify presidents "My fellow Americans, our economy is strong."
        glasshouse classify presidents "First text" "Second text" --json
        glasshouse classify pair-classifier "A man sleeps." --second "Nobody is awake."
        glasshouse classify presidents --file lines.txt --output classes.csv
        glasshouse classify presidents --file mine.csv --field body --output classes.jsonl
        cat lines.txt | glasshouse classify presidents - > classes.csv
    """
    from glasshouse.api import runs

    if texts == [STANDARD_INPUT] or (not texts and file is None and not sys.stdin.isatty()):
        texts, file = None, Path(STANDARD_INPUT)
    if (file is None) == (not texts):
        raise GlasshouseError(
            'classify needs either texts or --file FILE, and not both; for example: glasshouse classify RUN "a text"'
        )
    if file is None and (output or field or second_field):
        raise GlasshouseError("--output, --field and --second-field belong to --file FILE; add it, or leave them out")
    if file is not None:
        if second:
            raise GlasshouseError("--second is for texts; name the column of a file with --second-field")
        if output and as_json:
            raise GlasshouseError(f"--json is for the screen; the ending of {output} names the format; leave one out")
        if output and output != file:  # the file that is read is refused below, also with --overwrite
            runs.check_output(output, overwrite=overwrite)
        source = _standard_input() if str(file) == STANDARD_INPUT else file
        form = ".jsonl" if as_json else ".csv"
        if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
            sys.stdout.reconfigure(encoding="utf-8")  # as an output file is
        count = runs.write_predictions(run, source, output or _Screen(), device, field, second_field, form, limits)
        if output:
            console.print(f"wrote {count:,} predictions to {output}")
        return
    texts = texts or []
    predictions = glasshouse.predict(run, texts, device, second or None)
    if as_json:
        # Of one class, its probabilities alone.
        print(json.dumps([each["probabilities"] if "label" in each else each for each in predictions]))
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
