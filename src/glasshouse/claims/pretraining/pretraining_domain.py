"""Claim: pretraining on mathematics helps verbal arithmetic more than pretraining on tweets."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Series
from glasshouse.claims.pretraining import arithmetic
from glasshouse.claims.pretraining.arithmetic import (
    LINEAR,
    RANDOM,
    RANDOM_FROZEN,
    RECIPE,
    SCRATCH,
    STEPS,
    TUNED,
    UNTRAINED,
    Experiment,
    Way,
    more_accurate,
)
from glasshouse.data import prepared_data
from glasshouse.results.claim import Part
from glasshouse.specs import catalogue
from glasshouse.specs.spec import DataSpec
from glasshouse.tasks.masked_token import MaskedToken
from glasshouse.tokenizers.base import END_OF_TEXT

TWEETS_SOURCE = "tweets"
ARITHMETIC, TWEETS, ARITHMETIC_FROZEN, TWEETS_FROZEN = "arithmetic", "tweets", "arithmetic-frozen", "tweets-frozen"
# Tokens of the tokenizer that all encoders have. Enough for every word of the sentences about numbers and for common pieces
# of tweets.
VOCABULARY = 800
FINE_TUNED = {
    ARITHMETIC: Way("pretrained on arithmetic", "on-arithmetic", reported="92"),
    TWEETS: Way("pretrained on tweets", "on-tweets", reported="72"),
    SCRATCH: arithmetic.WAYS[SCRATCH],
}
ALL_WAYS = {
    **FINE_TUNED,
    ARITHMETIC_FROZEN: Way("a head on a frozen encoder pretrained on arithmetic", "on-arithmetic", "backbone"),
    TWEETS_FROZEN: Way("a head on a frozen encoder pretrained on tweets", "on-tweets", "backbone"),
    RANDOM_FROZEN: arithmetic.WAYS[RANDOM_FROZEN],
}


def two_texts(experiment: Experiment, text: str) -> Experiment:
    """The experiment with pretrainings on a text about numbers and on tweets, all with one tokenizer."""
    tokenizer = "data.tokenizer_file={tokenizer}"
    starts = {
        "on-arithmetic": (f"data.source={text}", STEPS, tokenizer),
        "on-tweets": (f"data.source={TWEETS_SOURCE}", STEPS, tokenizer),
        RANDOM: (f"data.source={text}", *UNTRAINED, tokenizer),
    }
    return replace(experiment, starts=starts, needs=(*experiment.needs, TWEETS_SOURCE))


COURSE_TEXT, GENERATED_TEXT = "course-arithmetic-text", "arithmetic-text"
COURSE = replace(two_texts(arithmetic.course_experiment({}), COURSE_TEXT), ways={RECIPE: FINE_TUNED, TUNED: ALL_WAYS})
GENERATED = replace(two_texts(arithmetic.generated_experiment(), GENERATED_TEXT), ways={RECIPE: FINE_TUNED})
TEXTS = {COURSE.key: COURSE_TEXT, GENERATED.key: GENERATED_TEXT}


def accuracy_parts(experiment: Experiment, setting: str, where: str, decides: bool) -> tuple[Part, ...]:
    """The parts under one setting."""
    key = {way: experiment.quantity(setting, way) for way in ALL_WAYS}
    numbers, tweets, linear = key[ARITHMETIC], key[TWEETS], experiment.opponent(LINEAR)
    parts = [
        more_accurate(numbers, tweets, "pretraining on arithmetic beats pretraining on tweets", where, decides),
        more_accurate(numbers, key[SCRATCH], "pretraining on arithmetic beats none", where, decides=False),
        more_accurate(tweets, key[SCRATCH], "pretraining on tweets beats none", where, decides=False),
        more_accurate(
            numbers, linear, "pretraining on arithmetic beats a linear model over word pairs", where, decides=False
        ),
    ]
    if ARITHMETIC_FROZEN in experiment.ways[setting]:
        frozen, tweets_frozen, random = (key[way] for way in (ARITHMETIC_FROZEN, TWEETS_FROZEN, RANDOM_FROZEN))
        parts += [
            more_accurate(frozen, tweets_frozen, "with frozen encoders, arithmetic beats tweets", where, decides=False),
            more_accurate(frozen, random, "frozen, pretraining on arithmetic beats random weights", where, decides=False),
            more_accurate(tweets_frozen, random, "frozen, pretraining on tweets beats random weights", where, decides=False),
        ]
    return tuple(parts)


class PretrainingDomain(Claim):
    """Pretrains on two texts, and fine-tunes in the same way from each and from random encoders."""

    group = GROUPS[5]
    statement = (
        "An encoder pretrained on mathematics is fine-tuned to verbal arithmetic better than one pretrained on tweets."
    )
    source = "course work on fine-tuning: a mathematical encoder against one of tweets"
    reported = "92 % against 72 %; always answering positive: 69.4 % of the test file"
    why = (
        "Sentences about numbers say which number is larger, and tweets do not. An encoder that has read them should have "
        "less to learn."
    )
    procedure = (
        "Every seed pretrains the same small encoder on sentences about numbers and on tweets, for equally many steps and "
        "with one tokenizer that was trained on equal amounts of both texts, and fine-tunes from each to the sign of an "
        "expression. Accuracies on the course's test file are compared per pretraining and expression, with the recipe's "
        "learning rate and with the best of several for each, chosen on validation expressions; a difference counts if it "
        "is above one point. Encoders without pretraining and frozen encoders are shown beside them."
    )
    would_change = (
        "A frozen encoder, or fewer expressions to fine-tune on: the less fine-tuning may change or learn, the more "
        "depends on what was read before."
    )
    needs = (TWEETS_SOURCE,)
    studies = (*COURSE.plans, *GENERATED.plans)
    quantities: ClassVar = {**COURSE.quantities, **GENERATED.quantities}
    parts = tuple(part for where in arithmetic.judged(COURSE, GENERATED) for part in accuracy_parts(*where))

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        facts = []
        for experiment in arithmetic.available(bench, COURSE, GENERATED):
            tokenizer = bench.folder / f"tokenizer-{experiment.key}.json"
            write_tokenizer(tokenizer, TEXTS[experiment.key], TWEETS_SOURCE)
            pretraining = experiment.pretrain(bench, tokenizer=str(tokenizer.absolute()))
            measured, studies = experiment.fine_tune(bench, pretraining)
            series |= measured
            facts += bench.facts(pretraining, *studies)
        return Measurements(
            series,
            tuple(facts),
            notes=(
                "equally many steps are more epochs over the sentences about numbers, which are fewer, than over the tweets",
                "the reported encoders were large, differed in architecture and were pretrained by others; these are small "
                "and have the same architecture",
                "the sentences about numbers contain no expression that is held out of fine-tuning, and no result of one",
            ),
        )


def write_tokenizer(path: Path, *sources: str) -> None:
    """Train a tokenizer on equal amounts of the training texts of several sources, unless the file exists."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        byte_pair = catalogue.find("tokenizer", "byte-pair")
        byte_pair.train(equal_amounts(*sources), VOCABULARY, specials=(END_OF_TEXT, *MaskedToken.specials)).save(path)


def equal_amounts(*sources: str) -> Iterator[str]:
    """The training texts of the sources, each cut to the length of the shortest, with a separator before every document."""
    texts = {
        source: [document.text for document in prepared_data.find_source(DataSpec(source=source)).documents("train")]
        for source in sources
    }
    limit = min(sum(map(len, documents)) for documents in texts.values())
    for documents in texts.values():
        read = 0
        for text in documents:
            read += len(text)
            if read > limit:
                break
            yield END_OF_TEXT
            yield text
