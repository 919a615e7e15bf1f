"""How many texts of a file a run saw in training or validation. Texts are compared word for word, by their digests."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from glasshouse.data import corpus_shards, prepared_data, text_files
from glasshouse.data.documents import Document, Source
from glasshouse.data.read_limits import ReadLimits
from glasshouse.records.user_paths import StrPath
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError

# Bytes of training text that are read again at most; such a text may be a single line.
LARGEST_TEXT = 1 << 28
ANY_LINE = ReadLimits(line=LARGEST_TEXT)
# Characters of a line that counts. Many texts share short lines.
SHORTEST_LINE = 20


def counts(run: Run, path: StrPath) -> tuple[dict[str, float], str]:
    """The texts of a file that are in each split the run saw, and a warning. Without counts, it says why none were made.

    The keys are "texts", "texts_in_train" and "texts_in_validation". The texts of a language model are lines.
    """
    source = _own_source(run)
    if isinstance(source, str):
        return {}, f"not checked whether {Path(path).name} has texts of the run's training data: {source}"
    by_lines = not run.task.columns
    given, name = list(_digests(run.source_of_file(Path(path)).documents("train"), by_lines)), Path(path).name
    found: dict[str, float] = {"texts": len(given)}
    told = []
    for split, data in (("train", "training data"), ("validation", "validation data")):
        seen = set(_digests(source.documents(split), by_lines))
        found[f"texts_in_{split}"] = count = sum(digest in seen for digest in given)
        if count:
            told.append(f"{count:,} of its {len(given):,} {'lines' if by_lines else 'texts'} are in the run's {data}")
    note = f"warning: {name} is not all new to the run: {', and '.join(told)}; its figures are better than on new texts"
    return found, note if told else ""


def _own_source(run: Run) -> Source | str:
    """The source of the run's own data, or why it cannot be compared with."""
    data = run.spec.data
    if not data.source and not data.files:
        return "the run has no data of its own"
    if "picture" in run.task.columns:
        return "pictures are not compared"
    try:
        if corpus_shards.folder_of(data):
            return "they are kept as tokens only"
        source = prepared_data.find_source(data, run.task.columns)
        if run.facts.get("data") != corpus_shards.short_digest(source.fingerprint()):
            return "they have changed since"
        if source.bytes("train") > LARGEST_TEXT:
            return "they are too large to be read for this"
    except (GlasshouseError, OSError):
        return "they can no longer be read"
    return source


def _digests(documents: Iterable[Document], by_lines: bool) -> Iterator[bytes]:
    if by_lines:
        pieces = (text if document.continues else f"\n{text}" for document in documents for text in (document.text,))
        lines = map(str.strip, text_files.split_lines(pieces, ANY_LINE))
        texts: Iterable[str] = (line for line in lines if len(line) >= SHORTEST_LINE)
    else:
        texts = (f"{document.text}\0{document.fields.get('second', '')}" for document in documents)
    for text in texts:
        yield hashlib.blake2b(text.encode(), digest_size=16).digest()
