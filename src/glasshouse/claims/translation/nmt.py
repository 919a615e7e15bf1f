"""Claim: a character-level encoder-decoder of hidden size 64 benefits from more data. The task is English to Pig Latin."""

from collections.abc import Mapping
from dataclasses import replace

from glasshouse.claims import rules
from glasshouse.claims.claim import REFUTED, UPHELD, Bench, Claim, Evidence, Finding
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge
from glasshouse.pages.study_content import StudyResults
from glasshouse.specs import catalogue

CLAIM_NAME, STUDY = "nmt", "sizes"
WIDTHS, SOURCES = (32, 64), {"small": "pig-latin-small", "large": "pig-latin"}
# (hidden size, list of words) -> reported loss. "h 32" in texts stands for hidden size 32.
REPORTED = {(32, "small"): "0.799", (32, "large"): "1.156", (64, "small"): "0.478", (64, "large"): "0.569"}
BySeed = Mapping[int, float]
# As many steps as the recipe takes on the small list. After a third of them, most runs of hidden size 64 have not begun to
# learn.
STEPS = 4000
# In nats per character: a tenth of the smallest reported loss. Smaller differences do not matter.
MARGIN = 0.05
# The short context truncates long words, because a quick run would spend most of its time on translating them.
QUICK = (
    "training.steps=6",
    "training.precision=fp32",
    "training.threads=1",
    "evaluation.every=2",
    "evaluation.batch=320",
    "model.layers=1",
    "data.context=12",
)
NOTES = (
    "the two reported lists may have had different validation words; here both hold out the same words",
    "the layers are those of the recipe (a norm before each part, two linear layers with GELU), not those of the course (no "
    "norm, one linear layer with ReLU): the statement is judged, and the reported losses are shown for orientation only",
    "with equally many steps, the small list is read about four times as often as the large one; with equally many epochs, "
    "the large list would also have had more steps",
)


class NMT(Claim):
    """Trains an encoder-decoder for each hidden size and each list of words."""

    statement = "A character-level encoder-decoder of hidden size 64 benefits from more data (English to Pig Latin)."
    source = "course work on translation: lowest validation loss by hidden size and size of the data"
    reported = "h 32: small 0.799, large 1.156; h 64: small 0.478, large 0.569"
    rule = (
        "At hidden size 64, the large list of words is compared with the small one by the lowest validation loss per "
        "character, paired by seed, on validation words that both lists hold out. The claim is upheld if the large list is "
        f"better. It is refuted if the large list is worse, or shown to differ by less than {MARGIN:g} nats per character. "
        "Otherwise it is undecided. Every arm takes equally many steps, so that more data does not mean more training. "
        "Whether our losses are below the reported ones is shown and does not decide."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        study = run_study(bench)
        losses = {setting: bench.values(study, arm_name(*setting), "validation.loss") for setting in REPORTED}
        exact = {setting: bench.values(study, arm_name(*setting), "validation.exact") for setting in REPORTED}
        benefits = {width: benefit(losses[width, "small"], losses[width, "large"]) for width in WIDTHS}
        rows = [
            Evidence(
                f"validation loss per character, h {width}, {size} list",
                figure,
                compare_with_reported(losses[width, size], float(figure)),
            )
            for (width, size), figure in REPORTED.items()
        ]
        rows += [
            Evidence(
                f"validation words exactly right, %, h {width}, {size} list",
                "",
                rules.format_with_seeds(exact[width, size], ".1f", 100),
            )
            for width, size in REPORTED
        ]
        for width, difference in benefits.items():
            reported = " -> ".join(REPORTED[width, size] for size in SOURCES)
            rows.append(
                Evidence(f"validation loss from the small to the large list, h {width}", reported, difference.sentence)
            )
        extra_gain = rules.format_interval(interaction(losses))
        rows.append(Evidence("additional gain of h 64 over h 32 from the large list, nats", "", extra_gain))
        return Finding(
            verdict=rules.direction(benefits[64]),
            because=f"At hidden size 64, by the loss on one common validation set: {benefits[64].sentence}.",
            scope=describe_scope(bench, study),
            rows=tuple(rows),
            studies=(study.name,),
            notes=NOTES,
        )


def run_study(bench: Bench) -> StudyResults:
    """Train every hidden size with every list of words, all with equally many steps and the same held-out words."""
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


def bench_of_nmt(bench: Bench) -> Bench:
    """The bench of the claim `nmt`, for another claim that uses the same study. So the study is trained only once."""
    if bench.quick:
        return replace(bench, folder=bench.folder.parent.parent / CLAIM_NAME / bench.folder.name)
    return replace(bench, folder=bench.folder.parent / CLAIM_NAME)


def arm_name(width: int, size: str) -> str:
    """The name of an arm in the study."""
    return f"width={width}, source={SOURCES[size]}"


def benefit(small: BySeed, large: BySeed) -> Difference:
    """The large list compared with the small one, paired by seed; a lower loss is better."""
    return judge({"the small list": small, "the large list": large}, VerdictRule(margin=MARGIN))["the large list"]


def interaction(losses: Mapping[tuple[int, str], BySeed]) -> dict[int, float]:
    """Seed -> how much more the large list lowers the loss at the larger hidden size than at the smaller one."""
    narrow, wide = WIDTHS
    seeds = set.intersection(*(set(by_seed) for by_seed in losses.values()))

    def gain(width: int, seed: int) -> float:
        return losses[width, "small"][seed] - losses[width, "large"][seed]

    return {seed: gain(wide, seed) - gain(narrow, seed) for seed in sorted(seeds)}


def compare_with_reported(values: BySeed, figure: float) -> str:
    """The measured mean, and whether it is below or above the reported figure."""
    verdict = rules.beats(values, figure, higher_is_better=False)
    position = {UPHELD: "below", REFUTED: "above"}.get(verdict, "neither clearly above nor below")
    return f"{rules.format_with_seeds(values)}: {position}"


def describe_scope(bench: Bench, study: StudyResults) -> str:
    """The scope of this claim and of the claim about its loss curves."""
    counts = {size: sum(1 for _ in catalogue.find("source", name)().documents("train")) for size, name in SOURCES.items()}
    lists = ", ".join(f"{count:,} training words in the {size} list" for size, count in counts.items())
    seeds, steps = len(study.arms[0].seeds), study.arms[0].steps
    runs = bench.finished_runs(study, arm_name(WIDTHS[0], "small"))
    layers = f"{runs[0].spec.model.layers} layers each in encoder and decoder, " if runs else ""
    batch = f" of {runs[0].spec.training.batch} words" if runs else ""
    return (
        f"Pig Latin, generated by rule: {lists}, one common set of validation words; {layers}hidden size 32 and 64, "
        f"{steps:,} steps{batch} in every arm, {seeds} seeds"
    )
