"""A study as a table for a paper: Markdown, and LaTeX that needs no package but booktabs. Knows nothing of the page."""

import re
from dataclasses import dataclass

from glasshouse.pages import axes, study_text
from glasshouse.pages.comparison import Comparison

COSTS = {
    "parameters": "parameters",
    "steps": "steps",
    "tokens": "tokens",
    "FLOPs": "FLOPs",
    "time": "training time",
    "memory": "memory",
}
OF = {"time": "of training", "memory": "of memory"}
# Characters that LaTeX would take for something else. A bracket or a star after the end of a row is an option of it.
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "*": "{*}",
    '"': "''",
    "−": "$-$",
    "–": "--",
    "±": r"$\pm$",
    "µ": r"$\mu$",
    "≤": r"$\leq$",
    "…": r"\ldots{}",
}
SUPERSCRIPT = {chr(written): chr(plain) for plain, written in axes.SUPERSCRIPTS.items()}
POWER = re.compile("×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
MARKDOWN = re.compile(r"([\\`*_{}\[\]|#~])")


@dataclass(frozen=True)
class Table:
    """Header and rows as written; the first column is words, the others figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    notes: tuple[str, ...]


def table(comparison: Comparison) -> Table:
    """The columns that say something: a cost that is the same for every arm moves into the caption."""
    rows = study_text.rows(comparison)
    kept, same = costs(rows)
    first = comparison.arms[0].name if comparison.arms else "the first arm"
    level = study_text.percent(1 - comparison.rule.alpha)
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
            row.word or study_text.NOTHING,
            *(row.costs[name] for name in kept),
        )
        for row in rows
    )
    better = "higher" if comparison.higher_is_better else "lower"
    recipe = f" of {comparison.recipe}" if comparison.recipe else ""
    caption = [
        f"{comparison.metric}{recipe} ({better} is better), {study_text.seeds(comparison)}, matched by {comparison.match}.",
        f"Differences are from {first}, paired by seed; p is of the paired t-test, corrected for the number of arms (Holm); "
        "the effect is the mean difference in standard deviations of the differences, with Hedges' correction.",
        f"A verdict of no difference is an equivalence test against a margin of {study_text.margin_in_words(comparison)}; "
        f"alpha is {comparison.rule.alpha:g}.",
    ]
    if comparison.rule.looks:
        caption.append(f"Judged after {study_text.listed(comparison.rule.looks)} seeds, alpha held over all looks together.")
    done, wanted = study_text.runs(comparison)
    if comparison.status != "done":
        caption.append(f"Not final: {done} of {wanted} runs are done.")
    if same:
        caption.append(f"The same for every arm, per run: {shared_costs(same)}.")
    named = zip(comparison.arms, rows, strict=True)
    notes = tuple(f"{arm.name}: {'; '.join(row.notes)}" for arm, row in named if row.notes)
    return Table((*header, *(COSTS[name] for name in kept)), cells, " ".join(caption), notes)


def costs(rows: list[study_text.Row]) -> tuple[list[str], dict[str, str]]:
    """The costs that differ between arms, and the figures of those that are the same for all; unknown ones are left out."""
    columns = {name: {row.costs[name] for row in rows} for name in COSTS}
    known = {name: figures for name, figures in columns.items() if figures - {study_text.NOTHING}}
    same = {name: next(iter(figures)) for name, figures in known.items() if len(figures) == 1}
    return [name for name in known if name not in same], same


def shared_costs(same: dict[str, str]) -> str:
    """ "3,000 steps, 12.3 M tokens and 412 MB of memory"."""
    return study_text.listed(f"{figure} {OF.get(name, COSTS[name])}" for name, figure in same.items())


def markdown(comparison: Comparison) -> str:
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


def latex(comparison: Comparison) -> str:
    """The table for a paper; its preamble needs \\usepackage{booktabs}."""
    content = table(comparison)
    caption = " ".join([content.caption, *(_sentence(note) for note in content.notes)])
    label = re.sub("[^A-Za-z0-9]+", "-", comparison.name).strip("-") or "study"
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}[t]",
        "\\centering",
        "\\footnotesize",
        "\\setlength{\\tabcolsep}{4pt}",
        f"\\caption{{{_latex_text(caption)}}}",
        f"\\label{{tab:{label}}}",
        f"\\begin{{tabular}}{{@{{}}l{'r' * 5}l{'r' * (len(content.header) - 7)}@{{}}}}",
        "\\toprule",
        f"{' & '.join(map(_latex_heading, content.header))} \\\\",
        "\\midrule",
        *(f"{' & '.join(map(_latex_text, row))} \\\\" for row in content.rows),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _with_interval(figure: str, interval: str) -> str:
    return f"{figure} ({interval})" if interval else figure


def _sentence(note: str) -> str:
    return note if note.endswith(".") else f"{note}."


def _one_line(words: str) -> str:
    """Without line breaks and other characters that do not print: they would end a row or stop a compiler."""
    return " ".join("".join(character if character.isprintable() else " " for character in words).split())


def _markdown_text(words: str) -> str:
    escaped = MARKDOWN.sub(r"\\\1", _one_line(words))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _latex_heading(words: str) -> str:
    if words == "p":
        return "$p$"
    return _latex_text(words)


def _latex_text(words: str) -> str:
    escaped = "".join(LATEX.get(character, character) for character in _one_line(words))
    return POWER.sub(lambda found: _power(found.group(1)), escaped)


def _power(exponent: str) -> str:
    return f"$\\times10^{{{''.join(SUPERSCRIPT[digit] for digit in exponent)}}}$"
