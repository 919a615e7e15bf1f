"""Claim: the loss curves of the Pig Latin translators lie in the order reported, by hidden size and by size of the data."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.translation import nmt
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge
from glasshouse.pages import charts, figures
from glasshouse.pages.study_content import Arm

Place = tuple[int, str]
Curves = Mapping[int, Sequence[tuple[int, float]]]
# (the arm said to be lower, the arm said to be higher)
ORDERS: dict[str, tuple[Place, Place]] = {
    "h 64 below h 32, small list": ((64, "small"), (32, "small")),
    "h 64 below h 32, large list": ((64, "large"), (32, "large")),
    "small list below large, h 32": ((32, "small"), (32, "large")),
    "small list below large, h 64": ((64, "small"), (64, "large")),
}
PICTURES = {
    "by-hidden-size.svg": {f"{size} list": [(width, size) for width in nmt.WIDTHS] for size in nmt.SOURCES},
    "by-data-size.svg": {f"h {width}": [(width, size) for size in nmt.SOURCES] for width in nmt.WIDTHS},
}


class NMTLossPlots(Claim):
    """The curves of the study that the claim `nmt` runs too."""

    statement = "By validation loss, hidden size 64 lies below 32, and the small list of words below the large one."
    source = "course work on translation: figures of the loss by hidden size and by size of the data"
    reported = "lowest losses, small and large: h 32 0.799 and 1.156; h 64 0.478 and 0.569 (the curves as figures only)"
    rule = (
        "Four orders are read off the reported figures: 64 below 32 on each list, the small list below the large one "
        "at each hidden size. Each is judged by the lowest validation loss, paired by seed, on one common set of "
        "validation words. Upheld where all four are so, refuted where one is reversed or no difference reaches one "
        "standard deviation between seeds (the level shared among the four), else undecided. The share of the "
        "evaluations at which the mean curve lies lower is shown and does not decide."
    )

    def try_it(self, bench: Bench) -> Finding:
        home = nmt.at_home(bench)
        comparison = nmt.study(home)
        arms = {place: next(arm for arm in comparison.arms if arm.name == nmt.arm(*place)) for place in nmt.REPORTED}
        judged = {name: order(*((_label(place), arms[place].values) for place in places)) for name, places in ORDERS.items()}
        rows = [
            Evidence(name, _reported(*ORDERS[name]), f"{difference.sentence}; {_share(arms, *ORDERS[name])}")
            for name, difference in judged.items()
        ]
        verdicts = {name: rules.direction(difference, parts=len(ORDERS)) for name, difference in judged.items()}
        for picture, panels in PICTURES.items():
            draw(bench.folder / picture, {title: {_label(p): arms[p].curves for p in ps} for title, ps in panels.items()})
        return Finding(
            verdict=rules.all_of(*verdicts.values()),
            because="; ".join(f"{name}: {verdict}" for name, verdict in verdicts.items()) + ".",
            scope=nmt.scope(home, comparison),
            rows=tuple(rows),
            pictures=tuple(PICTURES),
            notes=(f"the study is that of the claim nmt: {home.folder.name}/{comparison.name}", *nmt.NOTES),
        )


def order(lower: tuple[str, Mapping[int, float]], higher: tuple[str, Mapping[int, float]]) -> Difference:
    """Whether what is said to be lower is, paired by seed; each with its name."""
    return judge(dict([higher, lower]), VerdictRule())[lower[0]]


def mean_curve(curves: Curves) -> dict[int, float]:
    """Step -> the mean over the seeds that were measured at it."""
    found: dict[int, list[float]] = {}
    for curve in curves.values():
        for step, value in curve:
            found.setdefault(step, []).append(value)
    return {step: float(np.mean(values)) for step, values in sorted(found.items())}


def share_below(lower: Curves, higher: Curves) -> float:
    """The share of the common steps at which one mean curve lies below another."""
    first, second = mean_curve(lower), mean_curve(higher)
    common = [step for step in first if step in second]
    return sum(first[step] < second[step] for step in common) / len(common) if common else float("nan")


def draw(path: Path, panels: Mapping[str, Mapping[str, Curves]]) -> None:
    """Every seed's curve, thin, and their mean, in a panel for each title."""
    figure = figures.new(5.0 * len(panels), 4.0, path)
    for panel, (title, named) in zip(
        figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels.items(), strict=True
    ):
        for (label, curves), tone in zip(named.items(), ("ochre", "accent"), strict=False):
            colour = charts.FALLBACK_COLOURS[tone]
            for curve in curves.values():
                panel.plot(*zip(*curve, strict=True), color=colour, linewidth=0.6, alpha=0.35)
            mean = mean_curve(curves)
            panel.plot(list(mean), list(mean.values()), color=colour, linewidth=1.9, label=label)
        panel.set_title(title, loc="left", fontsize=10, color=figures.SOFT)
        figures.logarithmic(panel)
        panel.set_xlabel("step", color=figures.SOFT)
        figures.plain(panel)
        panel.legend(frameon=False, labelcolor=figures.INK, title="validation loss", fontsize=9, title_fontsize=9)
    figures.write(figure, path)


def _label(place: Place) -> str:
    return f"h {place[0]}, {place[1]}"


def _reported(lower: Place, higher: Place) -> str:
    return f"{nmt.REPORTED[lower]} below {nmt.REPORTED[higher]}"


def _share(arms: Mapping[Place, Arm], lower: Place, higher: Place) -> str:
    return f"lower at {100 * share_below(arms[lower].curves, arms[higher].curves):.0f} % of the evaluations"
