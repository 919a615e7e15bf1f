"""A made-up claim about two tiny models, with which the tests run whole trials in seconds."""

from typing import ClassVar

from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import lower, not_lower, zero
from tests.cli.program import SMALL

TINY = (*SMALL, "model.layers=1", "data.tokenizer=characters", "evaluation.every=2")
ARMS = "model.position=learned,none"


class MadeUpClaim(Claim):
    """Upheld if a model has a finite loss. Uses most methods of the bench."""

    group = GROUPS[1]
    statement = "Learned positions lose <nothing> | to none."
    source = "made up for a test"
    reported = "1.0"
    why = "It is made up."
    procedure = "Two tiny models are trained."
    would_change = "Another text."
    looks: ClassVar[tuple[int, ...]] = (3,)
    studies: ClassVar[tuple[StudyPlan, ...]] = ()  # set by a fixture, because the plan names the text
    quantities: ClassVar = {
        "learned": Quantity("loss, learned", "validation.loss", "nats per token", reported="1.0"),
        "none": Quantity("loss, none", "validation.loss", "nats per token"),
        "missing": Quantity("runs that are missing", "runs"),
    }
    parts: ClassVar = (
        not_lower("learned", than="none", margin=0.5, name="learned is not much lower"),
        lower("none", than=1000.0, margin=0.1, name="below a figure"),
        zero("missing", name="no run is missing"),
    )

    @classmethod
    def plan(cls, text: str) -> StudyPlan:
        words = ("language-model", *TINY, f"data.files={text}", "training.steps=4", ARMS)
        return StudyPlan("positions", words, metric="validation.loss", quick=("training.steps=2",))

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("positions")
        counted = bench.cached("counted", lambda: {"runs": len(bench.finished_runs(study, "none"))}, study)
        return Measurements(
            {
                "learned": bench.item_values(study, "learned", "validation", "loss"),
                "none": bench.values(study, "none", "validation.loss"),
                "missing": Series({0: float(bench.seeds - counted["runs"])}),
            },
            facts=(*bench.facts(study), ("runs", str(counted["runs"]))),
            notes=("a note",),
        )
