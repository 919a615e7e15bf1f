"""The schemas of the JSON files of a run: `run.json`, and `state.json` of a checkpoint.

An entry that is not declared here is not used by any reader in a way that its type could break.
"""

from typing import Annotated, Any, NotRequired, TypedDict

from glasshouse.records.kept_schema import Also, Between, Count, Seconds, Size, Step, Text, Time


class BestEvaluation(TypedDict):
    """The evaluation whose weights are used."""

    step: Step
    metric: Text
    value: float


# Before the first evaluation the entry is empty.
Best = BestEvaluation | Annotated[dict[str, Any], Size(0, 0)]


class PlanFacts(TypedDict):
    """The cost plan, as far as readers need it."""

    steps: Annotated[int, Between(1, 1e12)]
    tokens: Count
    flops: Count
    parameters: NotRequired[dict[str, Count]]
    memory: NotRequired[dict[str, Count]]
    seconds: NotRequired[Seconds]
    precision: NotRequired[Text]
    threads: NotRequired[Annotated[int, Between(0, 1e5)]]
    notes: NotRequired[list[str]]
    choice: NotRequired[str]


class OutcomeFacts(TypedDict, total=False):
    """What an outcome has beside the metrics of each held-out split."""

    seconds: Seconds
    evaluation_seconds: Seconds
    memory: Count | None
    batches_per_second: float | None
    validation: dict[str, float]
    test: dict[str, float]


class RunFacts(TypedDict, total=False):
    """The content of `run.json`. `family` and `together` are checked as names of folders where they are used."""

    format: Annotated[int, Between(0, 1e9)]
    glasshouse: str
    recipe: str
    created: Time
    status: Text
    asked: list[str]
    plan: PlanFacts
    data: str
    labels: Annotated[list[str], Size(0, 10**6)]
    machine: dict[str, str]
    outcome: Annotated[dict[str, float | dict[str, float] | None], Also(OutcomeFacts)]
    headline: dict[str, list[tuple[str, str]]]
    best: Best | None
    stopped: Step
    wrong: str
    origin: str
    architecture: str
    vocabulary: Annotated[int, Between(0, 2**31)]
    token_ids: dict[str, Any]
    start: dict[str, Any]
    parallel: str


class CheckpointValues(TypedDict):
    """The values of a checkpoint that training continues from. An imported model has no times."""

    seconds: NotRequired[Seconds]
    best: NotRequired[Best]


class CheckpointStateFile(TypedDict):
    step: Step
    values: CheckpointValues
    checksums: Annotated[dict[str, str], Size(0, 1000)]
    digest: str
