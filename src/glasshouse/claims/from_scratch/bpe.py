"""Claim: a byte-pair tokenizer can be written from scratch: exact, equal to a known one, and useful to a language model."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from glasshouse.claims import rules
from glasshouse.claims.claim import REFUTED, UPHELD, Bench, Claim, Evidence, Finding
from glasshouse.data import prepared_data
from glasshouse.data.documents import SPLITS, Source
from glasshouse.metrics.verdicts import Difference
from glasshouse.runs.run import Run
from glasshouse.specs.errors import RunError
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.words import Words

PAIRS, CHARACTERS = "byte-pair", "characters"
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
    """Tests the tokenizer by itself, and compares a language model over byte pairs with one over characters."""

    statement = "A byte-pair tokenizer can be written from scratch, and a language model gains by it."
    source = "course work on language models: the tokenizer of the GPT assignment"
    reported = "part of the assignment, without figures"
    rule = (
        "Three parts. First, decoding the tokens of every real text and of every text of random code points returns the "
        "text exactly. Second, if the package tokenizers is installed, it produces the same tokens from our tokenizer "
        "file. Third, at equal training FLOPs, each with its own best learning rate, a language model over byte pairs "
        "needs fewer bits per byte than one over characters, paired by seed. The claim is upheld if all parts hold. It "
        "is refuted if a text differs, if characters are better, or if the difference is shown to be smaller than one "
        "standard deviation between seeds. Otherwise it is undecided."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        study = bench.compare(
            "equal-flops",
            "demo-lm",
            f"data.tokenizer={PAIRS},{CHARACTERS}",
            metric="validation.bits_per_byte",
            match="flops",
            tune=None if bench.quick else "training.learning_rate=2e-3,4e-3,8e-3",
            quick=QUICK,
        )
        pairs, characters = (_first_run(bench.finished_runs(study, arm), arm) for arm in (PAIRS, CHARACTERS))
        source = prepared_data.find_source(pairs.spec.data)
        texts = [*real_texts(source), *random_texts(RANDOM_TEXTS)]
        changed = count_changed_texts(pairs.tokenizer, texts)
        disagreements = count_disagreements(pairs, texts)
        disagreements_text = (
            "not tested, the package is not installed" if disagreements is None else f"{disagreements} of {len(texts):,}"
        )
        [difference] = [arm.difference for arm in study.arms if arm.name == CHARACTERS]
        held_out = [document.text for document in source.documents("validation")]
        words = Words.train(real_texts(source, ("train",)), pairs.spec.data.vocabulary)
        unknown = f"{unknown_share(words, held_out):.1%} of the tokens are unknown"
        rows = [
            Evidence("texts that decoding does not return exactly", "", f"{changed} of {len(texts):,}"),
            Evidence("texts that the package tokenizers tokenizes differently", "", disagreements_text),
            *_shared_vocabulary_row(pairs, source),
            Evidence("bytes per token, byte pairs", "", f"{bytes_per_token(pairs.tokenizer, held_out):.2f}"),
            Evidence("bytes per token, characters", "", f"{bytes_per_token(characters.tokenizer, held_out):.2f}"),
            Evidence("bytes per token, words", "", f"{bytes_per_token(words, held_out):.2f}; {unknown}"),
        ]
        for arm in study.arms:
            rows.append(Evidence(f"validation bits per byte, {arm.name}", "", rules.format_with_seeds(arm.values)))
            rows.append(Evidence(f"steps and parameters, {arm.name}", "", f"{arm.steps:,} and {arm.parameters:,}"))
        return Finding(
            verdict=decide(changed, disagreements, difference),
            because=(
                f"Texts that decoding does not return exactly: {changed} of {len(texts):,}. Texts that the package "
                f"tokenizers tokenizes differently: {disagreements_text}. Bits per byte at equal training FLOPs: "
                f"{rules.difference_sentence(difference)}."
            ),
            scope=(
                f"State of the Union addresses and {RANDOM_TEXTS} texts of random code points; "
                f"{pairs.spec.data.vocabulary:,} tokens; a decoder of width {pairs.spec.model.width} with "
                f"{pairs.spec.model.layers} layers and a context of {pairs.spec.data.context} tokens, "
                f"{len(study.arms[0].seeds)} seeds"
            ),
            rows=tuple(rows),
            studies=(study.name,),
            notes=(
                "both models have the same context in tokens, so the model over characters sees less text; that is part of "
                "what a tokenizer gains at equal cost",
                *(f"{arm.name}: {note}" for arm in study.arms for note in arm.notes),
            ),
        )


def decide(changed: int, disagreements: int | None, difference: Difference | None) -> str:
    """The verdict on: no text changed, no disagreement, and a model over characters is worse."""
    exact = UPHELD if not changed and not disagreements else REFUTED
    return rules.all_of(exact, rules.direction(difference, "worse"))


def _first_run(runs: Sequence[Run], arm: str) -> Run:
    if not runs:
        raise RunError(
            "all-diverged", f"every run over {arm} diverged, so there is nothing to measure; lower its learning rate"
        )
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


def _shared_vocabulary_row(run: Run, source: Source) -> list[Evidence]:
    """How many of our tokens the package's own training also produces; empty if it is not installed."""
    try:
        import tokenizers
    except ImportError:
        return []
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
    shared = len(vocabulary.keys() & library_tokenizer.get_vocab().keys())
    return [Evidence("our tokens that the package's own training also produces", "", f"{shared:,} of {len(vocabulary):,}")]
