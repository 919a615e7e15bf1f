"""The content of the live view of a run as plain data. Knows nothing of folders or of HTML."""

from dataclasses import dataclass

from glasshouse.pages.index_content import PageLink
from glasshouse.pages.report_content import Curve


@dataclass(frozen=True)
class LiveSample:
    """A text that the model continued with the weights of a step."""

    step: int
    prompt: str
    text: str


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
    samples: tuple[LiveSample, ...] = ()
    samples_note: str = ""
    actions: tuple[str, ...] = ()  # those of "stop", "resume", "report" that are possible now
    report: PageLink | None = None
    output: str = ""  # the last lines of a command that this page started
