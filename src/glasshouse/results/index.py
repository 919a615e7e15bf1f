"""The index of runs and studies, and the live view of one run, as plain data. Knows nothing of folders or of HTML."""

from dataclasses import dataclass, field

from glasshouse.results.report import Curve

Points = tuple[list[float], list[float]]


@dataclass(frozen=True)
class PageLink:
    """A link to another page of the set: its text and its address, relative to this page."""

    text: str
    address: str


@dataclass(frozen=True)
class RunRow:
    """A run in the table of runs. `key` names it among all rows: its path."""

    key: str
    name: str
    status: str
    task: str
    recipe: str
    data: str
    figure: tuple[str, str]
    steps: int
    total_steps: int
    seconds: float
    changed: float
    error: str
    page: PageLink | None  # the report, or the live view
    command: str  # that makes the report, where there is none
    study: str = ""  # the name of the study that it belongs to
    study_page: PageLink | None = None
    has_curves: bool = False
    curves: dict[str, Points] = field(default_factory=dict)  # empty where a server sends them on demand


@dataclass(frozen=True)
class StudyRow:
    key: str
    name: str
    status: str
    kind: str
    recipe: str
    arms: tuple[str, ...]
    done: int
    planned: int
    words: tuple[str, ...]  # of its verdicts: "better"
    verdict: str  # the first of them
    changed: float
    error: str
    page: PageLink | None
    command: str
    runs: tuple[PageLink, ...] = ()  # the pages of its runs, where they exist
    claim: str = ""
    claim_page: PageLink | None = None
    cautions: tuple[str, ...] = ()  # why the verdicts are weak


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
