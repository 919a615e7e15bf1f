"""An arm as `study.json` has it: its schema, and the rules that all arms of a study keep."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from glasshouse.records import lock
from glasshouse.records.kept_schema import Between, Count, Text
from glasshouse.records.run_facts import PlanFacts

FILE = "study.json"
# Names that a study folder uses itself, or that would make it look like a run. No arm's folder has one.
RESERVED_NAMES = (FILE, "report.html", "table.md", "table.tex", "comparison.json", "multiverse", "checkpoints", lock.FILE)


class ArmFacts(TypedDict):
    """What is recorded in every run of an arm."""

    plan: PlanFacts
    data: NotRequired[str]
    labels: NotRequired[list[str]]
    start: NotRequired[dict[str, Any]]


class ArmTable(TypedDict):
    """An arm in `study.json`."""

    name: Text
    folder: Text
    recipe: Text
    changes: dict[str, str]
    asked: str
    replicas: NotRequired[Annotated[int, Between(1, 1e6)]]
    facts: ArmFacts
    step_flops: NotRequired[Count]
    notes: list[str]
    spec: str


def check_arms(arms: Sequence[ArmTable]) -> None:
    """Refuse arms whose runs could be taken for those of another arm. Raises ValueError."""
    for what in ("name", "folder"):
        # File systems that ignore case have one folder for both.
        known = Counter(arm[what].lower() if what == "folder" else arm[what] for arm in arms)
        if twice := next((value for value, count in known.items() if count > 1), None):
            raise ValueError(f"two arms have the {what} {twice[:100]!r}")
    if taken := next((arm["folder"] for arm in arms if arm["folder"].lower() in RESERVED_NAMES), None):
        raise ValueError(f"an arm has the folder {taken!r}, which is a name of the study's own files")
