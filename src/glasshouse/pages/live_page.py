"""The live view of a run: a served page with its curves, samples, cost and buttons. A script replaces what has changed."""

from dataclasses import replace
from typing import Any

from glasshouse.pages import line_charts, svg_chart, template
from glasshouse.results.index import LiveRun
from glasshouse.results.report import Curve

STYLES = ("page.css", "study.css", "index.css")
SCRIPTS = ("page.js", "charts.js", "live.js")
# The buttons, in order: the name of the action and its title.
ACTIONS = (("stop", "Stop"), ("resume", "Resume"), ("report", "Make the report"))


def render(run: LiveRun) -> str:
    """The whole page."""
    return template.fill("live.html", STYLES, SCRIPTS, **_values(run))


def render_part(run: LiveRun) -> str:
    """The part of the page that changes while the run trains."""
    return template.fill("live_part.html", (), **_values(run))


def _values(run: LiveRun) -> dict[str, Any]:
    charts_of_run = [_panel(title, curves) for title, curves in (("Loss", run.loss), ("Quality", run.quality)) if curves]
    # What a command refuses, it says in its last line.
    refused = run.output.rpartition("\n")[2].startswith("glasshouse: ")
    return {"run": run, "charts": charts_of_run, "actions": ACTIONS, "refused": refused}


def _panel(title: str, curves: tuple[Curve, ...]) -> dict[str, object]:
    name = curves[0].name.removeprefix("validation ").capitalize() if title == "Quality" else title
    chart = replace(line_charts.curve_chart(curves), shown="linear")
    return {"title": name, "legend": line_charts.legend(curves), "drawing": svg_chart.draw(chart)}
