"""The pages of claims: one HTML page of all, and a site in Markdown with a page for each that a student understands alone.

Pure functions from data to text: the same trials give the same bytes, so committed pages can be checked.
"""

import re
from collections.abc import Mapping, Sequence

from glasshouse.pages import claim_text, template
from glasshouse.pages.claim_pictures import FOREST_PLOTS, pictures
from glasshouse.results.claim import Case, Trial

ABOUT = (
    "Statements about Transformers from textbooks and course work, each tried by an experiment. What a trial would do was "
    "registered before its first run; the verdict follows from the registered rule and the measured values. A verdict holds "
    "for its data, sizes and steps only."
)
LEGEND = (
    "✓ upheld: every comparison that the claim implies is shown. ✗ refuted: one is shown to be the other way round. "
    "≈ too small to matter: a difference is shown to be smaller than its margin. A margin is no hurdle: a difference that "
    "is shown, and not shown to be smaller than its margin, counts. ± depends: decided one way under one "
    "setting and another way under another. ? undecided: neither is shown. In the pictures, the grey band is one margin "
    "wide on each side of no difference; to the right means in favour of the claim."
)

SEEDS = (
    "The first trial of every claim uses the seeds from 1000 on, the second those from 2000 on, and so forth. Claims that "
    "train the same model therefore share runs, and their verdicts are not independent evidence. On a GPU the order of "
    "additions varies: a repeated command gives each seed a slightly different value, and the same distribution."
)


def render(cases: Sequence[Case], groups: Sequence[str]) -> str:
    """The page of all claims as one HTML file that works offline."""
    claims = [case for case in cases if not case.is_control]
    return template.fill(
        "claims.html",
        ("page.css", "study.css", "claims.css"),
        about=ABOUT,
        legend=f"{LEGEND} {SEEDS}",
        groups=groups,
        cases=cases,
        counts=claim_text.verdict_counts(claims),
        replication=replication_summary(claims),
        text=claim_text,
        part_marks=part_marks,
        pictures={case.name: pictures(case) for case in cases},
        data_url=lambda svg: template.data_url(svg.encode(), "image/svg+xml"),
    )


def site(cases: Sequence[Case], groups: Sequence[str]) -> dict[str, str]:
    files = {"index.md": index(cases, groups)}
    for case in cases:
        svgs = pictures(case)
        files[f"{case.name}.md"] = page(case, svgs)
        files.update({f"pictures/{case.name}-{name}.svg": svg for name, svg in svgs.items()})
    return {path: template.writable(content) for path, content in files.items()}


