"""The samples of a run in training: `samples.jsonl` in its folder, a JSON object per line, each with its step. Makes none.

Only the newest evaluations are kept, so the file stays small. It is written whole under a temporary name and renamed.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from glasshouse.records import atomic_files, kept_json, kept_schema, plain_files

NAME = "samples.jsonl"
# Samples of so many evaluations are kept.
MOST_STEPS = 4
MOST_CHARACTERS = 2000
# A larger file is not one that training has written.
MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class KeptSample:
    """A text that the model continued with the weights of a step. `how` names the settings of sampling."""

    step: kept_schema.Step
    prompt: str
    text: str
    how: str


def read(run: Path) -> tuple[KeptSample, ...]:
    """The samples of a run, the newest first; none if the file is missing. Damaged lines are skipped."""
    file = run / NAME
    try:
        content = plain_files.read_text(file, MOST_BYTES)
    except OSError:
        return ()
    found = []
    for line in content.splitlines():
        with suppress(ValueError):
            found.append(kept_json.parse(line, KeptSample))
    return tuple(sorted(found, key=lambda sample: -sample.step))


def add(run: Path, samples: Sequence[KeptSample]) -> None:
    """Add the samples of an evaluation. Those of the oldest are dropped."""
    earlier = [sample for sample in read(run) if sample.step not in {new.step for new in samples}]
    _write(run, [*samples, *earlier])


def rewind(run: Path, step: int) -> None:
    """Delete the samples after `step`. A run that resumes from there makes them again."""
    if (run / NAME).exists():
        _write(run, [sample for sample in read(run) if sample.step <= step])


def _write(run: Path, samples: Sequence[KeptSample]) -> None:
    steps = sorted({sample.step for sample in samples}, reverse=True)[:MOST_STEPS]
    rows = [asdict(sample) for sample in samples if sample.step in steps]
    for row in rows:
        row.update({name: row[name][:MOST_CHARACTERS] for name in ("prompt", "text")})
    atomic_files.write_text(run / NAME, "".join(json.dumps(row) + "\n" for row in rows))
