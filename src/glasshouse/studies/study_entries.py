"""A study as an entry of the index page: read from its JSON files, without specs. A damaged one gives what can be read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasshouse.pages import study_text
from glasshouse.records import kept_json, lock
from glasshouse.records.run_entries import RunEntry, RunEntryReader, is_run
from glasshouse.records.status import Status
from glasshouse.studies.study_folder import FILE

CLAIMS = "claims"
_ENDED = (Status.DONE, Status.FAILED)


@dataclass(frozen=True)
class StudyEntry:
    """What the index page shows of a study. `verdict` is its first sentence; `claim` the claim that it is a trial of."""

    path: Path
    status: str
    kind: str = ""
    recipe: str = ""
    arms: tuple[str, ...] = ()
    planned: int = 0
    verdict: str = ""
    word: str = ""  # of the first verdict: "better"
    claim: str = ""
    changed: float = 0.0
    has_report: bool = False
    error: str = ""
    runs: tuple[RunEntry, ...] = ()

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def done(self) -> int:
        return sum(run.status in _ENDED for run in self.runs)


def folders_in(folder: Path) -> list[Path]:
    """The study folders in a folder, and those of the trials of claims."""
    try:
        found = [path.parent for path in folder.glob(f"*/{FILE}") if path.parent.name[0] != "."]
        # studies/claims/CLAIM/TRIAL/STUDY
        return sorted(found) + sorted(path.parent for path in folder.glob(f"{CLAIMS}/*/*/*/{FILE}"))
    except OSError:
        return []


def read(path: Path, reader: RunEntryReader) -> StudyEntry:
    """The entry of the study in this folder."""
    claim = path.parts[-3] if len(path.parts) > 3 and path.parts[-4] == CLAIMS else ""
    has_report = (path / "report.html").is_file()
    try:
        changed = (path / FILE).stat().st_mtime
        design = kept_json.read(path / FILE)
        arms = [(str(arm["name"]), path / str(arm["folder"]), str(arm["recipe"])) for arm in design["arms"]]
        seeds, kind, finished = list(design["seeds"]), str(design["question"]["kind"]), bool(design["finished"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{FILE} cannot be read ({error})"
        return StudyEntry(path, "damaged", claim=claim, has_report=has_report, error=reason)
    folders = [folder / f"seed-{seed}" for _, folder, _ in arms for seed in seeds]
    runs = tuple(reader.read(folder) for folder in folders if is_run(folder))
    status = Status.TRAINING if lock.is_held(path) else Status.DONE if finished else Status.INTERRUPTED
    word, verdict = _first_verdict(path)
    return StudyEntry(
        path,
        status,
        kind,
        " and ".join(dict.fromkeys(recipe.rsplit("/", 1)[-1].removesuffix(".toml") for _, _, recipe in arms)),
        tuple(name for name, _, _ in arms),
        len(folders),
        verdict,
        word,
        claim,
        max([changed, *(run.changed for run in runs)]),
        has_report,
        runs=runs,
    )


def _first_verdict(path: Path) -> tuple[str, str]:
    """The word and the sentence of the first verdict in `comparison.json`; empty if there is none yet."""
    try:
        content: Mapping[str, Any] = kept_json.read(path / "comparison.json")
        found = [arm for arm in content["arms"] if arm.get("difference")]
        if not found:
            return "", ""
        more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
        difference = found[0]["difference"]
        word, sentence = str(difference["word"]), str(found[0].get("plain") or difference["sentence"])
        return (word if word in study_text.SYMBOLS else ""), sentence + more
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "", ""
