"""Claim: a character-level encoder-decoder of hidden size 64 benefits from more data. The task is English to Pig Latin."""

from collections.abc import Mapping
from typing import ClassVar

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import higher, lower
from glasshouse.claims.translation import course_translator, trivial_translators
from glasshouse.claims.translation.course_translator import COURSE_LISTS, MARGIN, STAND_INS

NARROW, WIDE = WIDTHS = (32, 64)
# (hidden size, list) -> reported lowest validation loss.
REPORTED = {(32, "small"): "0.799", (32, "large"): "1.156", (64, "small"): "0.478", (64, "large"): "0.569"}
# Study -> (what it is, its hidden sizes, its lists of words). The first two decide.
STUDIES: dict[str, tuple[str, tuple[int, ...], Mapping[str, str]]] = {
    "reported": ("at the reported learning rate", WIDTHS, COURSE_LISTS),
    "tuned": ("at tuned learning rates", (WIDE,), COURSE_LISTS),
    "own-layer": ("beside it: the layer of this project", (WIDE,), COURSE_LISTS),
    "stand-in": ("stand-in: generated word lists", (WIDE,), STAND_INS),
}
DECIDING = ("reported", "tuned")
COURSE = (*course_translator.LAYER, *course_translator.OPTIMISER)


def _arms(study: str) -> list[tuple[int, str]]:
    """(hidden size, list) of each arm of a study."""
    _, widths, lists = STUDIES[study]
    return [(width, size) for width in widths for size in lists]


def _plan(study: str, *overrides: str, tune: str | None = None, most_seeds: int = 0) -> StudyPlan:
    _, widths, lists = STUDIES[study]
    grid = (f"model.width={','.join(map(str, widths))}", f"data.source={','.join(lists.values())}")
    return StudyPlan(
        study,
        (course_translator.RECIPE, *course_translator.LENGTH, *overrides, *grid),
        metric="test.loss",
        tune=tune,
        margin=MARGIN,
        most_seeds=most_seeds,
        quick=course_translator.QUICK,
    )


