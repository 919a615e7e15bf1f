"""Trying a claim and keeping what was found: `finding.json` in the claim's folder, which the report reads and nothing else.

A quick look has a folder of its own inside, so that it never stands in the place of a trial.
"""

import json
import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from glasshouse.claims.claim import UNDECIDED, Bench, Claim, Evidence, Finding
from glasshouse.data.sources import data_set_list
from glasshouse.pages.claim_content import Case, Trial
from glasshouse.records import atomic_files, lock, machine
from glasshouse.specs import catalogue
from glasshouse.specs.errors import Interrupted, RunError, SpecError
from glasshouse.studies import arms, study_folder
from glasshouse.training import devices

FILE, QUICK = "finding.json", "quick"
QUICK_SEEDS = 2
# Raised whenever a finding written now could not be read by the release before.
FORMAT = 1


def root() -> Path:
    """The folder that holds a folder for each claim."""
    return study_folder.root() / "claims"


def folder_of(name: str, quick: bool = False) -> Path:
    """Where a claim's studies, runs and finding lie."""
    return root() / name / QUICK if quick else root() / name


def attempt(name: str, seeds: int | None = None, quick: bool = False, device: str = "auto") -> Case:
    """Put a claim on trial, or go on with its trial, and keep what was found."""
    claim = _claim(name)()
    wanted = (QUICK_SEEDS if quick else claim.seeds) if seeds is None else len(arms.seeds_of(str(seeds)))
    chosen = str(devices.pick(device))
    if lacking := _lacking(name, claim):
        trial = Trial(lacking, 0, quick, time.time(), machine.describe(chosen))
        if not (there := _read(folder_of(name))) or not there.seeds:
            _write(folder_of(name), trial)
        return _case(name, type(claim), trial, folder_of(name))
    bench = Bench(folder_of(name, quick), wanted, quick, device)
    bench.folder.mkdir(parents=True, exist_ok=True)
    with lock.holding(bench.folder, "wait for it or stop it"), _saying_how_to_go_on(name, seeds, quick, device):
        finding = _with_caveats(claim.try_it(bench), bench)
    trial = Trial(_set_aside(finding) if quick else finding, wanted, quick, time.time(), machine.describe(chosen))
    _write(bench.folder, trial)
    return _case(name, type(claim), trial, bench.folder)


def cases() -> list[Case]:
    """Every claim with its trial, or its quick look where there was no trial, or neither."""
    found = []
    for name in catalogue.names("claim"):
        place = next((each for each in (folder_of(name), folder_of(name, True)) if (each / FILE).exists()), None)
        try:
            found.append(_case(name, _claim(name), _read(place) if place else None, place))
        except SpecError as error:  # a claim of another package that does not load hides no other
            found.append(Case(name, str(error), "", "", "", command=f"glasshouse claim {name}", trial=None))
    return found


def _claim(name: str) -> type[Claim]:
    found: type[Claim] = catalogue.find("claim", name, "claim")
    return found


def _case(name: str, claim: type[Claim], trial: Trial | None, place: Path | None) -> Case:
    pictures = []
    for picture in trial.finding.pictures if trial and place else ():
        path = place / Path(picture).name if place else Path()
        if path.is_file():
            pictures.append((path.name, path.read_bytes()))
    said = (claim.statement, claim.source, claim.reported, claim.rule)
    return Case(name, *said, command=f"glasshouse claim {name}", trial=trial, pictures=tuple(pictures))


def _lacking(name: str, claim: Claim) -> Finding | None:
    """What is said of a claim whose data are not here; None where they are."""
    entries = [entry for entry in map(data_set_list.find, claim.needs) if not entry.present]
    if not entries:
        return None
    names = " and ".join(entry.name for entry in entries)
    fetched = [entry.command for entry in entries if entry.command]
    local = "GLASSHOUSE_DATA=FOLDER " if len(fetched) < len(entries) else ""
    command = " && ".join([*fetched, f"{local}glasshouse claim {name}"])
    origins = "; ".join(f"{entry.name}: {entry.origin}" for entry in entries)
    return Finding(
        verdict=UNDECIDED,
        because=f"Nothing was run: the data it is about ({names}) are not on this machine. This would decide it: {command}",
        scope="none",
        notes=(f"where the data are from: {origins}",),
    )


def _with_caveats(finding: Finding, bench: Bench) -> Finding:
    """The finding, saying so where its studies were given more seeds once they had been judged."""
    counts = [count for name in finding.studies for count in study_folder.StudyFolder(bench.folder / name).design().judged]
    if not counts:
        return finding
    after = " and ".join(str(count) for count in sorted(set(counts)))
    caveat = f"seeds were added after {after} had been judged: false verdicts are likelier than the rule's level says"
    return replace(finding, notes=(*finding.notes, caveat))


def _set_aside(finding: Finding) -> Finding:
    """A finding of a quick look: whatever its rule said is a note, and the verdict is undecided."""
    return replace(
        finding,
        verdict=UNDECIDED,
        because=f"This was a quick look, from which nothing follows. What it saw: {finding.because}",
        scope=f"a quick look with far too few steps and seeds to mean anything: {finding.scope}",
        notes=(*finding.notes, f"on these figures the rule would have said: {finding.verdict}"),
    )


@contextmanager
def _saying_how_to_go_on(name: str, seeds: int | None, quick: bool, device: str) -> Iterator[None]:
    """A trial that a signal stops is continued by the command that began it, not study by study."""
    options = ["--seeds", str(seeds)] if seeds is not None else []
    options += ["--quick"] if quick else []
    options += ["--device", device] if device != "auto" else []
    try:
        yield
    except Interrupted as stop:
        raise Interrupted(stop.signal, stop.reached, shlex.join(["glasshouse", "claim", name, *options])) from None


def _write(place: Path, trial: Trial) -> None:
    place.mkdir(parents=True, exist_ok=True)
    atomic_files.write_json(place / FILE, {"format": FORMAT, **asdict(trial)})


def _read(place: Path) -> Trial | None:
    """What is kept in a folder; None where nothing is."""
    path = place / FILE
    try:
        table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if table["format"] > FORMAT:
            raise RunError(
                "newer-format",
                f"{path} was written by a newer Glasshouse (format {table['format']}; this one reads up to {FORMAT}); "
                "upgrade with: pip install --upgrade glasshouse",
            )
        finding = table["finding"]
        lists = {name: tuple(finding[name]) for name in ("studies", "pictures", "notes")}
        rows = tuple(Evidence(**row) for row in finding["rows"])
        made = Finding(**{**finding, **lists, "rows": rows})
        return Trial(made, *(table[name] for name in ("seeds", "quick", "when", "machine")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        again = f"glasshouse claim {os.path.basename(place.parent if place.name == QUICK else place)}"
        raise RunError("unreadable-finding", f"{path} cannot be read ({error}); make it again with: {again}") from None
