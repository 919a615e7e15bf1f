"""Claims and their verdicts, reported beside measured: one HTML file that works offline, or the same as Markdown."""

from __future__ import annotations

import base64
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from glasshouse.pages import template
from glasshouse.pages.claim_content import REFUTED, UNDECIDED, UPHELD, Case
from glasshouse.records import atomic_files

NOT_TRIED = "not tried"
# A sign for each verdict, so that colour is never needed to tell them apart; in the order of a summary.
MARKS = {UPHELD: "✓", REFUTED: "✗", UNDECIDED: "?", NOT_TRIED: "–"}
SUFFIXES = (".html", ".md")
PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}
STYLES = ("report.css", "study.css", "claims.css")


def check_path(path: Path) -> None:
    """Raise before any work where nothing could be written there."""
    atomic_files.check_output(path, SUFFIXES)


def write(cases: Sequence[Case], path: Path) -> None:
    """The page or the Markdown, by suffix."""
    check_path(path)
    atomic_files.write_text(path, render(cases) if path.suffix.lower() == ".html" else markdown(cases))


def render(cases: Sequence[Case]) -> str:
    """The whole page."""
    return template.fill(
        "claims.html",
        STYLES,
        cases=cases,
        counts=counts(cases),
        marks=MARKS,
        when=when,
        data_url=data_url,
        place=place,
    )


def markdown(cases: Sequence[Case]) -> str:
    """The same content for a repository's documents; pictures, which are files of their own, are named."""
    tally = ", ".join(f"{count} {word}" for word, count in counts(cases))
    parts = [
        "# Claims on trial",
        "What textbooks and course work assert about Transformers, tried. Made by `glasshouse claims report --output "
        f"claims.md`; `glasshouse claim NAME` tries one. Of {len(cases)} claims: {tally}. ± is half the 95 % interval of "
        "the mean over seeds, unless a note says otherwise. A claim of several parts is upheld where every part is, and "
        "refuted where one is at its share of the level. Each verdict holds for its scope and no further.",
        _table(("claim", "statement", "verdict"), [(_link(case), case.statement, verdict(case)) for case in cases]),
    ]
    for case in cases:
        parts += [f"## {case.name}", f"> {_escaped(case.statement)}", f"**{verdict(case)}.** {_escaped(_because(case))}"]
        if case.trial and case.trial.finding.rows:
            rows = [(row.what, row.reported, row.measured) for row in case.trial.finding.rows]
            parts.append(_table(("", "reported", "measured"), rows))
        facts = [("Source", case.source), ("Reported", case.reported), ("Rule", case.rule)]
        if case.trial:
            facts += [("Scope", case.trial.finding.scope), ("Tried", when(case))]
            facts += [("Studies", ", ".join(f"`{place(case, each)}`" for each in case.trial.finding.studies))]
            facts += [("Pictures", ", ".join(f"`{place(case, name)}`" for name, _ in case.pictures))]
            facts += [("Note", note) for note in case.trial.finding.notes]
        lines = [f"- {name}: {text if '`' in text else _escaped(text)}" for name, text in facts if text]
        parts.append("\n".join([*lines, f"- To try it: `{case.command}`"]))
    return template.writable("\n\n".join(parts) + "\n")


def counts(cases: Sequence[Case]) -> list[tuple[str, int]]:
    """How often each verdict was reached, those that were."""
    found = Counter(case.verdict for case in cases)
    return [(word, found[word]) for word in MARKS if found[word]]


def when(case: Case) -> str:
    """When and where a claim was tried, in a line; nothing where it was not."""
    if not (trial := case.trial) or not trial.seeds:
        return ""
    device = trial.machine.get("accelerator") or trial.machine.get("processor", "")
    parts = [_moment(trial.when), device, f"Python {trial.machine['python']}" if "python" in trial.machine else ""]
    parts.append(f"torch {trial.machine['torch']}" if "torch" in trial.machine else "")
    return ", ".join(part for part in parts if part)


def place(case: Case, name: str) -> str:
    """Where something of a claim's lies, under the studies folder."""
    inner = "quick/" if case.trial and case.trial.quick else ""
    return f"claims/{case.name}/{inner}{name}"


def data_url(name: str, content: bytes) -> str:
    """A picture as an address that holds it whole."""
    kind = PICTURES.get(Path(name).suffix.lower(), "image/png")
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _because(case: Case) -> str:
    return case.trial.finding.because if case.trial else f"To try it: {case.command}"


def verdict(case: Case) -> str:
    """The verdict with its sign, and what it rests on where that is not a trial."""
    return f"{MARKS[case.verdict]} {case.verdict}{f' ({case.standing})' if case.standing else ''}"


def _link(case: Case) -> str:
    return f"[{case.name}](#{case.name})"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return text if text.startswith("[") else _escaped(text).replace("|", r"\|")


def _escaped(text: str) -> str:
    """Text on one line, with the signs that Markdown would take for its own marked."""
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", " ".join(text.split()))


def _moment(seconds: float) -> str:
    """A point in time, the same wherever the page is made."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds)) if 0 < seconds < 253402300800 else ""
