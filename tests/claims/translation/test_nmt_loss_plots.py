"""The claim nmt-loss-plots: mean curves, their order, and the figure."""

from glasshouse.claims.translation import nmt_loss_plots
from tests.claims.example_values import spread_values


def test_the_order_is_judged_by_the_lowest_losses_and_the_share_of_lower_steps_is_shown(tmp_path):
    low = {0: [(1, 3.0), (2, 1.0)], 1: [(1, 5.0), (2, 1.0)]}
    high = {0: [(1, 3.5), (2, 2.0)], 1: [(1, 3.5)]}
    assert nmt_loss_plots.mean_curve(low) == {1: 4.0, 2: 1.0}
    assert nmt_loss_plots.share_below(low, high) == 0.5
    difference = nmt_loss_plots.judge_order(("lower", spread_values(0.3)), ("higher", spread_values(0.5, shift=2)))
    assert difference.word == "better"
    assert difference.sentence.startswith("lower is better than higher by 0.2")
    nmt_loss_plots.draw(tmp_path / "curves.svg", {"small list": {"h 32": high, "h 64": low}})
    assert "h 64" in (tmp_path / "curves.svg").read_text()
