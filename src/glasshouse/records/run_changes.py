"""Rename and delete runs of the runs folder. A run that is in use stays, and symbolic links are not followed."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from glasshouse.records import atomic_files, lock, progress_bar, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import GlasshouseError, RunError

IN_USE = "wait for it or stop it first"


def own_run(name: str) -> RunFolder:
    """The run with this name in the runs folder itself. A damaged run counts; a path or a link does not."""
    path = run_folder.root() / run_folder.checked_name(name)
    if path.is_symlink():
        raise RunError(f"{path} is a symbolic link to a run elsewhere, which is left alone; change the link with ln or rm")
    if not path.is_dir():
        raise run_folder.unknown(name)
    if not any(os.path.lexists(path / file) for file in ("spec.toml", "run.json")):
        raise RunError(f"{path} is not a run folder: it has neither spec.toml nor run.json; delete it by hand")
    return RunFolder(path)


def rename(old: str, new: str) -> RunFolder:
    """Give a run another name. The runs that were created together with it learn the new name."""
    run = own_run(old)
    target = run.path.with_name(run_folder.checked_name(new))
    if os.path.lexists(target):
        raise RunError(f"{target} already exists; choose another name")
    with lock.hold(run.path, IN_USE):
        _warn_of_dependents([run])
        os.rename(run.path, target)
        for other in run_folder.all_runs():
            _replace_name(other, old, new)
    return RunFolder(target)


def _replace_name(run: RunFolder, old: str, new: str) -> None:
    """Correct the lists in `run.json` of the runs that were created with a renamed one, and that take steps with it."""
    try:
        facts = run.facts()
    except GlasshouseError:
        return
    names = {"family": {old: new}, "together": {f"../{old}": f"../{new}"}}
    lists = {key: [renamed.get(name, name) for name in facts.get(key, ())] for key, renamed in names.items()}
    if changed := {key: value for key, value in lists.items() if value != list(facts.get(key, ()))}:
        run.record(**changed)


def check_deletable(names: Sequence[str]) -> list[RunFolder]:
    """The runs with these names, each once. Raises an error if one of them does not exist or is in use."""
    runs = [own_run(name) for name in dict.fromkeys(names)]
    for run in runs:
        with lock.hold(run.path, IN_USE):
            pass
    return runs


def delete(runs: Sequence[RunFolder]) -> None:
    """Delete runs. All of them are locked before the first is deleted."""
    _warn_of_dependents(runs)
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(lock.hold(run.path, IN_USE))
        for run in runs:
            atomic_files.delete_folder(run.path)


def _warn_of_dependents(runs: Sequence[RunFolder]) -> None:
    """Tell which other runs started from one of these."""
    changed = {os.path.realpath(run.path) for run in runs}
    for other in run_folder.all_runs():
        try:
            start = other.tables().get("training", {}).get("start_from", "")
        except GlasshouseError:
            continue
        if start and Path(start).is_absolute() and os.path.realpath(start) in changed - {os.path.realpath(other.path)}:
            progress_bar.say(f"warning: the spec of {other.name} starts from {start}, which it no longer finds")
