"""A study as a table for a paper, in Markdown or in LaTeX with the packages booktabs and graphicx. Knows no HTML."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from glasshouse import formatting
from glasshouse.pages import latex_text, study_text
from glasshouse.results.study import StudyResults

# Cost -> column title.
COSTS = {
    "parameters": "parameters",
    "steps": "steps",
    "tokens": "tokens",
    "FLOPs": "FLOPs",
    "time": "training time",
    "memory": "memory",
}
# A first column with more characters is wrapped, so that the table fits the width of a LaTeX page.
WIDEST = 16
# The same phrase of the caption as plain text and in LaTeX.
TEST = "p is from a paired t-test, adjusted for skewness"
TEST_IN_LATEX = "$p$ is from a paired $t$-test, adjusted for skewness"
# Words after a shared cost whose number already has a unit; the others take their column title.
UNIT_PHRASES = {"memory": "of memory"}
MARKDOWN = re.compile(r"([\\`*_{}\[\]|#~])")


@dataclass(frozen=True)
class Table:
    """Header and rows as text; the first column names the arms."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    notes: tuple[str, ...]


def table(comparison: StudyResults) -> Table:
    """The results and the costs that differ. A cost that is the same for every arm moves into the caption."""
    rows = study_text.rows(comparison)
    different, same = costs(rows)
    first = comparison.first_arm.name if comparison.arms else "the first arm"
    level = formatting.percent(1 - comparison.rule.alpha)
    heading = study_text.labels(comparison)[0] or "arm"
    titles = (f"{column.title} ({level} interval)" if column.interval else column.title for column in study_text.COLUMNS)
    cells = tuple(
        (
            row.label,
            *(_with_interval(column, row) for column in study_text.COLUMNS),
            row.verdict or formatting.MISSING,
            *(row.costs[name] for name in different),
        )
        for row in rows
    )
    better = "higher" if comparison.higher_is_better else "lower"
    recipe = f" of {comparison.recipe}" if comparison.recipe else ""
    caption = [
        f"{comparison.metric}{recipe} ({better} is better), {study_text.seed_count(comparison)}, "
        f"matched by {comparison.match}.",
        f"Differences are from {first}, paired by seed; {TEST}, corrected for the number of arms (Holm); "
        "the effect is the mean difference in standard deviations of the differences, with Hedges' correction.",
        f"The verdict “no difference” means equivalence within a margin of {study_text.margin_in_words(comparison)}; "
        f"alpha is {comparison.rule.alpha:g}.",
    ]
    if comparison.items:
        caption.append(f"The {comparison.items:,} {comparison.item_name} of the evaluation are a sample as the seeds are.")
    if comparison.rule.looks:
        looks = formatting.join_with_and(comparison.rule.looks)
        caption.append(f"The arms were tested after {looks} seeds; alpha holds for all these interim tests together.")
    done, planned = study_text.run_counts(comparison)
    if comparison.status != "done":
        caption.append(f"Not final: {done} of {planned} runs are done.")
    if same:
        caption.append(f"The same for every arm, per run: {shared_costs(same)}.")
    pairs = zip(comparison.arms, rows, strict=True)
    notes = tuple(f"{arm.name}: {'; '.join(row.notes)}" for arm, row in pairs if row.notes)
    header = (heading, *titles, "verdict", *(COSTS[name] for name in different))
    return Table(header, cells, " ".join(caption), notes)


def costs(rows: list[study_text.ArmRow]) -> tuple[list[str], dict[str, str]]:
    """The costs that differ between arms, and the value of each cost that is the same. Unknown costs are left out.

    The time always has a column: it is measured, and a study that was killed and continued has the same table otherwise.
    """
    columns = {name: {row.costs[name] for row in rows} for name in COSTS}
    known = {name: values for name, values in columns.items() if values - {formatting.MISSING}}
    same = {name: next(iter(values)) for name, values in known.items() if len(values) == 1 and name != "time"}
    return [name for name in known if name not in same], same


def shared_costs(same: dict[str, str]) -> str:
    """Shared costs as a phrase: "3,000 steps, 12.3 M tokens and 412 MB of memory"."""
    return formatting.join_with_and(f"{value} {UNIT_PHRASES.get(name, COSTS[name])}" for name, value in same.items())


