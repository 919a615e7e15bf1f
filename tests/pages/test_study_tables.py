"""A study's words, figures and tables for papers: short, exact, and escaped for where they go."""

import dataclasses
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from glasshouse import formatting
from glasshouse.pages import latex_text, study_tables, study_text
from glasshouse.pages.study_content import StudyResults

from . import study_example as example


def test_short_names_stay_different() -> None:
    names = [f"model.attention=additive, model.width={width}" for width in (32, 64, 128)]
    for most in (12, 20, 30):
        cut = study_text.short_names([*names, "rotary"], most)
        assert len(set(cut)) == 4
        assert cut[-1] == "rotary"
        assert all(len(name) <= most for name in cut)
    grid = dataclasses.replace(
        example.study(), arms=tuple(dataclasses.replace(example.study().arms[0], name=name) for name in names)
    )
    assert study_text.labels(grid) == ("model.attention, model.width", ["additive, 32", "additive, 64", "additive, 128"])
    assert study_text.labels(example.study())[0] == ""


def test_figures_are_written_as_exactly_as_they_are_known() -> None:
    assert formatting.decimals([(2.41, 2.45), (2.40, 2.46)]) == 3
    assert [formatting.number(value, 3) for value in (2.4317, -0.0001, -1.5, math.nan, 1.5e12)] == [
        "2.432",
        "0.000",
        "−1.500",
        "–",
        "1.500×10¹²",
    ]
    assert [formatting.number(value, signed=True) for value in (0.0, 0.25, -3.2e-9)] == ["0", "+0.25", "−3.200×10⁻⁹"]
    assert [formatting.p_value(p) for p in (1.0, 0.034, 0.00123, 1e-9, math.nan)] == [
        "1.00",
        "0.034",
        "0.0012",
        "< 0.0001",
        "–",
    ]


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
    rough = study_tables.markdown(example.nasty())
    assert "<script" not in rough
    assert len({line.replace("\\|", "").count("|") for line in rough.splitlines() if line.startswith("|")}) == 1


def test_latex_is_balanced_and_escaped() -> None:
    for study in (example.study(), example.nasty(), example.scaled(1e12), example.crowd(), paths()):
        source = study_tables.latex(study)
        bare = re.sub(r"%\n|\\[\\{}$&#%_]", "", source.split("\n", 1)[1])
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        assert not re.search("[%#^]|(?<!table)~", re.sub(r"\^\{-?\d+\}\$", "", bare))
        bodies = re.findall(r"\\begin\{tabular\}\{@\{\}(\S+)@\{\}\}\n\\toprule\n(.*?)\\bottomrule", source, re.DOTALL)
        assert len(bodies) == 2, "results and costs"
        for columns, body in bodies:
            kept = [line for line in body.splitlines() if line != r"\midrule"]
            assert len(kept) == 1 + len(study.arms)
            for line in kept:
                assert line.endswith(r" \\")
                assert not line.startswith(("[", "*"))
                assert len(re.findall(r"(?<!\\)&", line)) == len(re.sub(r"p\{.*?\}", "l", columns)) - 1
        assert not re.search("[−–×±⁰-⁹⁻µ]", source)
    assert r"\textless{}script\textgreater{}" in study_tables.latex(example.nasty())
    assert r"$\times10^{12}$" in study_tables.latex(example.scaled(1e12))


def test_latex_says_what_its_figures_are() -> None:
    source = study_tables.latex(example.study())
    assert r"rotary & 16 & 2.295 $\pm$ 0.021 & $-$0.124 $\pm$ 0.016 & \textless{} 0.0001 & $-$4.21 & better \\" in source
    assert r"$\pm$ is half the 95 \% interval." in source
    assert "$p$ is of the paired $t$-test" in source
    assert r"rotary & 924 K & 54 s \\" in source.split(r"\label{tab:positions-costs}")[1]


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("24 steps (-1.8%), pad=-1", r"24 steps ($-$1.8\%), pad=$-$1"),
        ("3e-4, 2024-05-06, dot-product", "3e-4, 2024-05-06, dot-product"),
        ("a--b---c – d", r"a-{}-b-{}-{}-c \textendash{} d"),
        ("?`x`", r"?\`{}x\`{}"),
        ("2.4×10⁻⁹, 3×", r"2.4$\times10^{-9}$, 3$\times$"),
        ("u\u0308ber, Łódź, ą, α 中", r"über, Łódź, U+0105\allowbreak{}, U+03B1\allowbreak{} U+4E2D\allowbreak{}"),
        ("/data/my_own/speech-lm.toml", r"/\allowbreak{}data/\allowbreak{}my\_\allowbreak{}own/\allowbreak{}speech-lm.toml"),
    ],
)
def test_words_are_set_as_they_are_written(words: str, written: str) -> None:
    assert latex_text.escape(words) == written


def paths() -> StudyResults:
    """Names as they come of recipes in folders and of settings, with letters that LaTeX's usual font does not have."""
    plain = example.study(seeds=4)
    names = (
        "../recipes/my_own/speech-lm.toml, learning_rate=3e-4",
        "/home/a&b/100%/speech#2/speech-lm.toml, learning_rate=3e-4",
        "~x^{y}/Größe_α_中/ąλ.toml, pad=-1",
        "C:\\x\\~y, kinds=[a_b, c^d], end=--",
        '""',
    )
    arms = [dataclasses.replace(arm, name=name, notes=("x (-1.8%)",)) for arm, name in zip(plain.arms, names, strict=True)]
    return dataclasses.replace(plain, name="a_b & 50%", recipe="../my_own/50%_&_#3", arms=example.judged(arms))


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no pdflatex here to compile the table with")
@pytest.mark.parametrize("layout", ["", "[twocolumn]"])
def test_latex_compiles_and_fits_on_its_page(layout: str, tmp_path: Path) -> None:
    studies = (example.study(), example.sweep(), example.nasty(), example.scaled(1e12), example.scaled(1e-9), paths())
    letters = "".join(letter for letter in map(chr, range(0xA1, 0x250)) if latex_text.escape(letter) == letter)
    assert {*"äéßøñčłőż"} <= {*letters}
    others = latex_text.escape("".join(latex_text.ESCAPES) + " αą中🙂")
    start = f"\\documentclass{layout}{{article}}\n\\usepackage{{booktabs,graphicx}}\n\\begin{{document}}"
    tables = "\\clearpage\n".join(map(study_tables.latex, studies))
    source = "\n".join([start, "\\sloppy", *letters, others, "\\clearpage", tables, "\\end{document}"])
    (tmp_path / "paper.tex").write_text(source, encoding="utf-8")
    command = ("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    log = (tmp_path / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, [line for line in log.splitlines() if line.startswith("!")]
    assert not re.findall(r"Overfull \\hbox.*|.*Float too large.*|Missing character.*|.*multiply defined.*", log)
