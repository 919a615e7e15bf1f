"""The record of trials: a folder with every registration, the values of every seed, and the pages made from them.

`registry/NAME-N.json` and `values/NAME-N.json` are the two files of trial N of a claim, and `earlier.json` tells of trials
before registration was required. Everything else in the folder follows from them. `check` computes it again and compares.
"""

from dataclasses import replace
from pathlib import Path

from glasshouse.claims import registration as registrations
from glasshouse.claims import trial_values, trials
from glasshouse.claims.claim import GROUPS
from glasshouse.pages import claim_pages
from glasshouse.records import atomic_files
from glasshouse.results.claim import Case, Trial
from glasshouse.specs.errors import RunError

REGISTRY, VALUES, EARLIER = "registry", "values", "earlier.json"


def cases_with(folder: Path | None = None) -> list[Case]:
    """Every claim with its trials: those of the record, and those of the studies folder that the record does not have."""
    recorded = read(folder) if folder else {}
    earlier = _read_earlier(folder) if folder else {}
    cases = []
    for case in trials.list_cases():
        finished = {_key(trial): trial for trial in case.trials if trial.finding}
        known = []
        for trial in recorded.get(case.name, ()):
            later = None if trial.finding else finished.get(_key(trial))  # measured after it had been recorded
            known.append(replace(trial, measured=later.measured, finding=later.finding) if later else trial)
        keys = {_key(trial) for trial in known}
        new = [trial for trial in case.trials if _key(trial) not in keys]
        cases.append(replace(case, trials=(*known, *_renumbered(known, new)), earlier=tuple(earlier.get(case.name, ()))))
    return cases


def write(folder: Path) -> list[Path]:
    """Add the trials of the studies folder to the record, and write its pages. Nothing recorded is replaced."""
    cases = cases_with(folder)
    written = []
    for case in cases:
        for trial in case.trials:
            name = f"{case.name}-{trial.registration.number}.json"
            contents = {REGISTRY: registrations.to_json(trial.registration)}
            if trial.measured:
                contents[VALUES] = trial_values.to_json(trial.measured)
            for part, content in contents.items():
                path = folder / part / name
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    atomic_files.write_json(path, content)
                    written.append(path)
    for name, text in pages(cases).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            atomic_files.write_text(path, text)
            written.append(path)
    return written


def pages(cases: list[Case]) -> dict[str, str]:
    """Path -> content of every page and picture. Whether the data are on this machine makes no difference."""
    return claim_pages.site([replace(case, missing="") for case in cases], GROUPS)


def check(folder: Path) -> list[str]:
    """What differs between a record's pages and those computed again from its registrations and values."""
    if not (folder / REGISTRY).is_dir():
        raise RunError(f"{folder} has no folder {REGISTRY}; make a record with: glasshouse claims report --output {folder}")
    recorded, earlier = read(folder), _read_earlier(folder)
    cases = [
        replace(case, trials=tuple(recorded.get(case.name, ())), earlier=tuple(earlier.get(case.name, ())))
        for case in trials.list_cases()
    ]
    faults = [
        f"{name}: the record has trials of a claim that is not in the catalogue"
        for name in recorded.keys() - {case.name for case in cases}
    ]
    expected = pages(cases)
    for name, text in expected.items():
        path = folder / name
        if not path.exists():
            faults.append(f"{path} is missing")
        elif (found := path.read_text(encoding="utf-8")) != text:
            faults.append(f"{path}: {_first_difference(found, text)}")
    made = {path for suffix in ("*.md", "pictures/*.svg") for path in folder.glob(suffix)}
    faults += [f"{path} is not made from the record" for path in sorted(made - {folder / name for name in expected})]
    return faults


def read(folder: Path) -> dict[str, list[Trial]]:
    """Claim -> its recorded trials, in the order of their numbers."""
    found: dict[str, list[Trial]] = {}
    for path in sorted((folder / REGISTRY).glob("*.json")):
        values = folder / VALUES / path.name
        contents = (trials.read_json(path), trials.read_json(values) if values.exists() else None)
        trial = trials.make_trial(*contents, str(path), str(values))
        found.setdefault(trial.registration.claim, []).append(trial)
    return {name: sorted(rows, key=lambda trial: trial.registration.number) for name, rows in found.items()}


def _read_earlier(folder: Path) -> dict[str, list[str]]:
    path = folder / EARLIER
    table: dict[str, list[str]] = trials.read_json(path, dict[str, list[str]]) if path.exists() else {}
    return table


def _key(trial: Trial) -> tuple[str, int]:
    return trial.registration.digest, trial.registration.first_seed


def _renumbered(known: list[Trial], new: list[Trial]) -> list[Trial]:
    """New trials with numbers after those of the record, which may come from another folder."""
    taken = {trial.registration.number for trial in known}
    if taken.isdisjoint(trial.registration.number for trial in new):
        return new
    offset, renumbered = max(taken), []
    for trial in new:
        own, replicates = trial.registration.number, trial.registration.replicates
        replicates += offset if replicates else 0
        renumbered.append(
            replace(trial, registration=replace(trial.registration, number=own + offset, replicates=replicates))
        )
    return renumbered


def _first_difference(found: str, expected: str) -> str:
    for number, (old, new) in enumerate(zip(found.splitlines(), expected.splitlines(), strict=False), start=1):
        if old != new:
            return f"line {number} is {old[:120]!r}, and the record gives {new[:120]!r}"
    return "the numbers of lines differ"
