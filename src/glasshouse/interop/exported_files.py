"""The files that several exports write: the model card, and the run's tokenizer with the special tokens of its task.

The tokenizers of Glasshouse add no tokens, because the tasks do. Other programs know no tasks, so their tokenizer must: the
separator between the texts of a pair, and the end of a text that is to be translated. A tokenizer from elsewhere that has a
template keeps it, because the run used it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glasshouse.interop.sentencepiece import template
from glasshouse.records import atomic_files, kept_json
from glasshouse.runs import model_card
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotExport

TOKENIZER = "tokenizer.json"

# A ByteLevel post-processor changes offsets, not ids, so a template may take its place.
REPLACEABLE = (None, "ByteLevel")


def document(run: Run) -> dict[str, Any] | None:
    """The contents of tokenizer.json; None if the run has no tokenizer."""
    if not run.folder.tokenizer_file.exists():
        return None
    contents: dict[str, Any] = kept_json.required(
        run.folder.tokenizer_file, dict[str, Any], "restore it, or train the run again", CannotExport
    )
    if (contents.get("post_processor") or {}).get("type") not in REPLACEABLE:
        return contents
    tokenizer = run.tokenizer
    names, end = {id: text for text, id in tokenizer.specials.items()}, tokenizer.end_of_text
    if run.spec.data.second:
        pair: list[int | str] = ["A", *tokenizer.pair_separator, "B"]
        contents["post_processor"] = template(names, ("A",), pair, second_segment=1)
    elif run.spec.task == "translate" and run.spec.model.kind == "encoder-decoder":
        after: list[int | str] = [] if end is None else [end]
        contents["post_processor"] = template(names, ["A", *after], ["A", "B", *after], second_segment=1)
    return contents


def padding(run: Run, known: int | None) -> int | None:
    """The id that fills up the shorter texts of a batch: the known one, or a special token. None for other language models.

    Classifiers that are decoders find the last token of a text by this id, so it must be none that ends a text. Encoders and
    translators read a mask, but `generate` makes one from this id if it gets none. A language model has no padding, because
    programs that train it further do not learn the end of a text if it is the padding.
    """
    kind, tokenizer = run.spec.model.kind, run.tokenizer
    if kind not in ("encoder", "encoder-decoder") and "labels" not in run.facts:
        return known
    ending = {*tokenizer.prefix_and_suffix[1], *([tokenizer.end_of_text] if kind == "encoder-decoder" else [])}
    if known is not None and not (kind == "decoder" and known in ending):
        return known
    choices = [id for id in tokenizer.specials.values() if id not in ending and id != tokenizer.unknown]
    return next(iter(choices), None if kind == "decoder" else tokenizer.end_of_text)


@contextmanager
def told(output: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise CannotExport(f"{output} exists already; choose another directory, or delete it") from None
    except OSError as error:
        raise CannotExport(
            f"cannot write {output}: {error.strerror or error}; check the path and the free disk space"
        ) from None


@contextmanager
def folder(run: Run, output: Path, tokenizer: dict[str, Any] | None) -> Iterator[Path]:
    """The folder of an export, with the model card and the tokenizer. It is written whole or not at all."""
    with told(output), atomic_files.folder(output) as temporary:
        atomic_files.write_text(temporary / model_card.FILE, model_card.markdown(run))
        if tokenizer is not None:
            atomic_files.write_json(temporary / TOKENIZER, tokenizer)
        yield temporary
