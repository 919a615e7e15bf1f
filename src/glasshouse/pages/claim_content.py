"""What the trial of a claim found, as data: a verdict with its reasons, scope and evidence. A page draws it."""

from __future__ import annotations

from dataclasses import dataclass, field

UPHELD, REFUTED, UNDECIDED = "upheld", "refuted", "undecided"
VERDICTS = (UPHELD, REFUTED, UNDECIDED)


@dataclass(frozen=True)
class Evidence:
    """One line of evidence: what was reported beside what was measured."""

    what: str  # "test perplexity, Obama"
    reported: str  # "348.0", or "" where nothing was
    measured: str  # "302.6 ± 4.6 (16 seeds)"


@dataclass(frozen=True)
class Finding:
    """What a claim's trial found."""

    verdict: str  # "upheld", "refuted" or "undecided"
    because: str  # one or two sentences with the numbers that decided it
    scope: str  # data, sizes, steps, seeds
    rows: tuple[Evidence, ...] = ()
    studies: tuple[str, ...] = ()  # names of the studies it rests on: folders in the claim's folder
    pictures: tuple[str, ...] = ()  # file names of pictures in the claim's folder
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict={self.verdict!r} is not one of: {', '.join(VERDICTS)}")


@dataclass(frozen=True)
class Trial:
    """A finding with when, where and how it was made; `finding.json` holds one."""

    finding: Finding
    seeds: int  # asked for; 0 where nothing could be run
    quick: bool
    when: float  # seconds since 1970
    machine: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A claim as a page shows it: what is asserted, by whom, how it is judged, and its trial where there was one."""

    name: str
    statement: str
    source: str
    reported: str
    rule: str
    command: str  # that tries it
    trial: Trial | None
    pictures: tuple[tuple[str, bytes], ...] = ()  # (file name, content)

    @property
    def verdict(self) -> str:
        """The verdict so far; "not tried" where there was no trial."""
        return self.trial.finding.verdict if self.trial else "not tried"

    @property
    def standing(self) -> str:
        """What the verdict rests on, where that is not a trial."""
        if not self.trial or (self.trial.seeds and not self.trial.quick):
            return ""
        return "a quick look" if self.trial.quick else "no data"
