"""A pulse of `glasshouse scale`: laws from a CSV file, a prediction, the page, and the refusals."""

from pathlib import Path

import pytest

from glasshouse.specs.errors import DataError, GlasshouseError, RunError

from .program import call, refused, worked

LAW = (1.69, 406.4, 410.7, 0.34, 0.28)


def write_table(
    path: Path, factors: tuple[float, ...], around_best: bool = True, worth: float = 1.0, first: float = 1e15
) -> Path:
    """Losses by the law at sizes around the best one of each budget, or at the same sizes for all.

    The law is one that needs `worth` times less compute for the same loss. There are four budgets from `first` on.
    """
    floor, a_scale, b_scale, a, b = LAW
    a_scale, b_scale = a_scale * worth ** (-a / 2), b_scale * worth ** (-b / 2)
    rows = ["N,D,L"]
    for budget in (first * 4**power for power in range(4)):
        best = (a * a_scale / (b * b_scale)) ** (1 / (a + b)) * (budget / 6) ** (b / (a + b))
        for factor in factors:
            size = (best if around_best else 1e7) * factor
            tokens = budget / 6 / size
            rows.append(f"{size:.6g},{tokens:.6g},{floor + a_scale * size**-a + b_scale * tokens**-b:.6f}")
    path.write_text("\n".join(rows))
    return path


def test_a_study_is_planned_and_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path))
    fields = ("data.source=state-of-the-union", "data.vocabulary=128", "data.context=16", "model.width=16", "model.layers=1")
    speed = ("model.heads=1", "training.batch=4", "training.threads=1", "training.precision=fp32")
    options = ("--sizes", "4", "--seeds", "1", "--spread", "3", "--tokens-per-parameter", "1", "--device", "cpu")
    asked = ("scale", "plan", "characters", *fields, *speed, "--budgets", "3e8,6e8", *options, "--name", "tiny")
    shown = worked(call(*asked)).out
    assert "sweep of 7 learning rates" in " ".join(shown.split())
    assert "8 runs (1 seeds each)" in " ".join(shown.split())
    assert "glasshouse scale run tiny" in shown
    listed = worked(call("studies")).out
    for word in ("tiny", "scaling", "characters", "0/8", "unfinished", "3e+08"):
        assert word in listed
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "scaling.json").write_text("{")
    assert "damaged" in worked(call("studies")).out
    refused(call(*asked), RunError)
    refused(call("scale", "run", "none"), RunError)
    refused(call("scale", "fit", "tiny"), RunError)
    refused(call("scale", "plan", "characters", *fields, "--budgets", "3e8", *options), GlasshouseError)


def test_laws_are_fitted_and_asked(tmp_path: Path) -> None:
    table = write_table(tmp_path / "table.csv", (0.3, 0.6, 1.0, 1.7, 3.0))
    columns = ("--parameters", "N", "--tokens", "D", "--loss", "L", "--resamples", "50")
    shown = worked(call("scale", "fit", str(table), *columns)).out
    assert "IsoFLOP" in shown
    assert "0.45" in shown
    page = tmp_path / "page.html"
    shown = worked(call("scale", "fit", str(table), *columns, "--budget", "1e18", "--output", str(page))).out
    assert "For 1e+18 FLOPs, 16 times the largest measured compute" in shown
    assert "<svg" in page.read_text()
    figures = tmp_path / "new" / "figures"
    again = worked(call("scale", "fit", str(table), *columns, "--figures", str(figures))).out
    assert {path.name for path in figures.iterdir()} >= {"isoflop.svg", "frontier.svg", "fitted.svg", "measurements.csv"}
    same = worked(call("scale", "fit", str(figures / "measurements.csv"), "--resamples", "50", "--flops", "flops")).out
    assert same.splitlines()[0] == again.splitlines()[0]
    sizes = ("--size", "1e8", "--trained-on", "1e7")
    shown = worked(call("scale", "check", "--against", str(table), *columns, *sizes)).out
    assert "too large and was trained too briefly" in " ".join(shown.split())
    refused(call("scale", "check", "--against", str(table), *columns), GlasshouseError)
    refused(call("scale", "fit", str(table), *columns, "--budget", "-1"), DataError)
    refused(call("scale", "fit", str(table), *columns, "--budgets", "x"), DataError)
    refused(call("scale", "fit", str(table)), DataError)
    refused(call("scale", "fit", str(table), *columns, "--output", str(tmp_path / "page.txt")), GlasshouseError)
    refused(call("scale", "fit", str(tmp_path / "none.csv")), GlasshouseError)
    refused(call("scale", "fit", str(write_table(tmp_path / "few.csv", (0.5, 2.0), False)), *columns), DataError)


@pytest.mark.slow
def test_two_recipes_are_compared(tmp_path: Path) -> None:
    sizes = (0.3, 0.6, 1.0, 1.7, 3.0)
    old = write_table(tmp_path / "old.csv", sizes)
    new = write_table(tmp_path / "new.csv", sizes, worth=2.0)
    columns = ("--parameters", "N", "--tokens", "D", "--loss", "L", "--resamples", "50")
    page = tmp_path / "page.html"
    shown = " ".join(worked(call("scale", "transfer", str(old), str(new), *columns, "--output", str(page))).out.split())
    assert "new.csv needs less compute than old.csv for the same loss" in shown
    assert "old.csv needs 2.0" in shown
    assert "nothing tells the data, metric and tokenizer of a file" in shown
    assert "new.csv needs less compute" in page.read_text()
    refused(call("scale", "transfer", str(old), str(old), *columns), DataError)
    refused(call("scale", "transfer", str(old), str(tmp_path / "none.csv"), *columns), GlasshouseError)
    far = write_table(tmp_path / "far.csv", sizes, first=1e20)
    refused(call("scale", "transfer", str(old), str(far), *columns), DataError, "old.csv", "far.csv", "1e+20")
    refused(call("scale", "transfer", str(old), str(new), *columns, "--output", str(tmp_path / "x.txt")), GlasshouseError)
