"""A study's words, figures and tables for papers: short, exact, and escaped for where they go."""

import dataclasses
import math
import re

from glasshouse.pages import study_tables, study_text

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
    assert study_text.decimals([(2.41, 2.45), (2.40, 2.46)]) == 3
    assert [study_text.number(value, 3) for value in (2.4317, -0.0001, -1.5, math.nan, 1.5e12)] == [
        "2.432",
        "0.000",
        "−1.500",
        "–",
        "1.500×10¹²",
    ]
    assert [study_text.number(value, signed=True) for value in (0.0, 0.25, -3.2e-9)] == ["0", "+0.25", "−3.200×10⁻⁹"]
    assert [study_text.probability(p) for p in (1.0, 0.034, 0.00123, 1e-9, math.nan)] == [
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
    for study in (example.study(), example.nasty(), example.scaled(1e12), example.crowd()):
        source = study_tables.latex(study)
        body = source.split("\n", 1)[1]
        bare = re.sub(r"\\[\\{}$&#%_]", "", body)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        assert not re.search("[%#~^]", re.sub(r"\^\{-?\d+\}\$", "", bare))
        rows = re.search(r"\\toprule\n(.*)\\bottomrule", source, re.DOTALL)
        assert rows is not None
        kept = [line for line in rows.group(1).splitlines() if line != r"\midrule"]
        assert len(kept) == 1 + len(study.arms)
        columns = re.search(r"\\begin\{tabular\}\{@\{\}(\w+)@\{\}\}", source)
        assert columns is not None
        for line in kept:
            assert line.endswith(r" \\")
            assert not line.startswith(("[", "*"))
            assert len(re.findall(r"(?<!\\)&", line)) == len(columns.group(1)) - 1
        assert not re.search("[−–×±⁰-⁹⁻µ]", source)
    assert r"\textless{}script\textgreater{}" in study_tables.latex(example.nasty())
    assert r"$\times10^{12}$" in study_tables.latex(example.scaled(1e12))