def index(cases: Sequence[Case], groups: Sequence[str]) -> str:
    claims = [case for case in cases if not case.is_control]
    tally = ", ".join(f"{count} {word}" for word, count in claim_text.verdict_counts(claims))
    parts = [
        "# Claims on trial",
        ABOUT,
        f"Of {len(claims)} claims: {tally}. {replication_summary(claims)}",
        LEGEND,
        SEEDS,
        "Made by `glasshouse claims report --output docs/claims` and checked by `glasshouse claims check docs/claims`, "
        "which computes every figure again from the registered plans in `registry/` and the values of each seed in "
        "`values/`. `glasshouse claim NAME` tries one.",
    ]
    for group in groups:
        parts.append(f"## {group}")
        in_group = sorted((case for case in cases if case.group == group), key=lambda case: case.is_control)
        parts.append(table(("claim", "answer", "comparisons"), [_index_row(case) for case in in_group]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _index_row(case: Case) -> tuple[str, str, str]:
    small = f"![](pictures/{case.name}-small.svg)" if "small" in pictures(case) else ""
    badges = escape(" · ".join(claim_text.badges(case)))
    statement = f"{'Control: ' if case.is_control else ''}[{escape(case.statement)}]({case.name}.md)"
    words = f"**{claim_text.verdict_text(case)}** {part_marks(case)}"
    return statement, f"{words}<br>{escape(claim_text.answer(case))}<br><small>{badges}</small>", small


def replication_summary(cases: Sequence[Case]) -> str:
    """How many claims were tried again on fresh seeds, and how many had the same verdict."""
    repeated = [case for case in cases if case.replicated is not None]
    same = sum(bool(case.replicated) for case in repeated)
    if not repeated:
        return "None has been repeated on fresh seeds yet."
    were = "was" if len(repeated) == 1 else "were"
    return f"{len(repeated)} {were} tried once more on seeds that were never used, and {same} of them had the same verdict."


def part_marks(case: Case) -> str:
    """A mark for each deciding part of a compound claim."""
    finding = case.original.finding if case.original else None
    deciding = [result for result in finding.parts if result.part.decides] if finding else []
    return " ".join(claim_text.SYMBOLS[result.outcome] for result in deciding) if len(deciding) > 1 else ""


def page(case: Case, svgs: Mapping[str, str]) -> str:
    trial = case.original
    badges = " · ".join(claim_text.badges(case))
    statement, procedure = claim_text.statement_and_procedure(case)
    parts = [
        f"# {escape(case.name)}",
        f"> {escape(statement)}",
        f"**{claim_text.verdict_text(case)}.** {escape(claim_text.answer(case))}",
        f"*{escape(badges)}*",
        f"**What was asserted.** {escape(statement)} Source: {escape(case.source)}. Reported: {escape(case.reported)}.",
        f"**Why one might think so.** {escape(case.why)}",
        f"**The experiment.** {escape(procedure)}",
    ]
    if "comparisons" in svgs:
        parts.append(f"**The comparisons.**\n\n![comparisons](pictures/{case.name}-comparisons.svg)")
    parts += [f"![{name}](pictures/{case.name}-{name}.svg)" for name in svgs if name not in FOREST_PLOTS]
    if trial and trial.finding:
        parts += ["**The verdict, comparison by comparison.**", _verdict_list(trial, decides=True)]
        picture = f"![beside](pictures/{case.name}-beside.svg)\n\n" if "beside" in svgs else ""
        if beside := _verdict_list(trial, decides=False):
            parts.append(_details(claim_text.BESIDE, picture + beside))
    parts.append(f"**What would change it.** {escape(case.would_change)}")
    if trial:
        values = [list(map(escape, row)) for row in claim_text.value_rows(trial)]
        parts.append(_details("All measured values", table(("", "reported", "measured", "metric"), values)))
        parts.append(_details("Tuning, sizes and notes", _facts(trial)))
    parts += [_details("Registration, trials and commands", _bookkeeping(case)), "[All claims](index.md)"]
    return "\n\n".join(part for part in parts if part) + "\n"


def _verdict_list(trial: Trial, decides: bool) -> str:
    assert trial.finding
    lines = []
    for result in trial.finding.parts:
        if result.part.decides == decides:
            setting = f"*{escape(result.part.setting)}*: " if result.part.setting else ""
            sentence = escape(claim_text.part_sentence(trial, result))
            lines.append(f"- {claim_text.SYMBOLS[result.outcome]} {setting}{sentence}")
    if decides:
        lines += [f"- **{escape(setting)}: {word}**" for setting, word in trial.finding.by_setting]
    return "\n".join(lines)


def _facts(trial: Trial) -> str:
    if not trial.measured:
        return ""
    facts = [f"{what}: {text}" for what, text in trial.measured.facts]
    return "\n".join(f"- {escape(line)}" for line in (*facts, *trial.measured.notes))


def _bookkeeping(case: Case) -> str:
    lines = [f"- {escape(claim_text.trial_sentence(trial))}" for trial in case.trials]
    lines += [f"- before registration was required: {escape(text)}" for text in case.earlier]
    if trial := case.original:
        lines.append(f"- digest of the plan: `{trial.registration.digest}`")
        lines.append(f"- rule: {escape(trial.registration.outcomes)}")
        lines += [f"- study `{study['name']}`: `{' '.join(study['words'])}`" for study in trial.registration.studies]
    lines.append(
        f"- to reproduce the deciding trial: `{case.command}`; on fresh seeds: `glasshouse claim {case.name} --replicate`"
    )
    return "\n".join(lines)


def _details(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>" if content else ""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the empty string without rows."""
    lines = [head, ["---"] * len(head), *rows] if rows else []
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def escape(text: str) -> str:
    """Put text on one line and escape the characters that have a meaning in Markdown."""
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", " ".join(text.split()))