class NMT(Claim):
    """Trains an encoder-decoder on a small and on a large list of words."""

    group = GROUPS[4]
    statement = "A character-level encoder-decoder of hidden size 64 benefits from more data (English to Pig Latin)."
    source = "course work on translation: lowest validation loss by hidden size and size of the data"
    reported = "h 32: small 0.799, large 1.156; h 64: small 0.478, large 0.569"
    why = (
        "A model with more parameters can use more examples. But the reported loss is higher on the large list, and the two "
        "lists may have been scored on different words."
    )
    procedure = (
        "The course's encoder-decoder (no norm, one linear layer with ReLU) is trained on the course's small list and on "
        f"its large list, with equally many steps ({course_translator.STEPS:,} of 64 words, which are 100 epochs of the "
        "small list). Both are scored on the same test words, which were left out of both lists, by the loss per character "
        "of the checkpoint with the lowest validation loss; the test words count as a sample, like the seeds. Everything is "
        "done with the course's learning rate, and with the best of five learning rates for each list, chosen on the "
        f"validation words. A difference below {MARGIN:g} nats per character, a tenth of the smallest reported loss, does "
        "not matter."
    )
    would_change = (
        "More steps on the large list: with equally many epochs it would be trained eight times as long. Or a layer that "
        "learns the rule completely from the small list: then more data has nothing to add."
    )
    studies = (
        _plan("reported", *COURSE),
        _plan("tuned", *COURSE, tune=course_translator.TUNE),
        _plan("own-layer", most_seeds=course_translator.SEEDS_BESIDE),
        _plan("stand-in", *COURSE, most_seeds=course_translator.SEEDS_BESIDE),
    )
    quantities: ClassVar = {
        **{
            f"{study}/{metric}/{width}/{size}": Quantity(
                f"{label}, h {width}, {size} list, {STUDIES[study][0]}",
                metric,
                unit,
                scale,
                higher_is_better=metric == "test.exact",
                reported=REPORTED[width, size] if (study, metric) == ("reported", "validation.loss") else "",
            )
            for metric, label, unit, scale in (
                ("test.loss", "test loss", "nats per character", 1.0),
                ("validation.loss", "lowest validation loss", "nats per character", 1.0),
                ("test.exact", "test words exactly right", "%", 100.0),
            )
            for study in STUDIES
            for width, size in _arms(study)
        },
        **{
            f"gain/{width}": Quantity(
                f"fall of the test loss from the small to the large list, h {width}, {STUDIES['reported'][0]}",
                "test.loss",
                "nats per character",
                higher_is_better=True,
            )
            for width in WIDTHS
        },
        **{
            f"trigram/{size}": Quantity(
                f"test loss of a trigram model of the {size} list's Pig Latin, which never sees the English word",
                "nats per character of the test words",
                "nats per character",
            )
            for size in COURSE_LISTS
        },
        "way": Quantity("test words exactly right if `way` is appended to each", "share of words", "%", 100.0, True),
        "copy": Quantity("test words exactly right if each is copied", "share of words", "%", 100.0, True),
    }
    parts = (
        *(
            lower(
                f"{study}/test.loss/{WIDE}/large",
                than=f"{study}/test.loss/{WIDE}/small",
                margin=MARGIN,
                name="trained on the large list, the loss is lower, h 64",
                items=study in DECIDING,
                setting=STUDIES[study][0],
                decides=study in DECIDING,
            )
            for study in STUDIES
        ),
        lower(
            f"reported/test.loss/{NARROW}/large",
            than=f"reported/test.loss/{NARROW}/small",
            margin=MARGIN,
            name="trained on the large list, the loss is lower, h 32",
            decides=False,
        ),
        higher(
            f"gain/{WIDE}", than=f"gain/{NARROW}", margin=MARGIN, name="h 64 gains more from the large list", decides=False
        ),
        *(
            lower(
                f"reported/test.loss/{WIDE}/{size}",
                than=f"trigram/{size}",
                margin=MARGIN,
                name=f"better than a trigram model, {size} list",
                decides=False,
            )
            for size in COURSE_LISTS
        ),
    )
    figures = (
        LineFigure(
            "test-loss",
            "hidden size",
            "test loss, nats per character",
            {f"{size} list": {width: f"reported/test.loss/{width}/{size}" for width in WIDTHS} for size in COURSE_LISTS},
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        facts: list[tuple[str, str]] = []
        for name, (_, _, lists) in STUDIES.items():
            if bench.has(*lists.values()):
                study = bench.study(name)
                facts += bench.facts(study)
                for width, size in _arms(name):
                    for metric in ("test.loss", "validation.loss", "test.exact"):
                        series[f"{name}/{metric}/{width}/{size}"] = bench.values(study, arm_name(name, width, size), metric)
                if name in DECIDING:
                    for size in lists:
                        arm = arm_name(name, WIDE, size)
                        series[f"{name}/test.loss/{WIDE}/{size}"] = bench.item_values(study, arm, "test", "loss")
        if bench.has(*COURSE_LISTS.values()):
            series |= _gains(series)
            trivial = bench.cached(
                "trivial", lambda: {size: trivial_translators.score_trivially(name) for size, name in COURSE_LISTS.items()}
            )
            units = series[f"reported/test.loss/{WIDE}/small"].values
            for size in COURSE_LISTS:
                series[f"trigram/{size}"] = split_scores.same_for_every(units, trivial[size]["trigram"])
            series |= {rule: Series({0: trivial["small"][rule]}) for rule in ("way", "copy")}
        return Measurements(series, tuple(facts))


def arm_name(study: str, width: int, size: str) -> str:
    """The name of an arm. A field with one value is not part of it."""
    _, widths, lists = STUDIES[study]
    return f"width={width}, source={lists[size]}" if len(widths) > 1 else lists[size]


def _gains(series: Mapping[str, Series]) -> dict[str, Series]:
    """How much lower the loss is after training on the large list, by hidden size."""
    gains = {}
    for width in WIDTHS:
        small, large = (series[f"reported/test.loss/{width}/{size}"].values for size in ("small", "large"))
        gains[f"gain/{width}"] = Series({seed: small[seed] - large[seed] for seed in small if seed in large})
    return gains
