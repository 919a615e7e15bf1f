"""Claim: the loss curves of the Pig Latin translators have the reported order, by hidden size and by size of the data."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.translation import nmt
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge
from glasshouse.pages import charts, figures
from glasshouse.pages.study_content import Arm

Setting = tuple[int, str]  # (hidden size, list of words)
Curves = Mapping[int, Sequence[tuple[int, float]]]  # seed -> (step, loss)
# (the arm reported to be lower, the arm reported to be higher)
ORDERS: dict[str, tuple[Setting, Setting]] = {
    "h 64 below h 32, small list": ((64, "small"), (32, "small")),
    "h 64 below h 32, large list": ((64, "large"), (32, "large")),
    "small list below large, h 32": ((32, "small"), (32, "large")),
    "small list below large, h 64": ((64, "small"), (64, "large")),
}
# File name -> title of each panel -> the arms in it.
PICTURES = {
    "by-hidden-size.svg": {f"{size} list": [(width, size) for width in nmt.WIDTHS] for size in nmt.SOURCES},
    "by-data-size.svg": {f"h {width}": [(width, size) for size in nmt.SOURCES] for width in nmt.WIDTHS},
}


class NMTLossPlots(Claim):
    """Uses the loss curves of the study of the claim `nmt`."""

    statement = "By validation loss, hidden size 64 lies below 32, and the small list of words below the large one."
    source = "course work on translation: figures of the loss by hidden size and by size of the data"
    reported = "lowest losses, small and large: h 32 0.799 and 1.156; h 64 0.478 and 0.569 (the curves as figures only)"
    rule = (
        "The reported figures show four orders: hidden size 64 below 32 on each list, and the small list below the "
        "large one at each hidden size. Each order is judged by the lowest validation loss, paired by seed, on one "
        "common set of validation words. The claim is upheld if all four orders hold. It is refuted if one is reversed, "
        "or if its difference is shown to be smaller than one standard deviation between seeds (at a level divided "
        "among the four). Otherwise it is undecided. The share of the evaluations at which the mean curve is lower is "
        "shown and does not decide."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        nmt_bench = nmt.bench_of_nmt(bench)
        study = nmt.run_study(nmt_bench)
        arms = {setting: next(arm for arm in study.arms if arm.name == nmt.arm_name(*setting)) for setting in nmt.REPORTED}
        differences = {
            name: judge_order(*((_label(setting), arms[setting].values) for setting in order))
            for name, order in ORDERS.items()
        }
        rows = [
            Evidence(name, _reported(*ORDERS[name]), f"{difference.sentence}; {_share_text(arms, *ORDERS[name])}")
            for name, difference in differences.items()
        ]
        verdicts = {name: rules.direction(difference, parts=len(ORDERS)) for name, difference in differences.items()}
        for picture, panels in PICTURES.items():
            curves = {
                title: {_label(setting): arms[setting].curves for setting in settings} for title, settings in panels.items()
            }
            draw(bench.folder / picture, curves)
        return Finding(
            verdict=rules.all_of(*verdicts.values()),
            because="; ".join(f"{name}: {verdict}" for name, verdict in verdicts.items()) + ".",
            scope=nmt.describe_scope(nmt_bench, study),
            rows=tuple(rows),
            pictures=tuple(PICTURES),
            notes=(f"the study is that of the claim nmt: {nmt_bench.folder.name}/{study.name}", *nmt.NOTES),
        )


def judge_order(lower: tuple[str, Mapping[int, float]], higher: tuple[str, Mapping[int, float]]) -> Difference:
    """The arm reported to be lower compared with the other, paired by seed. Each arm is (name, seed -> loss)."""
    return judge(dict([higher, lower]), VerdictRule())[lower[0]]


def mean_curve(curves: Curves) -> dict[int, float]:
    """Step -> the mean over the seeds evaluated at that step."""
    losses: dict[int, list[float]] = {}
    for curve in curves.values():
        for step, loss in curve:
            losses.setdefault(step, []).append(loss)
    return {step: float(np.mean(values)) for step, values in sorted(losses.items())}


def share_below(lower: Curves, higher: Curves) -> float:
    """The share of the common steps at which one mean curve is below another."""
    first, second = mean_curve(lower), mean_curve(higher)
    common = [step for step in first if step in second]
    return sum(first[step] < second[step] for step in common) / len(common) if common else float("nan")


def draw(path: Path, panels: Mapping[str, Mapping[str, Curves]]) -> None:
    """Draw a panel for each title, with a thin curve for each seed and a thick one for their mean."""
    figure = figures.new_figure(5.0 * len(panels), 4.0, path)
    for panel, (title, by_label) in zip(
        figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels.items(), strict=True
    ):
        for (label, curves), tone in zip(by_label.items(), ("ochre", "accent"), strict=False):
            colour = charts.LIGHT_COLOURS[tone]
            for curve in curves.values():
                panel.plot(*zip(*curve, strict=True), color=colour, linewidth=0.6, alpha=0.35)
            mean = mean_curve(curves)
            panel.plot(list(mean), list(mean.values()), color=colour, linewidth=1.9, label=label)
        panel.set_title(title, loc="left", fontsize=10, color=figures.SOFT)
        figures.use_log_scale(panel)
        panel.set_xlabel("step", color=figures.SOFT)
        figures.style_panel(panel)
        panel.legend(frameon=False, labelcolor=figures.INK, title="validation loss", fontsize=9, title_fontsize=9)
    figures.save(figure, path)


def _label(setting: Setting) -> str:
    return f"h {setting[0]}, {setting[1]}"


def _reported(lower: Setting, higher: Setting) -> str:
    return f"{nmt.REPORTED[lower]} below {nmt.REPORTED[higher]}"


def _share_text(arms: Mapping[Setting, Arm], lower: Setting, higher: Setting) -> str:
    return f"lower at {100 * share_below(arms[lower].curves, arms[higher].curves):.0f} % of the evaluations"
