"""Claim: a decoder alone translates better than an encoder-decoder. English to Pig Latin, with equal parameters."""

from typing import ClassVar

from glasshouse.claims import margins, split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import higher, lower
from glasshouse.claims.translation import course_translator, trivial_translators
from glasshouse.claims.translation.course_translator import COURSE_LISTS, MARGIN, STAND_INS
from glasshouse.data.sources import pig_latin
from glasshouse.results.study import StudyResults
from glasshouse.runs.run import Run

ENCODER_DECODER, DECODER_ONLY = ARMS = ("piglatin-encoder-decoder", "piglatin-decoder-only")
KINDS = {ENCODER_DECODER: "encoder-decoder", DECODER_ONLY: "decoder alone"}
SENTENCE = "the air conditioning is working"
SOURCE = COURSE_LISTS["small"]
# Study -> (what it is, its list of words). The first two decide.
STUDIES = {
    "reported": ("at the reported learning rate", SOURCE),
    "tuned": ("at tuned learning rates", SOURCE),
    "reported-sizes": ("beside it: the reported sizes, unequal", SOURCE),
    "own-layer": ("beside it: the layer of this project", SOURCE),
    "stand-in": ("stand-in: a generated word list", STAND_INS["small"]),
}
DECIDING = ("reported", "tuned")
COURSE = (*course_translator.LAYER, *course_translator.OPTIMISER)
# A decoder reads source and target as one sequence, so a quick run needs a longer context.
QUICK = (*course_translator.QUICK, "data.context=10")
METRICS = {
    "test.loss": ("test loss", "nats per character", 1.0),
    "test.exact": ("test words exactly right", "%", 100.0),
    "validation.loss": ("lowest validation loss", "nats per character", 1.0),
}
REPORTED = {("validation.loss", ENCODER_DECODER): "0.478 (h 64)", ("validation.loss", DECODER_ONLY): "about 0.2 (h 128)"}
REPORTED_SENTENCE = {ENCODER_DECODER: "wrong", DECODER_ONLY: "right"}


def _plan(study: str, *overrides: str, tune: str | None = None) -> StudyPlan:
    return StudyPlan(
        study,
        (*ARMS, *course_translator.LENGTH, f"data.source={STUDIES[study][1]}", *overrides),
        metric="test.loss",
        match="parameters",
        tune=tune,
        margin=MARGIN,
        most_seeds=0 if study in DECIDING else course_translator.SEEDS_BESIDE,
        quick=QUICK,
    )


def _reported_sizes() -> StudyPlan:
    """The sizes of the course. Its decoder is also trained to predict the characters of the source."""
    words = (*course_translator.LENGTH, f"data.source={SOURCE}", *COURSE)
    decoder = (DECODER_ONLY, "model.width=128", "training.loss_on=all")
    return StudyPlan(
        "reported-sizes",
        ("encoder-decoder-64", "decoder-only-128", *words),
        metric="test.loss",
        margin=MARGIN,
        most_seeds=course_translator.SEEDS_BESIDE,
        quick=QUICK,
        recipes={"encoder-decoder-64": (ENCODER_DECODER, "model.width=64"), "decoder-only-128": decoder},
    )


