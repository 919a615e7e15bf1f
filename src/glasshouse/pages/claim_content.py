"""A claim and the result of its trial as plain data: a verdict with its reasons, scope and evidence.

`finding.json` stores the fields of `Trial`. Knows nothing of drawing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

UPHELD, REFUTED, UNDECIDED = "upheld", "refuted", "undecided"
VERDICTS = (UPHELD, REFUTED, UNDECIDED)


@dataclass(frozen=True)
class Evidence:
    """One line of evidence: the reported value and the measured value."""

    what: str  # "test perplexity, Obama"
    reported: str  # "348.0", or "" if the source reports no value
    measured: str  # "302.6 ± 4.6 (16 seeds)"


@dataclass(frozen=True)
class Finding:
    """The result of a claim's trial."""

    verdict: str  # "upheld", "refuted" or "undecided"
    because: str  # one or two sentences with the numbers that decided the verdict
    scope: str  # the data, sizes, steps and seeds for which the verdict holds
    rows: tuple[Evidence, ...] = ()
    studies: tuple[str, ...] = ()  # names of the studies that it uses: folders in the claim's folder
    pictures: tuple[str, ...] = ()  # file names of figures in the claim's folder
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict={self.verdict!r} is not one of: {', '.join(VERDICTS)}")


@dataclass(frozen=True)
class Trial:
    """A finding with the time, the machine and the number of seeds of its trial."""

    finding: Finding
    seeds: int  # requested; 0 if nothing could be run
    quick: bool
    when: float  # seconds since 1970
    machine: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A claim as the page shows it: its statement, its source, the rule of its verdict, and its trial if there was one."""

    name: str
    statement: str
    source: str
    reported: str
    rule: str
    command: str  # the command that runs the trial
    trial: Trial | None
    pictures: tuple[tuple[str, bytes], ...] = ()  # (file name, content)

    @property
    def verdict(self) -> str:
        """The verdict so far; "not tried" if there was no trial."""
        return self.trial.finding.verdict if self.trial else "not tried"

    @property
    def caveat(self) -> str:
        """Why the verdict is not the result of a full trial; the empty string if it is."""
        if not self.trial or (self.trial.seeds and not self.trial.quick):
            return ""
        return "a quick run" if self.trial.quick else "no data"