def markdown(comparison: StudyResults) -> str:
    """The table in Markdown, with its caption above and its notes below."""
    content = table(comparison)
    rows = [content.header, tuple(":--" if column == 0 else "--:" for column in range(len(content.header))), *content.rows]
    lines = [_markdown_text(content.caption), ""]
    for index, row in enumerate(rows):
        cells = row if index == 1 else tuple(map(_markdown_text, row))
        lines.append(f"| {' | '.join(cells)} |")
    if content.notes:
        lines += ["", *(f"- {_markdown_text(note)}" for note in content.notes)]
    return "\n".join(lines) + "\n"


def latex(comparison: StudyResults) -> str:
    """The table in LaTeX; the preamble needs \\usepackage{booktabs,graphicx}.

    To fit on a page, intervals are written with ±, and the costs are a second table. A table that is still wider than a
    line, as in a two-column paper, is scaled down.
    """
    content = table(comparison)
    results = [
        (row.label, *(column.short_cell(row) for column in study_text.COLUMNS), row.verdict or formatting.MISSING)
        for row in study_text.rows(comparison)
    ]
    header = (content.header[0], *(column.title for column in study_text.COLUMNS), "verdict")
    level = formatting.percent(1 - comparison.rule.alpha)
    has_intervals = any("±" in cell for row in results for cell in row[1:])
    legend = [f"± is half the {level} interval, the longer half if they differ."] if has_intervals else []
    caption = latex_text.escape(" ".join([content.caption, *legend, *map(_sentence, content.notes)]))
    label = re.sub("[^A-Za-z0-9]+", "-", comparison.name).strip("-") or "study"
    tables = [(caption.replace(TEST, TEST_IN_LATEX), label, _tabular(header, results, "r" * len(study_text.COLUMNS) + "l"))]
    if cost_titles := content.header[len(header) :]:
        rows = [(row[0], *row[len(header) :]) for row in content.rows]
        body = _tabular((content.header[0], *cost_titles), rows, "r" * len(cost_titles))
        tables.append((f"Cost of one run of each arm in table~\\ref{{tab:{label}}}.", f"{label}-costs", body))
    lines = [line for parts in tables for line in _float(*parts)]
    return "\n".join(["% needs \\usepackage{booktabs,graphicx}", *lines]) + "\n"


def _float(caption: str, label: str, body: list[str]) -> list[str]:
    return [
        "\\begin{table}[t]",
        "\\centering",
        "\\footnotesize",
        "\\setlength{\\tabcolsep}{4pt}",
        "\\setlength{\\belowcaptionskip}{6pt}",
        f"\\caption{{{caption}}}",
        f"\\label{{tab:{label}}}",
        *body,
        "\\end{table}",
    ]


def _tabular(header: tuple[str, ...], rows: Sequence[tuple[str, ...]], columns: str) -> list[str]:
    """The lines of a tabular; `columns` aligns all columns but the first, which is wrapped if it is wide."""
    longest = max(len(row[0]) for row in (header, *rows))
    # A character is about half an em wide. A long name is wrapped to about three lines, within limits.
    wrapped = f"p{{{min(max(longest / 3, WIDEST), 2 * WIDEST) / 2:.1f}em}}"
    first, start = (wrapped, r"\raggedright\hangindent=1em ") if longest > WIDEST else ("l", "")
    return [
        "\\sbox0{%",
        f"\\begin{{tabular}}{{@{{}}{first}{columns}@{{}}}}",
        "\\toprule",
        f"{start}{' & '.join('$p$' if cell == 'p' else latex_text.escape(cell) for cell in header)} \\\\",
        "\\midrule",
        *(f"{start}{' & '.join(map(latex_text.escape, row))} \\\\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}}%",
        "\\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi",
    ]


def _with_interval(column: study_text.ResultColumn, row: study_text.ArmRow) -> str:
    interval = column.interval(row) if column.interval else ""
    return f"{column.cell(row)} ({interval})" if interval else column.cell(row)


def _sentence(note: str) -> str:
    return note if note.endswith(".") else f"{note}."


def _markdown_text(text: str) -> str:
    escaped = MARKDOWN.sub(r"\\\1", latex_text.one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
