"""A realistic example of an index: seventy runs, one of a study, and one with hostile names."""

from pathlib import Path

from glasshouse.results.index import IndexContent, PageLink, RunRow, StudyRow

from .example_report import HOSTILE


def run(number: int, **changes: object) -> RunRow:
    steps, losses = [10.0, 20.0, 30.0], [5.0 - number / 100, 4.0, 3.0 + number / 100]
    values = {
        "key": f"runs/run-{number}",
        "path": Path(f"runs/run-{number}"),
        "title": f"run-{number}",
        "status": "training" if number % 3 == 0 else "done",
        "task": "next-token",
        "recipe": "demo-lm" if number % 2 else "shakespeare-small",
        "data": "state-of-the-union",
        "figure": ("perplexity", f"{1000 - number:,}.50"),
        "steps": number * 10,
        "total_steps": 1000,
        "seconds": float(number),
        "changed": 1.7e9 + number,
        "error": "",
        "page": PageLink("report", f"run-{number}/report.html") if number % 4 else None,
        "command": "" if number % 4 else f"glasshouse report run-{number}",
        "has_curves": True,
        "curves": {"training": (steps, losses), "validation": (steps, [loss + 0.1 for loss in losses])},
    }
    return RunRow(**{**values, **changes})


def content(runs: int = 70) -> IndexContent:
    rows = [
        run(number, **({"figure": ("accuracy", f"{number}.00%")} if number % 10 == 0 else {}))
        for number in range(1, runs + 1)
    ]
    rows.append(run(200, title="learned, seed-0", key="studies/s/learned/seed-0", study="s"))
    rows.append(run(201, title=HOSTILE, key="runs/hostile", error=HOSTILE, curves={}, has_curves=False))
    study = StudyRow(
        path=Path("studies/s"),
        status="done",
        kind="compare",
        recipe="demo-lm",
        arms=("learned", "rotary"),
        planned=4,
        verdict="rotary is better",
        words=("better",),
        claim="alibi-speed",
        changed=1.7e9,
        runs=tuple(run(number, status="done") for number in range(4)),
        key="studies/s",
        page=PageLink("s", "../studies/s/report.html"),
        command="",
        run_pages=(PageLink("learned, seed-0", "x.html"),),
        claim_page=PageLink("claim", "claims.html#alibi-speed"),
    )
    return IndexContent("runs and studies", tuple(rows), (study,), 1.7e9)
