"""Claims with made-up trials, from which the tests make pages. The texts contain characters that a page must escape."""

from dataclasses import replace

from glasshouse.claims import registration, rules
from glasshouse.claims.claim import GROUPS
from glasshouse.claims.rules import equal, higher, lower, zero
from glasshouse.results.claim import Case, LineFigure, Measured, Quantity, Registration, Series, Trial
from tests.claims.example_values import close_values, spread_values

QUANTITIES = {
    "a": Quantity("loss | of <a>", "test.loss", "nats per token", reported="2"),
    "b": Quantity("loss of b", "test.loss", "nats per token"),
    "share": Quantity("accuracy", "test.accuracy", "%", 100, higher_is_better=True),
    "faults": Quantity("texts that differ", "texts"),
}
PARTS = (
    lower("a", than="b", margin=0.05, name="a is <lower>", setting="reported rate"),
    higher("a", than="b", margin=0.05, name="a is higher", setting="tuned rates"),
    higher("share", than=0.5, margin=0.01, name="above one half", decides=False),
    zero("faults", name="no text differs"),
    equal("share", to=0.9, margin=0.5, name="near 0.9", decides=False),
)
SERIES = {
    "a": Series(spread_values(3.1)),
    "b": Series(spread_values(4.0, shift=3)),
    "share": Series(close_values(0.9, 0.01)),
    "faults": Series({0: 0.0}),
}
FIGURE = LineFigure("by-size", "size", "loss", {"a": {1.0: "a", 2.0: "b"}})


def example_plan(number: int = 1, replicates: int = 0) -> Registration:
    plan = Registration(
        claim="one",
        number=number,
        registered=1.7e9,
        digest="",
        first_seed=1000 * number,
        looks=(8,),
        alpha=0.05,
        statement="It is <so>.",
        procedure="Two models are trained.",
        outcomes=rules.OUTCOMES,
        quantities=QUANTITIES,
        parts=PARTS,
        studies=({"name": "sizes", "words": ["demo-lm", "model.width=16,32"]},),
        replicates=replicates,
    )
    return replace(plan, digest=registration.digest_of(registration.to_json(plan)))


def example_trial(number: int = 1, replicates: int = 0) -> Trial:
    plan = example_plan(number, replicates)
    machine = {"processor": "an abacus", "python": "3.11", "torch": "2"}
    curves = {"curves/a": ((0.0, 2.0), (10.0, 1.0))}
    measured = Measured(SERIES, 8, (("sizes, a", "tuned: 1e-3"),), ("a *note*",), curves, machine, 1.7e9)
    return Trial(plan, measured, rules.finding(plan, measured))


def example_case() -> Case:
    """A claim with a trial and its replication."""
    texts = ("It is <so>.", "a book", "2", "It looks so.", "Two models are trained.", "Another text.", "course data")
    figures = (FIGURE, LineFigure("curves", "step", "loss"))
    trials = (example_trial(), example_trial(2, 1))
    return Case("one", GROUPS[1], *texts, figures=figures, trials=trials, earlier=("8 seeds: undecided",))


def example_cases() -> list[Case]:
    """A claim with trials, one without, and a control."""
    case = example_case()
    control = replace(case, name="control", is_control=True, statement="The control.")
    return [case, replace(case, name="two", trials=(), figures=(), missing="no data; run: glasshouse claim two"), control]
