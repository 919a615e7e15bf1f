"""The tables of a study in Markdown and LaTeX: exact and escaped. LaTeX compiles."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from glasshouse.pages import latex_text, study_tables
from tests.needs import needs_latex

from . import example_study as example
from .unusual_studies import with_path_names


def test_markdown_is_a_table() -> None:
    study = example.study()
    lines = study_tables.markdown(study).splitlines()
    assert "validation.loss of speech-lm (lower is better), 16 seeds each, matched by steps." in lines[0]
    assert "±0.035" in lines[0]
    assert "The same for every arm, per run: 3,000 steps" in lines[0]
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(study.arms)
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert "−0.124 (−0.140 to −0.108)" in table[5]
    assert "- none: seeds 3 and 11 diverged" in lines
    escaped = study_tables.markdown(example.hostile())
    assert "<script" not in escaped
    assert len({line.replace("\\|", "").count("|") for line in escaped.splitlines() if line.startswith("|")}) == 1


def test_latex_is_balanced_and_escaped() -> None:
    for study in (example.study(), example.hostile(), example.scaled(1e12), example.many_arms(), with_path_names()):
        source = study_tables.latex(study)
        unescaped = re.sub(r"%\n|\\[\\{}$&#%_]", "", source.split("\n", 1)[1])
        assert unescaped.count("{") == unescaped.count("}")
        assert unescaped.count("$") % 2 == 0
        assert not re.search("[%#^]|(?<!table)~", re.sub(r"\^\{-?\d+\}\$", "", unescaped))
        bodies = re.findall(r"\\begin\{tabular\}\{@\{\}(\S+)@\{\}\}\n\\toprule\n(.*?)\\bottomrule", source, re.DOTALL)
        assert len(bodies) == 2, "results and costs"
        for columns, body in bodies:
            rows = [line for line in body.splitlines() if line != r"\midrule"]
            assert len(rows) == 1 + len(study.arms)
            for line in rows:
                assert line.endswith(r" \\")
                assert not line.startswith(("[", "*"))
                assert len(re.findall(r"(?<!\\)&", line)) == len(re.sub(r"p\{.*?\}", "l", columns)) - 1
        assert not re.search("[−–×±⁰-⁹⁻µ]", source)
    assert r"\textless{}script\textgreater{}" in study_tables.latex(example.hostile())
    assert r"$\times10^{12}$" in study_tables.latex(example.scaled(1e12))


def test_latex_explains_its_numbers() -> None:
    source = study_tables.latex(example.study())
    assert r"rotary & 16 & 2.295 $\pm$ 0.021 & $-$0.124 $\pm$ 0.016 & \textless{} 0.0001 & $-$4.21 & better \\" in source
    assert r"$\pm$ is half the 95 \% interval, the longer half if they differ." in source
    assert "$p$ is from a paired $t$-test" in source
    assert r"rotary & 924 K & 54 s \\" in source.split(r"\label{tab:positions-costs}")[1]


@needs_latex
@pytest.mark.parametrize("layout", ["", "[twocolumn]"])
def test_latex_compiles_and_fits_on_its_page(layout: str, tmp_path: Path) -> None:
    studies = (
        example.study(),
        example.sweep(),
        example.hostile(),
        example.scaled(1e12),
        example.scaled(1e-9),
        with_path_names(),
    )
    letters = "".join(letter for letter in map(chr, range(0xA1, 0x250)) if latex_text.escape(letter) == letter)
    assert {*"äéßøñčłőż"} <= {*letters}
    others = latex_text.escape("".join(latex_text.ESCAPES) + " αą中🙂")
    preamble = f"\\documentclass{layout}{{article}}\n\\usepackage{{booktabs,graphicx}}\n\\begin{{document}}"
    tables = "\\clearpage\n".join(map(study_tables.latex, studies))
    source = "\n".join([preamble, "\\sloppy", *letters, others, "\\clearpage", tables, "\\end{document}"])
    (tmp_path / "paper.tex").write_text(source, encoding="utf-8")
    command = ("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    log = (tmp_path / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, [line for line in log.splitlines() if line.startswith("!")]
    assert not re.findall(r"Overfull \\hbox.*|.*Float too large.*|Missing character.*|.*multiply defined.*", log)


def test_times_change_only_their_own_column() -> None:
    """A study that was killed and continued has other times, perhaps equal ones, and else the same table."""

    def without_times(seconds: float) -> list[list[str]]:
        study = example.study()
        arms = tuple(replace(arm, seconds=seconds) for arm in study.arms)
        changed = replace(study, arms=arms)
        table = study_tables.table(changed)
        column = table.columns.index("training time")
        rows = [[cell for number, cell in enumerate(row) if number != column] for row in (table.columns, *table.rows)]
        return [*rows, [table.note, *study_tables.notes(changed)]]

    assert without_times(90.0) == without_times(4000.0)
    different = study_tables.table(example.study())
    column = different.columns.index("training time")
    assert [cell for number, cell in enumerate(different.columns) if number != column] == without_times(90.0)[0]
