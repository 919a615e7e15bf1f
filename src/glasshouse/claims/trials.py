"""Trials of claims: register, run or continue, judge. One folder for each trial, none of which is ever replaced.

`studies/claims/NAME/trial-N` holds `registration.json`, the studies, and at the end `values.json`. The finding is computed
from these two files whenever it is needed. A quick run has its own folder, so that it never counts as a trial.
"""

import shlex
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from glasshouse.claims import registration as registrations
from glasshouse.claims import rules, trial_values
from glasshouse.claims.bench import Submitted
from glasshouse.claims.claim import Bench, Claim
from glasshouse.data.sources import data_set_list
from glasshouse.launching.submission import Submission
from glasshouse.records import atomic_files, containment, kept_json, lock, machine
from glasshouse.results.claim import UNDECIDED, Case, Measured, Registration, Trial
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError, Interrupted, RunError, SpecError
from glasshouse.studies import arms, study_folder
from glasshouse.studies.run_queue import Place
from glasshouse.studies.study_runner import Report
from glasshouse.training import devices

REGISTRATION, VALUES, QUICK = "registration.json", "values.json", "quick"
QUICK_SEEDS = 2


def root() -> Path:
    """The folder that contains one folder for each claim."""
    return study_folder.root() / "claims"


def trial_folder(name: str, number: int) -> Path:
    """The folder of a trial; number 0 is the quick run."""
    return root() / name / (f"trial-{number}" if number else QUICK)


def try_claim(
    name: str,
    seeds: str | int | None = None,
    quick: bool = False,
    replicate: bool = False,
    device: str = "auto",
    first_seed: int | None = None,
    register_only: bool = False,
    place: Place | None = None,
    report: Report = lambda study: None,
) -> Case | Submission:
    """Run or continue a trial of a claim. A changed plan, other seeds or `replicate` begin a new trial beside the others.

    Returns the claim with its trials, or the jobs that measure it, if a `place` is given that submits them.

    `register_only` writes the registration and runs nothing. `report` writes the report of each study.
    """
    claim = find_claim(name)()
    looks = None if seeds is None else parse_looks(seeds)
    devices.pick(device)
    if (missing := _missing(name, claim)) and not register_only:
        raise RunError(missing)
    if (obstacle := claim.obstacle(device, quick)) and not register_only:
        raise RunError(obstacle)
    plan, folder = _plan_trial(name, claim, looks, quick, replicate, first_seed)
    if register_only:
        return make_case(name, type(claim), read_trials(name))
    if place and (submitted := place.measure(f"claim-{name}")):
        return submitted
    where = ["--device", device] if device != "auto" else []
    words = [*words_of(name, seeds, quick, replicate, first_seed), *where]
    command = shlex.join(["glasshouse", "claim", *words])
    with lock.hold(folder, "wait for it or stop it"), _interruption_names_the_claim(command):
        try:
            _run(claim, plan, folder, device, place, report)
        except Submitted as handed_over:
            return handed_over.submission
    return make_case(name, type(claim), read_trials(name), quick=_read_trial(folder) if quick else None)


def parse_looks(text: str | int) -> tuple[int, ...]:
    """`16` means one look at 16 seeds; `8,16,32` means looks at these numbers of seeds."""
    try:
        looks = tuple(int(number) for number in str(text).split(","))
    except ValueError:
        looks = ()
    if not looks or looks[0] < 2 or list(looks) != sorted(set(looks)) or looks[-1] > arms.MAX_SEEDS:
        raise SpecError(
            f"must be a number of seeds from 2 to {arms.MAX_SEEDS}, or increasing numbers of seeds after which the "
            "trial is judged; write for example --seeds 16 or --seeds 8,16,32",
            "seeds",
            text,
        )
    return looks


def _plan_trial(
    name: str, claim: Claim, looks: tuple[int, ...] | None, quick: bool, replicate: bool, first_seed: int | None
) -> tuple[Registration, Path]:
    """The registration to follow and the folder of its trial. A new registration is written before anything is trained."""
    if quick:
        folder = trial_folder(name, 0)
        containment.refuse_links(folder, study_folder.root())
        plan = registrations.register(name, claim, 0, looks or (QUICK_SEEDS,), quick=True, first_seed=0)
        if (old := _read_trial(folder)) and old.registration.digest != plan.digest:
            shutil.rmtree(folder)
    else:
        trials = read_trials(name)
        number = max((trial.registration.number for trial in trials), default=0) + 1
        plan = registrations.register(name, claim, number, looks, first_seed=first_seed)
        same = [trial for trial in trials if trial.registration.digest == plan.digest]
        if first_seed is not None:
            same = [trial for trial in same if trial.registration.first_seed == first_seed]
        if unfinished := [trial for trial in same if trial.finding is None]:
            plan = unfinished[0].registration
        elif replicate:
            if not same:
                raise RunError(
                    f"--replicate repeats a finished trial of the same plan on fresh seeds, and {name} has none in "
                    f"{root() / name}; run it first with: glasshouse claim {name}"
                )
            plan = replace(plan, replicates=same[0].registration.number)
        elif same:
            plan = same[0].registration
        folder = trial_folder(name, plan.number)
        containment.refuse_links(folder, study_folder.root())
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / REGISTRATION).exists():
        atomic_files.write_json(folder / REGISTRATION, registrations.to_json(plan))
    return plan, folder


