"""A study as a table for a paper: Markdown, and LaTeX that needs booktabs and graphicx. Knows nothing of the page."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from glasshouse import formatting
from glasshouse.pages import latex_text, study_text
from glasshouse.pages.study_content import StudyResults

COSTS = {
    "parameters": "parameters",
    "steps": "steps",
    "tokens": "tokens",
    "FLOPs": "FLOPs",
    "time": "training time",
    "memory": "memory",
}
# A first column of more characters is wrapped, so that the others stay on a page of LaTeX's usual width.
WIDEST = 16
RESULTS = 7  # columns before the costs
# What a caption says of the test, and the same with its signs.
TEST, TEST_IN_SIGNS = "p is of the paired t-test", "$p$ is of the paired $t$-test"
OF = {"time": "of training", "memory": "of memory"}
MARKDOWN = re.compile(r"([\\`*_{}\[\]|#~])")


@dataclass(frozen=True)
class Table:
    """Header and rows as written; the first column is words, the others figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    notes: tuple[str, ...]


def table(comparison: StudyResults) -> Table:
    """The columns that say something: a cost that is the same for every arm moves into the caption."""
    rows = study_text.rows(comparison)
    kept, same = costs(rows)
    first = comparison.arms[0].name if comparison.arms else "the first arm"
    level = formatting.percent(1 - comparison.rule.alpha)
    heading = study_text.labels(comparison)[0] or "arm"
    header = (heading, "seeds", f"mean ({level} interval)", f"difference ({level} interval)", "p", "effect", "verdict")
    cells = tuple(
        (
            row.label,
            row.seeds,
            _with_interval(row.mean, row.interval),
            _with_interval(row.difference, row.difference_interval),
            row.p,
            row.effect,
            row.word or formatting.NOTHING,
            *(row.costs[name] for name in kept),
        )
        for row in rows
    )
    better = "higher" if comparison.higher_is_better else "lower"
    recipe = f" of {comparison.recipe}" if comparison.recipe else ""
    caption = [
        f"{comparison.metric}{recipe} ({better} is better), {study_text.seeds(comparison)}, matched by {comparison.match}.",
        f"Differences are from {first}, paired by seed; {TEST}, corrected for the number of arms (Holm); "
        "the effect is the mean difference in standard deviations of the differences, with Hedges' correction.",
        f"A verdict of no difference is an equivalence test against a margin of {study_text.margin_in_words(comparison)}; "
        f"alpha is {comparison.rule.alpha:g}.",
    ]
    if comparison.rule.looks:
        caption.append(f"Judged after {formatting.listed(comparison.rule.looks)} seeds, alpha held over all looks together.")
    done, wanted = study_text.runs(comparison)
    if comparison.status != "done":
        caption.append(f"Not final: {done} of {wanted} runs are done.")
    if same:
        caption.append(f"The same for every arm, per run: {shared_costs(same)}.")
    named = zip(comparison.arms, rows, strict=True)
    notes = tuple(f"{arm.name}: {'; '.join(row.notes)}" for arm, row in named if row.notes)
    return Table((*header, *(COSTS[name] for name in kept)), cells, " ".join(caption), notes)


def costs(rows: list[study_text.ArmRow]) -> tuple[list[str], dict[str, str]]:
    """The costs that differ between arms, and the figures of those that are the same for all; unknown ones are left out."""
    columns = {name: {row.costs[name] for row in rows} for name in COSTS}
    known = {name: figures for name, figures in columns.items() if figures - {formatting.NOTHING}}
    same = {name: next(iter(figures)) for name, figures in known.items() if len(figures) == 1}
    return [name for name in known if name not in same], same


def shared_costs(same: dict[str, str]) -> str:
    """ "3,000 steps, 12.3 M tokens and 412 MB of memory"."""
    return formatting.listed(f"{figure} {OF.get(name, COSTS[name])}" for name, figure in same.items())


def markdown(comparison: StudyResults) -> str:
    """The table for a README or a notebook, with its caption above and its notes below."""
    content = table(comparison)
    rows = [content.header, tuple(":--" if place == 0 else "--:" for place in range(len(content.header))), *content.rows]
    lines = [_markdown_text(content.caption), ""]
    for place, row in enumerate(rows):
        cells = row if place == 1 else tuple(map(_markdown_text, row))
        lines.append(f"| {' | '.join(cells)} |")
    if content.notes:
        lines += ["", *(f"- {_markdown_text(note)}" for note in content.notes)]
    return "\n".join(lines) + "\n"


def latex(comparison: StudyResults) -> str:
    """The table for a paper; its preamble needs \\usepackage{booktabs,graphicx}.

    To fit on a page it has half intervals, and its costs are a table of their own; what is still wider than a line, as in
    a paper of two columns, is made smaller.
    """
    content = table(comparison)
    results = [
        (row[0], row[1], mean, difference, *row[4:RESULTS])
        for row, (mean, difference) in zip(content.rows, study_text.halved(comparison), strict=True)
    ]
    header = (content.header[0], "seeds", "mean", "difference", *content.header[4:RESULTS])
    level = formatting.percent(1 - comparison.rule.alpha)
    halved = [f"± is half the {level} interval."] if any("±" in cell for row in results for cell in row[2:4]) else []
    caption = latex_text.escape(" ".join([content.caption, *halved, *map(_sentence, content.notes)]))
    label = re.sub("[^A-Za-z0-9]+", "-", comparison.name).strip("-") or "study"
    tables = [(caption.replace(TEST, TEST_IN_SIGNS), label, _tabular(header, results, "rrrrrl"))]
    if costs := content.header[RESULTS:]:
        rows = [(row[0], *row[RESULTS:]) for row in content.rows]
        body = _tabular((content.header[0], *costs), rows, "r" * len(costs))
        tables.append((f"What one run of each arm in table~\\ref{{tab:{label}}} takes.", f"{label}-costs", body))
    lines = [line for each in tables for line in _float(*each)]
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
    """The lines of a table: arms in a first column that is wrapped where it is wide, figures in `columns`."""
    longest = max(len(row[0]) for row in (header, *rows))
    # A character takes about half an em, and a name about three lines, but never most of the page.
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


def _with_interval(figure: str, interval: str) -> str:
    return f"{figure} ({interval})" if interval else figure


def _sentence(note: str) -> str:
    return note if note.endswith(".") else f"{note}."


def _markdown_text(words: str) -> str:
    escaped = MARKDOWN.sub(r"\\\1", latex_text.one_line(words))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
