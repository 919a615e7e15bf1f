"""Excerpts of large texts, on which a quick run of a claim trains. Knows nothing of the claim."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from glasshouse.claims.bench import Bench
from glasshouse.data import prepared_data
from glasshouse.records import atomic_files
from glasshouse.specs.spec import DataSpec

SIZE = 120_000  # characters


def with_excerpt(bench: Bench, study: str, source: str, words: Sequence[str] = ()) -> Bench:
    """The bench. In a quick run the study trains on an excerpt of the source, with these words instead of its own."""
    if not bench.quick:
        return bench
    plan = bench.plans[study]
    excerpt = write_excerpt(bench.folder, source)
    quick = replace(plan, words=tuple(words) or plan.words, quick=(f"data.files=[{excerpt}]", *plan.quick))
    return replace(bench, plans={**bench.plans, study: quick})


def write_excerpt(folder: Path, source: str) -> Path:
    """Write the beginning of a source's training text to a file and return its path."""
    path = folder.absolute() / "excerpt.txt"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        documents = prepared_data.find_source(DataSpec(source=source)).documents("train")
        text = ""
        while len(text) < SIZE and (document := next(documents, None)):
            text += document.text + "\n"
        atomic_files.write_text(path, text[:SIZE])
    return path
