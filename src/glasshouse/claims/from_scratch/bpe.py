"""Claim: a byte-pair tokenizer can be written from scratch: exact, equal to a known one, and useful to a language model."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.from_scratch import excerpts
from glasshouse.claims.rules import lower, zero
from glasshouse.data import prepared_data
from glasshouse.data.documents import SPLITS, Source
from glasshouse.runs.run import Run
from glasshouse.specs.errors import RunError
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.words import Words

PAIRS = "byte-pair"
# Model over characters -> what it has in common with the model over byte pairs. A context of 512 characters is that of 128
# byte pairs, and two such windows are as many tokens as eight windows of 128.
OPPONENTS = {
    "characters": "equal FLOPs",
    "characters-wide": "equal FLOPs and parameters",
    "characters-long": "equal FLOPs, parameters and characters of context",
}
CHARACTERS = ("demo-lm", "data.tokenizer=characters")
WIDE = ("model.width=96", "model.feed_forward=255")
LONG = ("data.context=512", "training.batch=2")
STEPS = "training.steps=1500"
# Bits per byte: 4 % of the perplexity of a word, which has about 5.5 bytes with its space.
MARGIN = 0.01
# Number of texts of random code points that are tokenized besides the real texts.
RANDOM_TEXTS = 500
QUICK = (
    "training.steps=20",
    "training.precision=fp32",
    "training.threads=1",
    "evaluation.stride=128",
    "evaluation.every=20",
    "data.vocabulary=512",
    "model.width=16",
    "model.layers=1",
)


class BPE(Claim):
    """Tests the tokenizer by itself, and compares a language model over byte pairs with three over characters."""

    group = GROUPS[3]
    statement = "A byte-pair tokenizer can be written from scratch, and a language model gains by it."
    source = "course work on language models: the tokenizer of the GPT assignment"
    reported = "part of the assignment, without figures"
    why = (
        "A byte pair stands for about four characters. At equal cost a model over byte pairs reads four times as much "
        "text and looks four times as far back."
    )
    procedure = (
        "Every State of the Union address and 500 texts of random code points are encoded and decoded, which must give "
        "the text back, and are compared with the package tokenizers, which must give the same tokens. A language "
        "model over byte pairs is compared by bits per byte of test text with three models over characters: one of the "
        "same width, one with as many parameters, and one with as many parameters and as many characters of context. "
        "All have the same training FLOPs and their own best learning rate."
    )
    would_change = (
        "A larger budget, at which a model over characters can learn the words that byte pairs give for free; or a "
        "language with few repeated strings."
    )
    data = PUBLIC_TEXT
    studies = (
        StudyPlan(
            "equal-flops",
            (PAIRS, *OPPONENTS),
            metric="test.bits_per_byte",
            match="flops",
            tune="training.learning_rate=2e-3,4e-3,8e-3,1.6e-2,3.2e-2",
            quick=QUICK,
            recipes={
                PAIRS: ("demo-lm", STEPS),
                "characters": (*CHARACTERS, STEPS),
                "characters-wide": (*CHARACTERS, *WIDE, STEPS),
                "characters-long": (*CHARACTERS, *WIDE, *LONG, STEPS),
            },
        ),
    )
    quantities: ClassVar = {
        "changed": Quantity("texts that decoding does not return exactly", "texts", per=""),
        "disagreements": Quantity("texts that the package tokenizers tokenizes differently", "texts", per=""),
        "bits/byte-pair": Quantity("bits per byte, byte pairs", "test.bits_per_byte", "bits per byte"),
        **{
            f"bits/{arm}": Quantity(f"bits per byte, characters, {equal}", "test.bits_per_byte", "bits per byte")
            for arm, equal in OPPONENTS.items()
        },
        **{
            f"bytes/{tokens}": Quantity(f"bytes per token, {tokens}", "bytes per token", higher_is_better=True, per="")
            for tokens in ("byte pairs", "characters", "words")
        },
        "unknown": Quantity("share of unknown tokens in a vocabulary of words", "unknown", "%", 100.0, per=""),
    }
    parts = (
        zero("changed", name="decoding returns every text"),
        zero("disagreements", name="the package tokenizers gives the same tokens"),
        *(
            lower(
                "bits/byte-pair", than=f"bits/{arm}", margin=MARGIN, name=f"fewer bits per byte than characters at {equal}"
            )
            for arm, equal in OPPONENTS.items()
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        study = excerpts.with_excerpt(bench, "equal-flops", "state-of-the-union").study("equal-flops")
        arms = (PAIRS, *OPPONENTS)
        series = {f"bits/{arm}": bench.values(study, arm, "test.bits_per_byte") for arm in arms}
        run = _first_run(bench.finished_runs(study, PAIRS), PAIRS)
        characters = _first_run(bench.finished_runs(study, "characters"), "characters")
        source = prepared_data.find_source(run.spec.data)
        texts = [*real_texts(source), *random_texts(RANDOM_TEXTS)]
        held_out = [document.text for document in source.documents("validation")]
        words = Words.train(real_texts(source, ("train",)), run.spec.data.vocabulary)
        counted = {
            "changed": count_changed_texts(run.tokenizer, texts),
            "disagreements": count_disagreements(run, texts),
            "bytes/byte pairs": bytes_per_token(run.tokenizer, held_out),
            "bytes/characters": bytes_per_token(characters.tokenizer, held_out),
            "bytes/words": bytes_per_token(words, held_out),
            "unknown": unknown_share(words, held_out),
        }
        series |= {key: Series({0: float(value)}) for key, value in counted.items() if value is not None}
        facts = [*bench.facts(study), ("texts tokenized", f"{len(texts):,}")]
        if shared := shared_vocabulary(run, source):
            facts.append(("our tokens that the package's own training also produces", shared))
        notes = [] if "disagreements" in series else ["the package tokenizers is not installed here"]
        return Measurements(series, tuple(facts), tuple(notes))


def _first_run(runs: Sequence[Run], arm: str) -> Run:
    if not runs:
        raise RunError(f"every run over {arm} diverged, so there is nothing to measure; lower its learning rate")
    return runs[0]


def real_texts(source: Source, splits: Sequence[str] = SPLITS) -> Iterator[str]:
    """The texts of a source."""
    return (document.text for split in splits for document in source.documents(split))


def random_texts(count: int) -> Iterator[str]:
    """Texts of random code points (no surrogates), separated by white space, line ends or nothing."""
    generator = random.Random(0)
    ranges = [range(0x20, 0x7F), range(0xA0, 0x3000), range(0x3000, 0xD800), range(0xE000, 0x110000)]
    separators = ["", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u200d", "'s"]
    for _ in range(count):
        parts = (
            chr(generator.choice(generator.choice(ranges))) + generator.choice(separators)
            for _ in range(generator.randrange(40))
        )
        yield "".join(parts)


def count_changed_texts(tokenizer: Tokenizer, texts: Sequence[str]) -> int:
    """The number of texts that encoding and decoding change."""
    return sum(tokenizer.decode(tokenizer.encode(text, specials=False)) != text for text in texts)


def bytes_per_token(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """The mean number of bytes of text per token."""
    return sum(len(text.encode()) for text in texts) / sum(len(tokenizer.encode(text, specials=False)) for text in texts)


def unknown_share(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """The share of tokens that are the unknown token."""
    ids = [token for text in texts for token in tokenizer.encode(text, specials=False).tolist()]
    return sum(token == tokenizer.unknown for token in ids) / len(ids)


def count_disagreements(run: Run, texts: Sequence[str]) -> int | None:
    """The number of texts that the package tokenizers tokenizes differently with our file; None if it is not installed."""
    try:
        import tokenizers
    except ImportError:
        return None
    library_tokenizer = tokenizers.Tokenizer.from_file(str(run.folder.tokenizer_file))
    return sum(
        library_tokenizer.encode(text, add_special_tokens=False).ids != run.tokenizer.encode(text, specials=False).tolist()
        for text in texts
    )


def shared_vocabulary(run: Run, source: Source) -> str | None:
    """How many of our tokens the package's own training also produces; None if it is not installed."""
    try:
        import tokenizers
    except ImportError:
        return None
    library_tokenizer: Any = tokenizers.Tokenizer(tokenizers.models.BPE())
    library_tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=run.tokenizer.vocabulary,
        show_progress=False,
        special_tokens=list(run.tokenizer.specials),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    library_tokenizer.train_from_iterator(real_texts(source, ("train",)), trainer)
    vocabulary = tokenizers.Tokenizer.from_file(str(run.folder.tokenizer_file)).get_vocab()
    return f"{len(vocabulary.keys() & library_tokenizer.get_vocab().keys()):,} of {len(vocabulary):,}"
