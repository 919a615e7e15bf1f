"""The live view of a run: a served page with its curves, samples, cost and buttons. A script replaces what has changed."""

from dataclasses import replace
from typing import Any

from glasshouse.pages import line_charts, svg_chart, template
from glasshouse.results.index import LiveRun

STYLES = ("page.css", "study.css", "index.css")
SCRIPTS = ("page.js", "charts.js", "live.js")
# The buttons, in order: the name of the action and its title.
ACTIONS = (("stop", "Stop"), ("resume", "Resume"), ("report", "Make the report"))


def render(run: LiveRun) -> str:
    return template.fill("live.html", STYLES, SCRIPTS, **_values(run))


def render_part(run: LiveRun) -> str:
    """The part of the page that changes while the run trains."""
    return template.fill("live_part.html", (), **_values(run))


def _values(run: LiveRun) -> dict[str, Any]:
    quality = run.quality[0].name.removeprefix("validation ").capitalize() if run.quality else ""
    titled = [(title, curves) for title, curves in (("Loss", run.loss), (quality, run.quality)) if curves]
    charts = [line_charts.panel(title, curves) for title, curves in titled]
    # The scale of a page that renews itself is not chosen, and linear.
    charts = [replace(shown, chart=replace(shown.chart, shown="linear"), remarks=[]) for shown in charts]
    # What a command refuses, it says in its last line.
    refused = run.output.rpartition("\n")[2].startswith("glasshouse: ")
    return {"run": run, "charts": charts, "actions": ACTIONS, "refused": refused, "draw": svg_chart.draw}
