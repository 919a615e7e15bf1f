"""A run that is given as a name, as a path or as an open run."""

from os import PathLike

from glasshouse.runs.run import Run


def run_of(run: str | PathLike[str], device: str = "auto") -> Run:
    """The open run. One that is open on another device is opened again."""
    if isinstance(run, Run) and (device == "auto" or run.device.type == device.split(":")[0]):
        return run
    return Run(run, device)
