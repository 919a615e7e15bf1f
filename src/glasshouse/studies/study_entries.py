"""A study as an entry of the index page: read from its JSON files, without specs. A damaged one gives what can be read."""

from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from glasshouse.records import containment, kept_json, kept_schema, lock
from glasshouse.records.kept_schema import Seed, Size, Text
from glasshouse.records.run_entries import DAMAGED, RunEntryReader, is_run
from glasshouse.records.status import Status
from glasshouse.results.index import StudyEntry
from glasshouse.specs.errors import RunError
from glasshouse.studies import study_folder
from glasshouse.studies.study_folder import CLAIMS, FILE, MOST_ARMS, MOST_SEEDS
from glasshouse.verdicts.verdict import WORDS

# What an entry needs of `study.json` and `comparison.json`. No spec is parsed: a study that cannot be opened may have one.


class EntryQuestion(TypedDict):
    kind: Text


class EntryArm(TypedDict):
    name: Text
    folder: Text
    recipe: Text


class EntryTable(TypedDict):
    arms: Annotated[list[EntryArm], Size(1, MOST_ARMS)]
    seeds: Annotated[list[Seed], Size(1, MOST_SEEDS)]
    question: EntryQuestion
    finished: bool


class EntryVerdict(TypedDict):
    word: str
    sentence: str


class JudgedArm(TypedDict):
    name: NotRequired[str]
    difference: EntryVerdict | None
    plain: NotRequired[str]
    caution: NotRequired[str]


class VerdictTable(TypedDict):
    arms: list[JudgedArm]
    edges: NotRequired[list[str]]


def folders_in(folder: Path) -> list[Path]:
    """The study folders in a folder, and those of the trials of claims."""
    try:
        found = [path.parent for path in folder.glob(f"*/{FILE}") if path.parent.name[0] != "."]
        # studies/claims/CLAIM/TRIAL/STUDY
        return sorted(found) + sorted(path.parent for path in folder.glob(f"{CLAIMS}/*/*/*/{FILE}"))
    except OSError:
        return []


def read(path: Path, reader: RunEntryReader) -> StudyEntry:
    claim = path.parts[-3] if len(path.parts) > 3 and path.parts[-4] == CLAIMS else ""
    has_report = (path / "report.html").is_file()
    try:
        changed = (path / FILE).stat().st_mtime
        design = kept_json.read(path / FILE, dict[str, Any])
        _, faults = study_folder.informing_entries(design)
        kept_schema.as_type(design, EntryTable)
        arms = [
            (arm["name"], containment.folder_within(path, [arm["folder"]], path / FILE), arm["recipe"])
            for arm in design["arms"]
        ]
    except (OSError, ValueError, RunError) as error:
        reason = f"{FILE} cannot be read ({error})"
        return StudyEntry(path, DAMAGED, claim=claim, has_report=has_report, error=reason)
    seeds, kind, finished = design["seeds"], design["question"]["kind"], design["finished"]
    folders = [folder / f"seed-{seed}" for _, folder, _ in arms for seed in seeds]
    runs = tuple(reader.read(folder) for folder in folders if is_run(folder))
    status: str = Status.TRAINING if lock.is_held(path) else Status.DONE if finished else Status.INTERRUPTED
    damage = "; ".join(f"{FILE}: {fault}" for fault in faults)
    names = tuple(name for name, _, _ in arms)
    judged, verdict, words, cautions = _verdicts(path)
    return StudyEntry(
        path,
        DAMAGED if damage else status,
        kind,
        " and ".join(dict.fromkeys(recipe.rsplit("/", 1)[-1].removesuffix(".toml") for _, _, recipe in arms)),
        judged if sorted(judged) == sorted(names) else names,  # a sweep is in the order of its values
        len(folders),
        verdict,
        words,
        cautions,
        claim,
        max([changed, *(run.changed for run in runs)]),
        has_report,
        damage,
        runs=runs,
    )


def _verdicts(path: Path) -> tuple[tuple[str, ...], str, tuple[str, ...], tuple[str, ...]]:
    """The arms in the order of `comparison.json`, the first verdict, the words of all verdicts, cautions; empty if none."""
    try:
        content = kept_json.read(path / "comparison.json", VerdictTable)
    except (OSError, ValueError):
        return (), "", (), ()
    found = [arm for arm in content["arms"] if arm.get("difference")]
    cautions = dict.fromkeys([*(arm.get("caution", "") for arm in found), *content.get("edges", ())])
    return (
        tuple(arm.get("name", "") for arm in content["arms"]),
        next((arm.get("plain") or arm["difference"]["sentence"] for arm in found), ""),
        tuple(word for arm in found if (word := arm["difference"]["word"]) in WORDS),
        tuple(filter(None, cautions)),
    )
