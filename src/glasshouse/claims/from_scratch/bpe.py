"""Claim: a byte-pair tokenizer can be written from scratch: exact, in agreement with others, of use to a language model."""

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
# Texts of any code points at all, besides real ones.
AWKWARD = 500


class BPE(Claim):
    """The tokenizer by itself, and a language model over it against one over characters."""

    statement = "A byte-pair tokenizer can be written from scratch, and a language model gains by it."
    source = "course work on language models: the tokenizer of the GPT assignment"
    reported = "part of the assignment, without figures"
    rule = (
        "Every real text and every awkward one comes back from its tokens as it was; where the package tokenizers is "
        "installed, it finds the same tokens with the file that ours wrote; and at as many training FLOPs, each with its "
        "own best learning rate, a language model over byte pairs needs fewer bits per byte than one over characters, "
        "paired by seed. Upheld where all are so; refuted where a text differs, or where characters are better or no "
        "difference reaches one standard deviation between seeds; else undecided."
    )

    def try_it(self, bench: Bench) -> Finding:
        comparison = bench.compare(
            "equal-flops",
            "demo-lm",
            f"data.tokenizer={PAIRS},{CHARACTERS}",
            metric="validation.bits_per_byte",
            match="flops",
            tune=None if bench.quick else "training.learning_rate=2e-3,4e-3,8e-3",
            quick=QUICK,
        )
        pairs, characters = (_first(bench.runs(comparison, arm), arm) for arm in (PAIRS, CHARACTERS))
        source = prepared_data.source_of(pairs.spec.data)
        texts = [*real(source), *awkward(AWKWARD)]
        lost = not_returned(pairs.tokenizer, texts)
        apart = library_differs(pairs, texts)
        [difference] = [arm.difference for arm in comparison.arms if arm.name == CHARACTERS]
        held_out = [document.text for document in source.documents("validation")]
        words = Words.train(real(source, ("train",)), pairs.spec.data.vocabulary)
        rows = [
            Evidence("texts that do not come back exactly", "", f"{lost} of {len(texts):,}"),
            Evidence("texts that the package tokenizers reads otherwise", "", _told(apart, len(texts))),
            *_library_row(pairs, source),
            Evidence("bytes a token, byte pairs", "", f"{bytes_a_token(pairs.tokenizer, held_out):.2f}"),
            Evidence("bytes a token, characters", "", f"{bytes_a_token(characters.tokenizer, held_out):.2f}"),
            Evidence(
                "bytes a token, words",
                "",
                f"{bytes_a_token(words, held_out):.2f}, and {unknown(words, held_out):.1%} unknown",
            ),
        ]
        for arm in comparison.arms:
            rows.append(Evidence(f"validation bits per byte, {arm.name}", "", rules.shown(arm.values)))
            rows.append(Evidence(f"steps and parameters, {arm.name}", "", f"{arm.steps:,} and {arm.parameters:,}"))
        said = difference.sentence if difference else "too few seeds came through to judge by"
        return Finding(
            verdict=decide(lost, apart, difference),
            because=(
                f"{lost} of {len(texts):,} texts do not come back exactly; read otherwise by the package tokenizers: "
                f"{_told(apart, len(texts))}. In bits per byte at as many FLOPs, {said}."
            ),
            scope=(
                f"State of the Union addresses and {AWKWARD} texts of random code points; "
                f"{pairs.spec.data.vocabulary:,} tokens; a decoder of width {pairs.spec.model.width} with "
                f"{pairs.spec.model.layers} layers, {pairs.spec.data.context} tokens at once, "
                f"{len(comparison.arms[0].seeds)} seeds"
            ),
            rows=tuple(rows),
            studies=(comparison.name,),
            notes=(
                "both models see as many tokens at once, so the one over characters sees less text; that is part of what a "
                "tokenizer gives at equal cost",
                *(f"{arm.name}: {note}" for arm in comparison.arms for note in arm.notes),
            ),
        )


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


def decide(lost: int, apart: int | None, difference: Difference | None) -> str:
    """The verdict: nothing lost, nothing read otherwise, and characters worse for a model."""
    exact = UPHELD if not lost and not apart else REFUTED
    return rules.all_of(exact, rules.direction(difference, "worse"))


def _first(runs: Sequence[Run], arm: str) -> Run:
    if not runs:
        raise RunError(
            "all-diverged", f"every run over {arm} diverged, so there is nothing to measure; lower its learning rate"
        )
    return runs[0]


def real(source: Source, splits: Sequence[str] = SPLITS) -> Iterator[str]:
    """The texts of a source."""
    return (document.text for split in splits for document in source.documents(split))


def awkward(count: int) -> Iterator[str]:
    """Texts of random code points, any but halves of surrogate pairs, with white space and line ends between them."""
    draw = random.Random(0)
    ranges = [range(0x20, 0x7F), range(0xA0, 0x3000), range(0x3000, 0xD800), range(0xE000, 0x110000)]
    spaces = ["", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u200d", "'s"]
    for _ in range(count):
        signs = (chr(draw.choice(draw.choice(ranges))) + draw.choice(spaces) for _ in range(draw.randrange(40)))
        yield "".join(signs)


def not_returned(tokenizer: Tokenizer, texts: Sequence[str]) -> int:
    """How many texts are not what their tokens say."""
    return sum(tokenizer.decode(tokenizer.encode(text, specials=False)) != text for text in texts)


def bytes_a_token(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """How much text a token stands for."""
    return sum(len(text.encode()) for text in texts) / sum(len(tokenizer.encode(text, specials=False)) for text in texts)


def unknown(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """The share of tokens that stand for whatever is not in the vocabulary."""
    ids = [token for text in texts for token in tokenizer.encode(text, specials=False).tolist()]
    return sum(token == tokenizer.unknown for token in ids) / len(ids)


def library_differs(run: Run, texts: Sequence[str]) -> int | None:
    """How many texts the package tokenizers reads otherwise with the same file; None where it is not installed."""
    try:
        import tokenizers
    except ImportError:
        return None
    theirs = tokenizers.Tokenizer.from_file(str(run.folder.tokenizer_file))
    return sum(
        theirs.encode(text, add_special_tokens=False).ids != run.tokenizer.encode(text, specials=False).tolist()
        for text in texts
    )


def _library_row(run: Run, source: Source) -> list[Evidence]:
    """How many of our tokens the package's own training finds too; nothing where it is not installed."""
    try:
        import tokenizers
    except ImportError:
        return []
    theirs: Any = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=run.tokenizer.vocabulary,
        show_progress=False,
        special_tokens=list(run.tokenizer.specials),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    theirs.train_from_iterator(real(source, ("train",)), trainer)
    own = tokenizers.Tokenizer.from_file(str(run.folder.tokenizer_file)).get_vocab()
    shared = len(own.keys() & theirs.get_vocab().keys())
    return [Evidence("tokens that its own training finds too", "", f"{shared:,} of {len(own):,}")]


def _told(apart: int | None, count: int) -> str:
    return "not tried, the package is not installed" if apart is None else f"{apart} of {count:,}"
