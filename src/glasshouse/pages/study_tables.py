"""The table of a study: its columns, and their writers in Markdown and in LaTeX. Page and terminal read the columns too."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glasshouse import formatting
from glasshouse.pages import latex_text
from glasshouse.results import study_text
from glasshouse.results.study import Arm, StudyResults
from glasshouse.results.table import Table
from glasshouse.verdicts.verdict import Difference, Summary

# A first column with more characters is wrapped, so that the table fits the width of a LaTeX page.
WIDEST = 16
# The same phrase of the caption as plain text and in LaTeX.
TEST = "p is from a paired t-test, adjusted for skewness"
TEST_IN_LATEX = "$p$ is from a paired $t$-test, adjusted for skewness"
MARKDOWN = re.compile(r"([\\`*_{}\[\]|#~])")


@dataclass(frozen=True)
class ResultCell:
    """A number as text, with its interval beside it, and with half its interval where space is short."""

    text: str = formatting.MISSING
    interval: str = ""  # "4.51 to 4.55"
    half_interval: str = ""  # "4.53 ± 0.02"

    @property
    def short(self) -> str:
        return self.half_interval or self.text

    @property
    def full(self) -> str:
        return f"{self.text} ({self.interval})" if self.interval else self.text


# The cells of a column, from all arms, because they share their number of decimals.
Cells = Callable[[Sequence[Arm]], list[ResultCell]]


@dataclass(frozen=True)
class Column:
    """A column of the table: its title, what its cells hold, and a subtitle for the page."""

    title: str
    cells: Cells
    subtitle: str = ""
    phrase: str = ""  # after a number in a sentence, where it is not the title


def _estimates(estimates: Sequence[Summary | Difference | None], signed: bool = False) -> list[ResultCell]:
    """Means with their intervals, all with the same number of decimals."""
    places = formatting.decimals([(found.low, found.high) for found in estimates if found])
    return [_estimate(found, places, signed) if found else ResultCell() for found in estimates]


def _estimate(found: Summary | Difference, places: int | None, signed: bool) -> ResultCell:
    mean = formatting.number(found.mean, places, signed)
    # The interval of a skewed sample is longer on one side.
    half = max(found.high - found.mean, found.mean - found.low)
    half_interval = f"{mean} ± {formatting.number(half, places)}" if half > 0 else ""
    return ResultCell(mean, formatting.interval(found.low, found.high, places, signed), half_interval)


def _seeds(arm: Arm) -> ResultCell:
    finished = sum(math.isfinite(value) for value in arm.values.values())
    return ResultCell(str(finished) if finished == len(arm.seeds) else f"{finished} of {len(arm.seeds)}")


def _of_each(cell: Callable[[Arm], ResultCell]) -> Cells:
    return lambda arms: list(map(cell, arms))


def _of_difference(text: Callable[[Difference], str]) -> Cells:
    return _of_each(lambda arm: ResultCell(text(arm.difference)) if arm.difference else ResultCell())


def _cost(amount: Callable[[Arm], float], text: Callable[[float], str]) -> Cells:
    """A cost, or a dash if it was not measured."""
    return _of_each(
        lambda arm: ResultCell(text(amount(arm))) if math.isfinite(amount(arm)) and amount(arm) > 0 else ResultCell()
    )


# The terminal, the page, Markdown and LaTeX read these lists; a column is added here and nowhere else.
COLUMNS = (
    Column("seeds", _of_each(_seeds)),
    Column("mean", lambda arms: _estimates([arm.summary for arm in arms]), "{level} interval"),
    Column("difference", lambda arms: _estimates([arm.difference for arm in arms], signed=True), "{level} interval"),
    Column("p", _of_difference(lambda difference: formatting.p_value(difference.adjusted_p)), "Holm"),
    Column("effect", _of_difference(lambda difference: formatting.number(difference.effect, 2, signed=True)), "Hedges"),
)
TIME = Column("training time", _cost(lambda arm: arm.seconds, formatting.duration))
COSTS = (
    Column("parameters", _cost(lambda arm: arm.parameters, formatting.count)),
    Column("steps", _cost(lambda arm: arm.steps, "{:,.0f}".format)),
    Column("tokens", _cost(lambda arm: arm.tokens, formatting.count)),
    Column("FLOPs", _cost(lambda arm: arm.flops, lambda flops: formatting.flops(flops).removesuffix("FLOP").strip())),
    TIME,
    Column("memory", _cost(lambda arm: arm.memory, formatting.size), phrase="of memory"),
)


@dataclass(frozen=True)
class ArmRow:
    """An arm as a row: `label` is its name without the parts that all names share; `cells` are by the title of a column."""

    label: str
    cells: dict[str, ResultCell]
    verdict: str
    notes: tuple[str, ...]

    def texts(self, columns: Sequence[Column]) -> list[str]:
        return [self.cells[column.title].text for column in columns]


def rows(comparison: StudyResults) -> list[ArmRow]:
    columns = {column.title: column.cells(comparison.arms) for column in (*COLUMNS, *COSTS)}
    return [
        ArmRow(
            label,
            {title: cells[index] for title, cells in columns.items()},
            arm.difference.word if arm.difference else "",
            study_text.notes(arm),
        )
        for index, (arm, label) in enumerate(zip(comparison.arms, study_text.marked_labels(comparison), strict=True))
    ]


def table(comparison: StudyResults) -> Table:
    """The results and the costs that differ. A cost that is the same for every arm moves into the caption."""
    arm_rows = rows(comparison)
    different, same = costs(arm_rows)
    first = comparison.first_arm.name if comparison.arms else "the first arm"
    level = formatting.percent(1 - comparison.rule.alpha)
    subtitles = (column.subtitle.format(level=level) for column in COLUMNS)
    titles = [
        f"{column.title} ({subtitle})" if "interval" in subtitle else column.title
        for column, subtitle in zip(COLUMNS, subtitles, strict=True)
    ]
    cells = tuple(
        (
            row.label,
            *(row.cells[column.title].full for column in COLUMNS),
            row.verdict or formatting.MISSING,
            *row.texts(different),
        )
        for row in arm_rows
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
        caption.append(f"The same for every arm, per run: {same}.")
    heading = study_text.labels(comparison)[0] or "arm"
    header = (heading, *titles, "verdict", *(column.title for column in different))
    return Table("", header, cells, " ".join(caption))


def notes(comparison: StudyResults) -> list[str]:
    found = ((arm.name, study_text.notes(arm)) for arm in comparison.arms)
    return [f"{name}: {'; '.join(remarks)}" for name, remarks in found if remarks]


def costs(arm_rows: Sequence[ArmRow]) -> tuple[list[Column], str]:
    """The costs that differ between arms, and a phrase of those that are the same. Unknown costs are left out.

    The time always has a column: it is measured, and a study that was killed and continued has the same table otherwise.
    """
    different, same = [], []
    for column in COSTS:
        texts = {row.cells[column.title].text for row in arm_rows}
        if len(texts) == 1 and column is not TIME and texts != {formatting.MISSING}:
            same.append(f"{texts.pop()} {column.phrase or column.title}")
        elif texts - {formatting.MISSING}:
            different.append(column)
    return different, formatting.join_with_and(same)


def markdown(comparison: StudyResults) -> str:
    """The table in Markdown, with its caption above and its notes below."""
    content = table(comparison)
    header, *body = [f"| {' | '.join(map(_markdown_text, row))} |" for row in (content.columns, *content.rows)]
    lines = [_markdown_text(content.note), "", header, f"| :--{' | --:' * (len(content.columns) - 1)} |", *body]
    if remarks := notes(comparison):
        lines += ["", *(f"- {_markdown_text(note)}" for note in remarks)]
    return "\n".join(lines) + "\n"


def latex(comparison: StudyResults) -> str:
    """The table in LaTeX; the preamble needs \\usepackage{booktabs,graphicx}.

    To fit on a page, intervals are written with ±, and the costs are a second table. A table that is still wider than a
    line, as in a two-column paper, is scaled down.
    """
    content = table(comparison)
    results = [
        (row.label, *(row.cells[column.title].short for column in COLUMNS), row.verdict or formatting.MISSING)
        for row in rows(comparison)
    ]
    header = (content.columns[0], *(column.title for column in COLUMNS), "verdict")
    level = formatting.percent(1 - comparison.rule.alpha)
    has_intervals = any("±" in cell for row in results for cell in row[1:])
    legend = [f"± is half the {level} interval, the longer half if they differ."] if has_intervals else []
    caption = latex_text.escape(" ".join([content.note, *legend, *map(study_text.sentence, notes(comparison))]))
    label = re.sub("[^A-Za-z0-9]+", "-", comparison.name).strip("-") or "study"
    tables = [(caption.replace(TEST, TEST_IN_LATEX), label, _tabular(header, results, "r" * len(COLUMNS) + "l"))]
    if cost_titles := content.columns[len(header) :]:
        amounts = [(row[0], *row[len(header) :]) for row in content.rows]
        body = _tabular((content.columns[0], *cost_titles), amounts, "r" * len(cost_titles))
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


def _tabular(header: Sequence[str], rows: Sequence[Sequence[str]], columns: str) -> list[str]:
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


def _markdown_text(text: str) -> str:
    escaped = MARKDOWN.sub(r"\\\1", latex_text.one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
