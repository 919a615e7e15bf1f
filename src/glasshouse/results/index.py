"""The index of runs and studies, and the live view of one run, as plain data. Knows nothing of folders or of HTML."""

from dataclasses import dataclass, field
from pathlib import Path

from glasshouse.records.run_entries import Points, RunEntry
from glasshouse.records.status import Status
from glasshouse.results.report import Curve


@dataclass(frozen=True)
class PageLink:
    """A link to another page of the set: its text and its address, relative to this page."""

    text: str
    address: str


@dataclass(frozen=True)
class StudyEntry:
    """What the index page shows of a study. `verdict` is its first sentence; `claim` the claim that it is a trial of.

    `words` are the words of its verdicts, such as "better"; `cautions` say why they are weak.
    """

    path: Path
    status: str
    kind: str = ""
    recipe: str = ""
    arms: tuple[str, ...] = ()
    planned: int = 0
    verdict: str = ""
    words: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
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
        return sum(run.status in (Status.DONE, Status.FAILED) for run in self.runs)


@dataclass(frozen=True, kw_only=True)
class RunRow(RunEntry):
    """A run in the table of runs. `key` names it among all rows: its path."""

    key: str
    title: str
    page: PageLink | None  # the report, or the live view
    command: str  # that makes the report, where there is none
    study: str = ""  # the name of the study that it belongs to
    study_page: PageLink | None = None
    curves: dict[str, Points] = field(default_factory=dict)  # empty where a server sends them on demand


@dataclass(frozen=True, kw_only=True)
class StudyRow(StudyEntry):
    key: str
    page: PageLink | None
    command: str
    run_pages: tuple[PageLink, ...] = ()  # of its runs, where they exist
    claim_page: PageLink | None = None


@dataclass(frozen=True)
class IndexContent:
    """Everything on the index page. `made` is the time at which it was collected."""

    where: str
    runs: tuple[RunRow, ...]
    studies: tuple[StudyRow, ...]
    made: float


@dataclass(frozen=True)
class LiveRun:
    """A run as it is now. `share` is the part of its steps that it has taken, from 0 to 1."""

    key: str
    name: str
    subtitle: str
    status: str
    explanation: str  # what the status means, and what can be done
    share: float
    headline: tuple[tuple[str, str], ...]
    links: tuple[PageLink, ...]
    loss: tuple[Curve, ...] = ()
    quality: tuple[Curve, ...] = ()
    evaluations: tuple[tuple[str, ...], ...] = ()  # the first row has the titles
    samples: tuple[tuple[int, str, str], ...] = ()  # step of the weights, prompt, and the text that continues it
    samples_note: str = ""
    actions: tuple[str, ...] = ()  # those of "stop", "resume", "report" that are possible now
    report: PageLink | None = None
    output: str = ""  # the last lines of a command that this page started
