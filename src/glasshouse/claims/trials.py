"""Trials of claims: run a claim's experiment and store its finding as `finding.json` in the claim's folder.

The report reads these files and nothing else. A quick run has its own folder inside, so that it never replaces a trial.
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
# Increased whenever the previous release could not read a finding that this release writes.
FORMAT = 1


def root() -> Path:
    """The folder that contains one folder for each claim."""
    return study_folder.root() / "claims"


def claim_folder(name: str, quick: bool = False) -> Path:
    """The folder of a claim's studies, runs and finding."""
    return root() / name / QUICK if quick else root() / name


def try_claim(name: str, seeds: int | None = None, quick: bool = False, device: str = "auto") -> Case:
    """Run or continue the experiment of a claim, and store the finding."""
    claim = _find_claim(name)()
    seed_count = (QUICK_SEEDS if quick else claim.seeds) if seeds is None else len(arms.parse_seeds(str(seeds)))
    chosen_device = str(devices.pick(device))
    if finding := _missing_data_finding(name, claim):
        trial = Trial(finding, 0, quick, time.time(), machine.describe(chosen_device))
        # A finding of an experiment that was run, perhaps elsewhere, is not overwritten.
        if not (stored := _read_trial(claim_folder(name))) or not stored.seeds:
            _write_trial(claim_folder(name), trial)
        return _make_case(name, type(claim), trial, claim_folder(name))
    bench = Bench(claim_folder(name, quick), seed_count, quick, device)
    bench.folder.mkdir(parents=True, exist_ok=True)
    with lock.hold(bench.folder, "wait for it or stop it"), _interruption_names_the_claim(name, seeds, quick, device):
        finding = _with_added_seeds_note(claim.run_experiment(bench), bench)
    finding = _quick_finding(finding) if quick else finding
    trial = Trial(finding, seed_count, quick, time.time(), machine.describe(chosen_device))
    _write_trial(bench.folder, trial)
    return _make_case(name, type(claim), trial, bench.folder)


def list_cases() -> list[Case]:
    """Every claim with its trial. A claim without a trial has its quick run instead, if there was one."""
    cases = []
    for name in catalogue.names("claim"):
        folders = (claim_folder(name), claim_folder(name, True))
        folder = next((folder for folder in folders if (folder / FILE).exists()), None)
        try:
            cases.append(_make_case(name, _find_claim(name), _read_trial(folder) if folder else None, folder))
        except SpecError as error:  # another package's claim that cannot be imported must not hide the others
            cases.append(Case(name, str(error), "", "", "", command=f"glasshouse claim {name}", trial=None))
    return cases


def _find_claim(name: str) -> type[Claim]:
    claim: type[Claim] = catalogue.find("claim", name, "claim")
    return claim


def _make_case(name: str, claim: type[Claim], trial: Trial | None, folder: Path | None) -> Case:
    pictures = []
    for picture in trial.finding.pictures if trial and folder else ():
        path = folder / Path(picture).name if folder else Path()
        if path.is_file():
            pictures.append((path.name, path.read_bytes()))
    texts = (claim.statement, claim.source, claim.reported, claim.rule)
    return Case(name, *texts, command=f"glasshouse claim {name}", trial=trial, pictures=tuple(pictures))


def _missing_data_finding(name: str, claim: Claim) -> Finding | None:
    """The finding of a claim whose data are not on this machine; None if all are."""
    missing = [entry for entry in map(data_set_list.find_data_set, claim.needs) if not entry.present]
    if not missing:
        return None
    names = " and ".join(entry.name for entry in missing)
    fetch_commands = [entry.fetch_command for entry in missing if entry.fetch_command]
    variable = "GLASSHOUSE_DATA=FOLDER " if len(fetch_commands) < len(missing) else ""
    command = " && ".join([*fetch_commands, f"{variable}glasshouse claim {name}"])
    origins = "; ".join(f"{entry.name}: {entry.origin}" for entry in missing)
    return Finding(
        verdict=UNDECIDED,
        because=f"Nothing was run, because the data of this claim ({names}) are not on this machine. This command runs the "
        f"experiment: {command}",
        scope="none",
        notes=(f"origin of the data: {origins}",),
    )


def _with_added_seeds_note(finding: Finding, bench: Bench) -> Finding:
    """The finding, with a note if seeds were added to one of its studies after the study had been judged."""
    counts = [count for name in finding.studies for count in study_folder.StudyFolder(bench.folder / name).design().judged]
    if not counts:
        return finding
    judged = " and ".join(str(count) for count in sorted(set(counts)))
    note = f"seeds were added after {judged} had been judged: false verdicts are more likely than the rule's level says"
    return replace(finding, notes=(*finding.notes, note))


def _quick_finding(finding: Finding) -> Finding:
    """The finding of a quick run: the verdict is undecided, and a note states the verdict of the rule."""
    return replace(
        finding,
        verdict=UNDECIDED,
        because=f"This was a quick run, from which nothing follows. Its figures: {finding.because}",
        scope=f"a quick run with far too few steps and seeds to mean anything: {finding.scope}",
        notes=(*finding.notes, f"on these figures the verdict of the rule would be: {finding.verdict}"),
    )


@contextmanager
def _interruption_names_the_claim(name: str, seeds: int | None, quick: bool, device: str) -> Iterator[None]:
    """Make the message of an interruption name the command that continues the trial, instead of one study's command."""
    options = ["--seeds", str(seeds)] if seeds is not None else []
    options += ["--quick"] if quick else []
    options += ["--device", device] if device != "auto" else []
    try:
        yield
    except Interrupted as stop:
        raise Interrupted(stop.signal, stop.reached, shlex.join(["glasshouse", "claim", name, *options])) from None


def _write_trial(folder: Path, trial: Trial) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    atomic_files.write_json(folder / FILE, {"format": FORMAT, **asdict(trial)})


def _read_trial(folder: Path) -> Trial | None:
    """The trial stored in a folder; None if there is no finding."""
    path = folder / FILE
    try:
        table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if table["format"] > FORMAT:
            raise RunError(
                "newer-format",
                f"{path} was written by a newer Glasshouse (format {table['format']}; this one reads up to {FORMAT}); "
                "upgrade with: pip install --upgrade glasshouse",
            )
        fields = table["finding"]
        tuples = {name: tuple(fields[name]) for name in ("studies", "pictures", "notes")}
        rows = tuple(Evidence(**row) for row in fields["rows"])
        finding = Finding(**{**fields, **tuples, "rows": rows})
        return Trial(finding, *(table[name] for name in ("seeds", "quick", "when", "machine")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        claim = os.path.basename(folder.parent if folder.name == QUICK else folder)
        raise RunError(
            "unreadable-finding", f"{path} cannot be read ({error}); write it again with: glasshouse claim {claim}"
        ) from None
