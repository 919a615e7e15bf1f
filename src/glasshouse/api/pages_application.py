"""The HTTP application of `glasshouse pages --live`: the index, live views of runs, and their buttons.

It holds no state of its own. What it keeps in memory was read from files, and is read again when they change.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import FastAPI, Query
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from glasshouse.api import page_index
from glasshouse.api.page_index import REPORT, Entries, PageFolders
from glasshouse.pages import index_page, live_page, page_links
from glasshouse.records import plain_files
from glasshouse.records.run_entries import RunEntry, RunEntryReader
from glasshouse.results.index import LiveRun, PageLink, StudyEntry
from glasshouse.serving import live_run, run_commands
from glasshouse.serving.guards import PageGuard
from glasshouse.specs.errors import GlasshouseError
from glasshouse.studies import study_folder
from glasshouse.version import __version__


def create_pages_app(folders: PageFolders, token: str) -> ASGIApp:
    """The application over the runs and studies of these folders. Every request must have the token."""
    app = FastAPI(title="Glasshouse pages", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    reader = RunEntryReader()

    def address(path: str, key: str = "") -> str:
        return f"{path}?{urlencode({'token': token, **({'key': key} if key else {})})}"

    def entries() -> Entries:
        return page_index.read(folders, reader)

    def page_of(path: Path) -> str:
        """A study's page is its report; a run has a live view."""
        return address("report" if (path / study_folder.FILE).is_file() else "run", folders.key(path))

    def find_run(key: str) -> tuple[RunEntry, StudyEntry | None]:
        found = entries()
        of_studies = [(run, study) for study in found.studies for run in study.runs]
        for run, study in [*((run, None) for run in found.runs), *of_studies]:
            if folders.key(run.path) == key:
                return run, study
        raise HTTPException(404, _unknown("run", key))

    def view(key: str) -> LiveRun:
        run, study = find_run(key)
        links = [PageLink("all runs and studies", address("."))]
        if study and study.has_report:
            links.append(PageLink(f"the study {study.name}", address("report", folders.key(study.path))))
        report = PageLink("its report", address("report", key))
        return live_run.collect(key, run, tuple(links), report)

    @app.exception_handler(HTTPException)
    async def refused(request: Any, error: HTTPException) -> PlainTextResponse:
        return PlainTextResponse(f"{error.detail}\n", error.status_code)

    # Plain functions run in threads: reading a thousand runs does not hold up other requests.
    @app.get("/")
    def index() -> HTMLResponse:
        """The index of all runs and studies."""
        return HTMLResponse(index_page.render(page_index.content(folders, entries(), page_of), live=True))

    @app.get("/rows")
    def rows(version: str = "") -> JSONResponse:
        """The rows of the tables, if they have changed since a version."""
        found = entries()
        if found.version == version:
            return JSONResponse({"version": version})
        content = page_index.content(folders, found, page_of)
        has = {"has_runs": bool(content.runs), "has_studies": bool(content.studies)}
        return JSONResponse({"version": found.version, **has, **index_page.render_rows(content)})

    @app.get("/curves")
    def curves(key: Annotated[list[str], Query()]) -> JSONResponse:
        """The curves of some runs."""
        wanted = set(key)
        runs = {folders.key(run.path): run for run in entries().every_run}
        return JSONResponse({key: index_page.curve_lists(reader.curves(runs[key].path)) for key in wanted if key in runs})

    @app.get("/run")
    def run(key: str = "") -> HTMLResponse:
        """The live view of a run."""
        return HTMLResponse(live_page.render(view(key)))

    @app.get("/run/part")
    def part(key: str = "", version: str = "") -> JSONResponse:
        """What changes in the live view of a run, if it has changed since a version."""
        html = live_page.render_part(view(key))
        current = hashlib.sha256(html.encode()).hexdigest()[:16]
        return JSONResponse({"version": current} if current == version else {"version": current, "html": html})

    @app.get("/report")
    def report(key: str = "") -> HTMLResponse:
        """The report of a run or a study, as it was written last."""
        found = entries()
        runs = {folders.key(run.path): run for run in found.every_run}
        studies = {folders.key(study.path): study for study in found.studies}
        entry = runs.get(key) or studies.get(key)
        if entry is None:
            raise HTTPException(404, _unknown("run or study", key))
        try:
            page = plain_files.read_text(entry.path / REPORT)
        except OSError:
            raise HTTPException(404, f"{entry.name} has no report yet; make it with: glasshouse report NAME") from None
        links = [PageLink("all runs and studies", address("."))]
        if key in runs:
            links.append(PageLink("live view", address("run", key)))
        page = page_links.with_run_addresses(page, lambda run: page_of(entry.path / run))
        return HTMLResponse(page_links.with_links(page, links))

    @app.post("/run/{action}")
    def act(action: Literal["stop", "resume", "report"], key: str = "") -> PlainTextResponse:
        """Do what a button says."""
        try:
            run, study = find_run(key)
            return PlainTextResponse(run_commands.act(action, run, study.path if study else None))
        except GlasshouseError as error:
            return PlainTextResponse(str(error), 409)
        except OSError as error:
            return PlainTextResponse(f"{action} did not work: {error}", 500)

    return PageGuard(app, token)


def _unknown(what: str, key: str) -> str:
    if not key:
        return f"The address names no {what}: it needs key=...; go back to the index."
    return f"There is no {what} {key!r} here; go back to the index."
