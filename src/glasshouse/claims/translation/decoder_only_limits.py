"""Claim: decoder-only translators are limited on long sources. Quality and cost over the length of Pig Latin phrases."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from glasshouse.claims import margins, split_scores, step_timing
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import equal, higher, lower, zero
from glasshouse.claims.step_timing import Timing
from glasshouse.claims.translation import translation_costs, trivial_translators
from glasshouse.claims.translation.course_translator import MARGIN

# In words of a phrase. All lengths have the same words.
WORDS = (1, 2, 4, 8)
SHORTEST, LONGEST = WORDS[0], WORDS[-1]
ENCODER_DECODER, DECODER_ONLY = KINDS = ("encoder-decoder", "decoder-only")
# Longest translation of a word, with the space or end after it. A decoder alone reads source and target in one context, and
# gives half of it to each.
PER_WORD = {ENCODER_DECODER: 9, DECODER_ONLY: 18}
# Words of a step, whatever their number in a phrase, so that every arm reads the same amount of text.
WORDS_PER_STEP = 64
STEPS = 2000
# With as many layers, a decoder of the same width has as many parameters as the recipe's encoder-decoder.
LAYERS = {ENCODER_DECODER: 3, DECODER_ONLY: 7}
TUNE = "training.learning_rate=2e-3,4e-3,8e-3"
# Of 100 points of chrF.
CHRF_MARGIN = 1.0
# Share by which the ratio of FLOPs must grow from the shortest to the longest source to count as growing.
GROWTH = 0.05
BY_QUALITY, BY_COST = SETTINGS = ("by quality", "by FLOPs")
QUICK = (*split_scores.QUICK, "training.steps=2", "training.batch=4", "evaluation.every=2", "model.width=16")


def arm_name(kind: str, words: int) -> str:
    """The name of an arm."""
    return f"{kind}-{words}"


def _recipe(kind: str, words: int) -> tuple[str, ...]:
    return (
        f"piglatin-{kind}",
        f"data.source=pig-latin-phrases-{words}",
        f"data.context={PER_WORD[kind] * words}",
        f"model.layers={LAYERS[kind]}",
        "model.width=32",
        "model.dropout=0",
        f"training.batch={WORDS_PER_STEP // words}",
        f"training.steps={STEPS}",
        "training.epochs=0",
        "evaluation.word_by_word=false",
        "evaluation.batch=512",
    )


ARMS = {arm_name(kind, words): _recipe(kind, words) for words in WORDS for kind in KINDS}


class DecoderOnlyLimits(Claim):
    """Trains both kinds of translator on phrases of each length, and counts and times what a step costs."""

    group = GROUPS[4]
    statement = (
        "A decoder-only translator re-encodes the source and attends to it without an encoder of its own, which limits it "
        "on long sources: compared with an encoder-decoder it becomes worse and dearer as the source grows."
    )
    source = "course work on translation"
    reported = "asserted, no figures"
    why = (
        "One causal stack must read the source, write the target, and let no source token see a later one; its attention "
        "spans both texts. But all its layers serve both texts, and a cache keeps what was computed for the source."
    )
    procedure = (
        f"Random phrases of {', '.join(map(str, WORDS))} short words are translated to Pig Latin, letter by letter, by an "
        f"encoder-decoder and by a decoder with as many parameters. Every arm takes {STEPS:,} steps of {WORDS_PER_STEP} "
        "words, with the best of three learning rates, chosen on the validation phrases, and is judged on phrases of words "
        f"that no training phrase has. By quality: at {LONGEST} words the decoder must have the higher loss per character "
        f"and the lower chrF, and its excess of loss must be larger than at {SHORTEST} word; {MARGIN:g} nats per character "
        f"and {CHRF_MARGIN:g} point of chrF matter. By cost: it must need more FLOPs for a phrase at every length, and the "
        f"ratio must grow by {GROWTH:.0%} from {SHORTEST} to {LONGEST} words."
    )
    would_change = (
        "Sources of hundreds of words; or equal FLOPs instead of equal parameters, with which the decoder would be smaller "
        "or be trained for fewer steps."
    )
    data = "generated data"
    studies = (
        StudyPlan(
            "lengths",
            tuple(ARMS),
            metric="test.loss",
            match="parameters",
            tune=TUNE,
            margin=MARGIN,
            quick=QUICK,
            recipes=ARMS,
        ),
        StudyPlan("times", tuple(ARMS), quick=QUICK, recipes=ARMS, timed_only=True, timing=Timing(steps=5, again=True)),
    )
    quantities: ClassVar = {
        **{
            f"{metric}/{words}/{kind}": Quantity(
                f"{label}, {words} words, {kind}", metric, unit, higher_is_better=metric == "test.chrf"
            )
            for metric, label, unit in (
                ("test.loss", "test loss", "nats per character"),
                ("test.chrf", "test chrF", "points"),
            )
            for words in WORDS
            for kind in KINDS
        },
        **{
            f"gap/{words}": Quantity(
                f"test loss of the decoder minus that of the encoder-decoder, {words} words",
                "test.loss",
                "nats per character",
            )
            for words in WORDS
        },
        **{
            f"flops/{words}": Quantity(
                f"FLOPs of a phrase, decoder / encoder-decoder, {words} words", "FLOPs, counted", per="length"
            )
            for words in WORDS
        },
        "flops-not-more": Quantity("lengths at which the decoder does not need more FLOPs", "FLOPs, counted", per="length"),
        "flops-not-growing": Quantity(
            f"lengths from which to the next the ratio of FLOPs does not grow by {GROWTH:.0%}",
            "FLOPs, counted",
            per="length",
        ),
        **{
            f"time/{words}": Quantity(
                f"time of a step, decoder / encoder-decoder, {words} words", "seconds per step", per="round"
            )
            for words in WORDS
        },
        "time/again": Quantity("time of the same step under two names", "seconds per step", per="round"),
        "read-again": Quantity(
            f"source tokens that a decoder reads more than once in a translation of {LONGEST} words, with a cache", "tokens"
        ),
        "trigram": Quantity(
            f"test loss of a trigram model of Pig Latin, which never sees the source, {LONGEST} words",
            "test.loss",
            "nats per character",
        ),
    }
    parts = (
        higher(
            f"test.loss/{LONGEST}/{DECODER_ONLY}",
            than=f"test.loss/{LONGEST}/{ENCODER_DECODER}",
            margin=MARGIN,
            name=f"the decoder has the higher loss at {LONGEST} words",
            setting=BY_QUALITY,
        ),
        lower(
            f"test.chrf/{LONGEST}/{DECODER_ONLY}",
            than=f"test.chrf/{LONGEST}/{ENCODER_DECODER}",
            margin=CHRF_MARGIN,
            name=f"the decoder has the lower chrF at {LONGEST} words",
            setting=BY_QUALITY,
        ),
        higher(
            f"gap/{LONGEST}",
            than=f"gap/{SHORTEST}",
            margin=MARGIN,
            name=f"its excess of loss is larger at {LONGEST} words than at {SHORTEST}",
            setting=BY_QUALITY,
        ),
        zero("flops-not-more", name="the decoder needs more FLOPs at every length", setting=BY_COST),
        zero(
            "flops-not-growing",
            name=f"the ratio of FLOPs grows by {GROWTH:.0%} from {SHORTEST} to {LONGEST} words",
            setting=BY_COST,
        ),
        higher(
            f"time/{LONGEST}",
            than=f"time/{SHORTEST}",
            margin=margins.STEP_TIME,
            name=f"the ratio of the times of a step is larger at {LONGEST} words than at {SHORTEST}",
            decides=False,
        ),
        zero("read-again", name="repaired: with a cache the decoder reads no source token twice", decides=False),
        *(
            lower(
                f"test.loss/{LONGEST}/{kind}",
                than="trigram",
                margin=MARGIN,
                name=f"control: the {kind} model is better than a trigram model at {LONGEST} words",
                decides=False,
            )
            for kind in KINDS
        ),
        equal(
            "time/again",
            to=1.0,
            margin=margins.STEP_TIME,
            name="control: one arm under two names takes the same time",
            decides=False,
        ),
    )
    figures = (
        LineFigure(
            "loss",
            "words of the source",
            "test loss, nats per character",
            {kind: {words: f"test.loss/{words}/{kind}" for words in WORDS} for kind in KINDS},
        ),
        LineFigure(
            "cost",
            "words of the source",
            "decoder / encoder-decoder",
            {
                "time of a training step": {words: f"time/{words}" for words in WORDS},
                "FLOPs of a phrase": {words: f"flops/{words}" for words in WORDS},
            },
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("lengths")
        series: dict[str, Series] = {}
        for words in WORDS:
            for kind in KINDS:
                for metric in ("test.loss", "test.chrf"):
                    series[f"{metric}/{words}/{kind}"] = bench.values(study, arm_name(kind, words), metric)
            series[f"gap/{words}"] = difference(
                *(series[f"test.loss/{words}/{kind}"] for kind in (DECODER_ONLY, ENCODER_DECODER))
            )
        flops = {arm: split_scores.cached_rows(bench, study, arm, "flops", translation_costs.count_flops) for arm in ARMS}
        forward = {arm: next(iter(rows.values()))["flops"] for arm, rows in flops.items()}
        series |= flops_ratios(forward) | time_ratios(bench.step_seconds("times"))
        longest = arm_name(DECODER_ONLY, LONGEST)
        again = split_scores.cached_by_seed(
            bench, study, longest, "read-again", lambda run: {"tokens": translation_costs.tokens_read_again(run)}
        )
        trivial = bench.cached("trivial", lambda: trivial_translators.score_trivially(f"pig-latin-phrases-{LONGEST}"))
        series["read-again"] = Series(again["tokens"])
        series["trigram"] = split_scores.same_for_every(again["tokens"], trivial["trigram"])
        facts = [*bench.facts(study), *((f"FLOPs of a phrase, {arm}", f"{count:,.0f}") for arm, count in forward.items())]
        notes = ("FLOPs are those of the matrix products of a forward pass over a phrase and translation of mean length.",)
        return Measurements(series, tuple(facts), notes)


def difference(left: Series, right: Series) -> Series:
    """Unit -> the difference of two quantities."""
    return Series({unit: left.values[unit] - right.values[unit] for unit in left.values if unit in right.values})


def flops_ratios(forward: Mapping[str, float]) -> dict[str, Series]:
    """The ratios of FLOPs by length, and at which lengths they do not support the claim."""
    ratios = [forward[arm_name(DECODER_ONLY, words)] / forward[arm_name(ENCODER_DECODER, words)] for words in WORDS]
    return {
        **{f"flops/{words}": Series({0: ratio}) for words, ratio in zip(WORDS, ratios, strict=True)},
        "flops-not-more": Series({words: float(ratio <= 1) for words, ratio in zip(WORDS, ratios, strict=True)}),
        "flops-not-growing": Series({LONGEST: float(ratios[-1] < (1 + GROWTH) * ratios[0])}),
    }


def time_ratios(seconds: Mapping[str, Sequence[float]]) -> dict[str, Series]:
    """Quantity -> round -> time of a step of one arm divided by that of the other, both timed in this round."""

    def ratio(numerator: str, denominator: str) -> Series:
        rounds = zip(seconds[numerator], seconds[denominator], strict=True)
        return Series({number: upper / under for number, (upper, under) in enumerate(rounds)})

    ratios = {f"time/{words}": ratio(arm_name(DECODER_ONLY, words), arm_name(ENCODER_DECODER, words)) for words in WORDS}
    return {**ratios, "time/again": ratio(step_timing.AGAIN, next(iter(ARMS)))}
