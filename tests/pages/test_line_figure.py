"""A figure of means joins its settings in sorted order."""

from pathlib import Path

from glasshouse.pages import line_figure


def test_a_line_joins_its_settings_in_sorted_order(tmp_path: Path) -> None:
    estimates = {1.0: (3.0, 2.0, 4.0), 2.0: (1.0, 0.5, 1.5), 4.0: (2.0, 1.0, 3.0)}
    line_figure.draw({"": estimates}, tmp_path / "one.svg", "size", "loss")
    line_figure.draw(
        {"": {setting: estimates[setting] for setting in (4.0, 1.0, 2.0)}}, tmp_path / "other.svg", "size", "loss"
    )
    assert (tmp_path / "one.svg").read_text() == (tmp_path / "other.svg").read_text()
