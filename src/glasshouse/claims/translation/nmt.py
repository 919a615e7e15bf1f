"""Claim: a character-level translator of hidden size 64 benefits from more data. Pig Latin, an encoder and a decoder."""

from collections.abc import Mapping
from dataclasses import replace

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge
from glasshouse.pages.study_content import StudyResults
from glasshouse.specs import catalogue

HOME, STUDY = "nmt", "sizes"
WIDTHS, SOURCES = (32, 64), {"small": "pig-latin-small", "large": "pig-latin"}
REPORTED = {(32, "small"): "0.799", (32, "large"): "1.156", (64, "small"): "0.478", (64, "large"): "0.569"}
Values = Mapping[int, float]
# As many as the recipe takes over the small list. With a third of them most runs of hidden size 64 have not begun to learn.
STEPS = 4000
# Nats a letter that would matter to somebody: a tenth of the smallest loss that was reported.
MARGIN = 0.05
# Words of more letters are cut: most of a quick look's time would go into translating them.
QUICK = (
    "training.steps=6",
    "training.precision=fp32",
    "training.threads=1",
    "evaluation.every=2",
    "evaluation.batch=320",
    "model.layers=1",
    "data.context=12",
)


class NMT(Claim):
    """Encoder-decoder translation, by hidden size and by how many words there are to learn from."""

    statement = "A character-level encoder-decoder of hidden size 64 benefits from more data (English to Pig Latin)."
    source = "course work on translation: lowest validation loss by hidden size and size of the data"
    reported = "h 32: small 0.799, large 1.156; h 64: small 0.478, large 0.569"
    rule = (
        "At hidden size 64, by the lowest validation loss a letter, paired by seed, on validation words that both "
        f"lists hold out: upheld where the large list is better, refuted where it is worse or shown to differ by less "
        f"than {MARGIN:g} nats a letter, else undecided. Every arm takes as many steps, "
        "so that more data does not mean more training. Whether our losses lie below those reported is shown and does "
        "not decide."
    )

    def try_it(self, bench: Bench) -> Finding:
        comparison = study(bench)
        losses = {place: bench.values(comparison, arm(*place), "validation.loss") for place in REPORTED}
        exact = {place: bench.values(comparison, arm(*place), "validation.exact") for place in REPORTED}
        gains = {width: benefit(losses[width, "small"], losses[width, "large"]) for width in WIDTHS}
        rows = [
            Evidence(f"validation loss a letter, h {width}, {size} list", figure, beside(losses[width, size], float(figure)))
            for (width, size), figure in REPORTED.items()
        ]
        rows += [
            Evidence(
                f"validation words exactly right, %, h {width}, {size} list",
                "",
                rules.shown(exact[width, size], ".1f", 100),
            )
            for width, size in REPORTED
        ]
        for width, gain in gains.items():
            told = " -> ".join(REPORTED[width, size] for size in SOURCES)
            rows.append(Evidence(f"validation loss from the small to the large list, h {width}", told, gain.sentence))
        rows.append(
            Evidence("how much more h 64 gains by the large list than h 32", "", rules.interval(interaction(losses)))
        )
        return Finding(
            verdict=rules.direction(gains[64]),
            because=f"At hidden size 64, the loss on one common validation set: {gains[64].sentence}.",
            scope=scope(bench, comparison),
            rows=tuple(rows),
            studies=(comparison.name,),
            notes=NOTES,
        )


NOTES = (
    "the two reported lists may have had different validation words; here both hold out the same ones",
    "the layers are the recipe's (a norm before each part, two linear layers with GELU), not the course's (no norm, "
    "one linear layer with ReLU): what is judged is the statement, and the losses stand beside each other for "
    "orientation only",
    "at as many steps the small list is read about four times as often as the large one; at as many epochs the large one "
    "would also have had more steps",
)


def study(bench: Bench) -> StudyResults:
    """Every hidden size with every list of words, as many steps of each, all judged on the same held-out words."""
    return bench.compare(
        STUDY,
        "piglatin-encoder-decoder",
        f"model.width={','.join(map(str, WIDTHS))}",
        f"data.source={','.join(SOURCES.values())}",
        f"training.steps={STEPS}",
        metric="validation.loss",
        margin=MARGIN,
        quick=QUICK,
    )


def at_home(bench: Bench) -> Bench:
    """The bench of this claim, for another claim that rests on the same study: it is done once for both."""
    if bench.quick:
        return replace(bench, folder=bench.folder.parent.parent / HOME / bench.folder.name)
    return replace(bench, folder=bench.folder.parent / HOME)


def arm(width: int, size: str) -> str:
    """What the study calls one of its arms."""
    return f"width={width}, source={SOURCES[size]}"


def benefit(small: Values, large: Values) -> Difference:
    """The large list against the small one, paired by seed; "better" is a lower loss."""
    return judge({"the small list": small, "the large list": large}, VerdictRule(margin=MARGIN))["the large list"]


def interaction(losses: Mapping[tuple[int, str], Values]) -> dict[int, float]:
    """Seed -> by how much more the loss falls from the small to the large list at the larger hidden size."""
    narrow, wide = WIDTHS
    seeds = set.intersection(*(set(values) for values in losses.values()))

    def gain(width: int, seed: int) -> float:
        return losses[width, "small"][seed] - losses[width, "large"][seed]

    return {seed: gain(wide, seed) - gain(narrow, seed) for seed in sorted(seeds)}


def beside(values: Values, figure: float) -> str:
    """What was measured, and on which side of a reported figure it lies."""
    word = {"upheld": "below", "refuted": "above"}.get(rules.beats(values, figure, higher_is_better=False), "not told apart")
    return f"{rules.shown(values)}: {word}"


def scope(bench: Bench, comparison: StudyResults) -> str:
    """What was run, for this claim and the one about its curves."""
    counts = {size: sum(1 for _ in catalogue.find("source", name)().documents("train")) for size, name in SOURCES.items()}
    lists = ", ".join(f"{count:,} words to learn from in the {size} list" for size, count in counts.items())
    seeds, steps = len(comparison.arms[0].seeds), comparison.arms[0].steps
    runs = bench.runs(comparison, arm(WIDTHS[0], "small"))
    layers = f"{runs[0].spec.model.layers} layers each in encoder and decoder, " if runs else ""
    batch = f" of {runs[0].spec.training.batch} words" if runs else ""
    return (
        f"Pig Latin by rule: {lists}, one common set of validation words; {layers}hidden size 32 and 64, {steps:,} "
        f"steps{batch} in every arm, {seeds} seeds"
    )