def _run(claim: Claim, plan: Registration, folder: Path, device: str, place: Place | None, report: Report) -> None:
    """Measure and judge at each planned look until the trial is decided, then write the values."""
    if (folder / VALUES).exists():
        return
    plans = {study.name: study for study in claim.studies}
    for look in plan.looks:
        bench = Bench(folder, plans, plan.first_seed, look, plan.quick, device, place, report)
        measurements = claim.measure(bench)
        if unknown := set(measurements.series) - set(plan.quantities):
            raise RunError(f"the claim measured {', '.join(sorted(unknown))}, which it did not register")
        measured = trial_values.stored(
            Measured(
                series=measurements.series,
                seeds=look,
                facts=measurements.facts,
                notes=measurements.notes,
                curves=measurements.curves or {},
                machine=machine.describe(str(devices.pick(device))),
                when=float(int(time.time())),
            )
        )
        if rules.finding(plan, measured).verdict != UNDECIDED:
            break
    atomic_files.write_json(folder / VALUES, trial_values.to_json(measured))


def read_trials(name: str) -> list[Trial]:
    """All registered trials of a claim in the studies folder, in the order of their numbers. Quick runs are left out."""
    folders = root().joinpath(name).glob("trial-*/" + REGISTRATION)
    trials = [trial for path in folders if (trial := _read_trial(path.parent))]
    return sorted(trials, key=lambda trial: trial.registration.number)


def _readable_trials(name: str) -> tuple[list[Trial], tuple[str, ...]]:
    """The trials of a claim that can be read, in the order of their numbers, and what is wrong with the others."""
    found: list[Trial] = []
    damage: list[str] = []
    for path in sorted(root().joinpath(name).glob("trial-*/" + REGISTRATION)):
        try:
            if trial := _read_trial(path.parent):
                found.append(trial)
        except (RunError, DataError) as error:
            damage.append(str(error))
    return sorted(found, key=lambda trial: trial.registration.number), tuple(damage)


def _read_trial(folder: Path) -> Trial | None:
    """The trial in a folder; None if nothing is registered there."""
    if not (folder / REGISTRATION).exists():
        return None
    values = folder / VALUES
    return make_trial(
        read_json(folder / REGISTRATION),
        read_json(values) if values.exists() else None,
        str(folder / REGISTRATION),
        str(values),
    )


def make_trial(registered: Mapping[str, Any], values: Mapping[str, Any] | None, where: str, values_file: str) -> Trial:
    """A trial from the contents of its two files. Its finding is computed."""
    plan = registrations.from_json(registered, where)
    if values is None:
        return Trial(plan, None, None)
    measured = trial_values.from_json(values, values_file)
    try:
        return Trial(plan, measured, rules.finding(plan, measured))
    except (ValueError, LookupError, ArithmeticError) as error:
        raise DataError(f"{values_file} does not fit {where} ({type(error).__name__}: {error}); restore it") from None


def read_json(path: Path, schema: Any = Any) -> Any:
    try:
        return kept_json.read(path, schema)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read ({error}); restore it, or delete its folder") from None


def list_cases() -> list[Case]:
    """Every claim with its trials. A claim of another package that cannot be imported does not hide the others."""
    cases = []
    for name in catalogue.names("claim"):
        try:
            trials, damage = _readable_trials(name)
            cases.append(replace(make_case(name, find_claim(name), trials), damage=damage))
        except SpecError as error:
            cases.append(Case(name, "", str(error), "", "", broken=str(error)))
    return cases


def find_claim(name: str) -> type[Claim]:
    """The class of a claim."""
    claim: type[Claim] = catalogue.find("claim", name, "claim")
    return claim


def make_case(name: str, claim: type[Claim], trials: list[Trial], quick: Trial | None = None) -> Case:
    """A claim as the pages show it."""
    return Case(
        name=name,
        group=claim.group,
        statement=claim.statement,
        source=claim.source,
        reported=claim.reported,
        why=claim.why,
        procedure=claim.procedure,
        would_change=claim.would_change,
        data=claim.data,
        is_control=claim.is_control,
        figures=tuple(claim.figures),
        trials=(*trials, *([quick] if quick else ())),
        missing=_missing(name, claim()),
    )


def _missing(name: str, claim: Claim) -> str:
    """Why the trial cannot be run here, with the command that would run it; empty if it can."""
    programs = [program for program in claim.programs if shutil.which(program) is None]
    if programs:
        return (
            f"the claim {name} needs programs that are not on the path of this machine ({', '.join(programs)}); on a "
            f"machine that has them, run: glasshouse claim {name}"
        )
    missing = [entry for entry in map(data_set_list.find_data_set, claim.needs) if not entry.present]
    if not missing:
        return ""
    names = " and ".join(entry.name for entry in missing)
    fetch_commands = [entry.fetch_command for entry in missing if entry.fetch_command]
    variable = "GLASSHOUSE_DATA=FOLDER " if len(fetch_commands) < len(missing) else ""
    command = " && ".join([*fetch_commands, f"{variable}glasshouse claim {name}"])
    origins = "; ".join(f"{entry.name}: {entry.origin}" for entry in missing)
    return f"the data of the claim {name} ({names}) are not on this machine ({origins}); with them, run: {command}"


def words_of(name: str, seeds: str | int | None, quick: bool, replicate: bool, first_seed: int | None) -> list[str]:
    """The words after `glasshouse claim` that try a claim in this way."""
    options = ["--seeds", str(seeds)] if seeds is not None else []
    options += ["--quick"] if quick else []
    options += ["--replicate"] if replicate else []
    return [name, *options, *(["--first-seed", str(first_seed)] if first_seed is not None else [])]


@contextmanager
def _interruption_names_the_claim(command: str) -> Iterator[None]:
    """Make the message of an interruption name the command that continues the trial, instead of one study's command."""
    try:
        yield
    except Interrupted as stop:
        raise Interrupted(stop.signal, stop.reached, command) from None
