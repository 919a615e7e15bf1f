"""The page of all claims with their verdicts and evidence: an HTML file that works offline, or Markdown."""

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
# A symbol for each verdict, so that no reader depends on colour; in the order of the summary.
SYMBOLS = {UPHELD: "✓", REFUTED: "✗", UNDECIDED: "?", NOT_TRIED: "–"}
SUFFIXES = (".html", ".md")
MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
STYLES = ("page.css", "study.css", "claims.css")


def check_path(path: Path) -> None:
    """Raise an error if the page cannot be written to this path."""
    atomic_files.check_output(path, SUFFIXES)


def write(cases: Sequence[Case], path: Path) -> None:
    """Write the HTML page or the Markdown; the suffix decides."""
    check_path(path)
    atomic_files.write_text(path, render(cases) if path.suffix.lower() == ".html" else markdown(cases))


def render(cases: Sequence[Case]) -> str:
    """The HTML page."""
    return template.fill(
        "claims.html",
        STYLES,
        cases=cases,
        counts=verdict_counts(cases),
        symbols=SYMBOLS,
        time_and_machine=time_and_machine,
        data_url=data_url,
        path_of=path_of,
    )


def markdown(cases: Sequence[Case]) -> str:
    """The same content in Markdown. Figures are named by their path, not included."""
    tally = ", ".join(f"{count} {word}" for word, count in verdict_counts(cases))
    parts = [
        "# Claims on trial",
        "Claims about Transformers from textbooks and course work, each tested by an experiment. Made by `glasshouse claims "
        f"report --output claims.md`; `glasshouse claim NAME` tests one. Of {len(cases)} claims: {tally}. ± is half the "
        "95 % interval of the mean over seeds, unless a note says otherwise. A claim of several parts is upheld if every "
        "part is upheld, and refuted if one part is refuted at its share of the significance level. Each verdict holds for "
        "its scope only.",
        _table(("claim", "statement", "verdict"), [(_link(case), case.statement, verdict_text(case)) for case in cases]),
    ]
    for case in cases:
        parts += [f"## {case.name}", f"> {_escape(case.statement)}", f"**{verdict_text(case)}.** {_escape(_because(case))}"]
        if case.trial and case.trial.finding.rows:
            rows = [(row.what, row.reported, row.measured) for row in case.trial.finding.rows]
            parts.append(_table(("", "reported", "measured"), rows))
        facts = [("Source", case.source), ("Reported", case.reported), ("Rule", case.rule)]
        if case.trial:
            facts += [("Scope", case.trial.finding.scope), ("Tested", time_and_machine(case))]
            facts += [("Studies", ", ".join(f"`{path_of(case, study)}`" for study in case.trial.finding.studies))]
            facts += [("Figures", ", ".join(f"`{path_of(case, name)}`" for name, _ in case.pictures))]
            facts += [("Note", note) for note in case.trial.finding.notes]
        lines = [f"- {name}: {text if '`' in text else _escape(text)}" for name, text in facts if text]
        parts.append("\n".join([*lines, f"- Command: `{case.command}`"]))
    return template.writable("\n\n".join(parts) + "\n")


def verdict_counts(cases: Sequence[Case]) -> list[tuple[str, int]]:
    """(verdict, number of claims) for each verdict that occurs."""
    counts = Counter(case.verdict for case in cases)
    return [(word, counts[word]) for word in SYMBOLS if counts[word]]


def time_and_machine(case: Case) -> str:
    """The time, device and versions of a claim's trial in one line; the empty string if nothing was run."""
    if not (trial := case.trial) or not trial.seeds:
        return ""
    device = trial.machine.get("accelerator") or trial.machine.get("processor", "")
    parts = [_time(trial.when), device, f"Python {trial.machine['python']}" if "python" in trial.machine else ""]
    parts.append(f"torch {trial.machine['torch']}" if "torch" in trial.machine else "")
    return ", ".join(part for part in parts if part)


def path_of(case: Case, name: str) -> str:
    """The path of a claim's study or figure, relative to the studies folder."""
    subfolder = "quick/" if case.trial and case.trial.quick else ""
    return f"claims/{case.name}/{subfolder}{name}"


def data_url(name: str, content: bytes) -> str:
    """A figure as a data: URL."""
    media_type = MEDIA_TYPES.get(Path(name).suffix.lower(), "image/png")
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def _because(case: Case) -> str:
    return case.trial.finding.because if case.trial else f"To test it: {case.command}"


def verdict_text(case: Case) -> str:
    """The verdict with its symbol and its caveat."""
    return f"{SYMBOLS[case.verdict]} {case.verdict}{f' ({case.caveat})' if case.caveat else ''}"


def _link(case: Case) -> str:
    return f"[{case.name}](#{case.name})"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return text if text.startswith("[") else _escape(text).replace("|", r"\|")


def _escape(text: str) -> str:
    """Put text on one line and escape the characters that have a meaning in Markdown."""
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", " ".join(text.split()))


def _time(seconds: float) -> str:
    """A time in UTC; the empty string if it is not valid."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds)) if 0 < seconds < 253402300800 else ""