class DecoderOnlyNMT(Claim):
    """Trains a decoder on the same task as one sequence: source, separator token, target."""

    group = GROUPS[4]
    statement = "A decoder alone translates English to Pig Latin better than an encoder-decoder."
    source = "course work on translation: the same task as one sequence"
    reported = (
        "loss about 0.2 on the small list, below every encoder-decoder (0.478 and more), and the only one to get the sample "
        "sentence right; with about 260,000 parameters (h 128) against those of h 32 and 64"
    )
    why = (
        "A decoder alone reads the word and its translation with the same layers, so every layer can look at both. But the "
        "reported one was also the larger model."
    )
    procedure = (
        "The course's encoder-decoder of hidden size 64 and a decoder of the same layers and as many parameters are trained "
        f"on the course's small list, with equally many steps ({course_translator.STEPS:,} of 64 words, which are 100 "
        "epochs). They are compared on test words of that list that were not trained on, by the loss per character of the "
        "translation and by the share of words exactly right, at the checkpoint with the lowest validation loss; the test "
        "words count as a sample, like the seeds. Everything is done with the course's learning rate, and with the best of "
        f"five learning rates for each model, chosen on the validation words. A difference below {MARGIN:g} nats per "
        f"character, a tenth of the smallest reported encoder-decoder loss, or below {100 * 2 * margins.ACCURACY:g} "
        "percentage points of the words does not matter."
    )
    would_change = (
        "Longer sources, which a decoder alone must carry along; or so many steps that both models have learned the rule."
    )
    studies = (
        _plan("reported", *COURSE),
        _plan("tuned", *COURSE, tune=course_translator.TUNE),
        _reported_sizes(),
        _plan("own-layer"),
        _plan("stand-in", *COURSE),
    )
    quantities: ClassVar = {
        **{
            f"{study}/{metric}/{arm}": Quantity(
                f"{label}, {KINDS[arm]}, {what}",
                metric,
                unit,
                scale,
                higher_is_better=metric == "test.exact",
                reported=REPORTED.get((metric, arm), "") if study == "reported-sizes" else "",
            )
            for study, (what, _) in STUDIES.items()
            for metric, (label, unit, scale) in METRICS.items()
            for arm in ARMS
        },
        **{
            f"{study}/sentence/{arm}": Quantity(
                f'seeds that translate "{SENTENCE}" without an error, {KINDS[arm]}, {STUDIES[study][0]}',
                "share of seeds",
                "%",
                100.0,
                higher_is_better=True,
                reported=REPORTED_SENTENCE[arm] if study == "reported-sizes" else "",
            )
            for study in (*DECIDING, "reported-sizes")
            for arm in ARMS
        },
        "trigram": Quantity(
            "test loss of a trigram model of the list's Pig Latin, which never sees the English word",
            "nats per character of the test words",
            "nats per character",
        ),
        "way": Quantity("test words exactly right if `way` is appended to each", "share of words", "%", 100.0, True),
        "copy": Quantity("test words exactly right if each is copied", "share of words", "%", 100.0, True),
    }
    parts = (
        *(
            part
            for study, (what, _) in STUDIES.items()
            for part in (
                lower(
                    f"{study}/test.loss/{DECODER_ONLY}",
                    than=f"{study}/test.loss/{ENCODER_DECODER}",
                    margin=MARGIN,
                    name="lower test loss",
                    items=study in DECIDING,
                    setting=what,
                    decides=study in DECIDING,
                ),
                higher(
                    f"{study}/test.exact/{DECODER_ONLY}",
                    than=f"{study}/test.exact/{ENCODER_DECODER}",
                    margin=2 * margins.ACCURACY,
                    name="more words exactly right",
                    items=study in DECIDING,
                    setting=what,
                    decides=study in DECIDING,
                ),
            )
        ),
        *(
            part
            for arm in ARMS
            for part in (
                lower(
                    f"reported/test.loss/{arm}",
                    than="trigram",
                    margin=MARGIN,
                    name=f"{KINDS[arm]}: better than a trigram model",
                    decides=False,
                ),
                higher(
                    f"reported/test.exact/{arm}",
                    than="way",
                    margin=2 * margins.ACCURACY,
                    name=f"{KINDS[arm]}: more words right than by appending `way`",
                    decides=False,
                ),
            )
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        facts: list[tuple[str, str]] = []
        for name, (_, source) in STUDIES.items():
            if not bench.has(source):
                continue
            study = bench.study(name)
            facts += bench.facts(study)
            for arm, planned in zip(ARMS, study.arms, strict=True):
                for metric in METRICS:
                    split, _, short = metric.partition(".")
                    with_items = name in DECIDING and split == "test"
                    series[f"{name}/{metric}/{arm}"] = (
                        bench.item_values(study, planned.name, split, short)
                        if with_items
                        else bench.values(study, planned.name, metric)
                    )
                if f"{name}/sentence/{arm}" in self.quantities and bench.finished_runs(study, planned.name):
                    translations = translate_sentence(bench, study, planned.name)
                    series[f"{name}/sentence/{arm}"] = count_right(translations)
                    facts.append((f"{name}, {KINDS[arm]}, the first seed", next(iter(translations.values()))))
                facts.append((f"{name}, {KINDS[arm]}, training FLOPs", f"{planned.flops:.3g}"))
        if bench.has(SOURCE):
            trivial = bench.cached("trivial", lambda: trivial_translators.score_trivially(SOURCE))
            units = series[f"reported/test.loss/{ENCODER_DECODER}"].values
            series |= {key: split_scores.same_for_every(units, trivial[key]) for key in ("trigram", "way")}
            series["copy"] = Series({0: trivial["copy"]})
        return Measurements(series, tuple(facts))


def translate_sentence(bench: Bench, study: StudyResults, arm: str) -> dict[int, str]:
    """Seed -> the sample sentence as an arm's run translates it."""
    rows = split_scores.cached_rows(bench, study, arm, "sentence", lambda run: {"text": _translate(run)})
    return {seed: row["text"] for seed, row in rows.items()}


def count_right(translations: dict[int, str]) -> Series:
    """Seed -> 1 if the sample sentence is translated without an error, otherwise 0."""
    right = pig_latin.translate(SENTENCE)
    return Series({seed: float(text == right) for seed, text in translations.items()})


def _translate(run: Run) -> str:
    return run.translate([SENTENCE])[0][0].text
