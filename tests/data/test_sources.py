"""The named sources: the same at every reading, splits that share nothing, published shares, and what each promises."""

import csv
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources import data_set_list
from glasshouse.data.sources.arithmetic import VerbalArithmetic, expressions, in_words
from glasshouse.data.sources.arithmetic_text import ArithmeticText
from glasshouse.data.sources.generated import Generated
from glasshouse.data.sources.pig_latin import LONGEST, SMALL, PigLatin, PigLatinSmall, translate
from glasshouse.data.sources.recall import PAIRS, VALUES, Recall
from glasshouse.data.sources.speeches import Speeches, SpeechesText
from glasshouse.specs import catalogue
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers.words import Words
from tests.refusals import refused

GENERATED = [name for name in catalogue.names("source") if issubclass(catalogue.find("source", name), Generated)]
LABELLED = {"verbal-arithmetic": 3, "recall": len(VALUES), "sick": 3, "tweet-emotion": 4, "tweet-irony": 2, "speeches": 3}
DIGESTS = {
    "arithmetic-text": "c649b7ca",
    "pig-latin": "d4a95676",
    "pig-latin-small": "75737603",
    "recall": "4513e2b3",
    "verbal-arithmetic": "542b1d3f",
}
needs_data = pytest.mark.skipif("GLASSHOUSE_DATA" not in os.environ, reason="GLASSHOUSE_DATA is not set")
words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)


def folder():
    return Path(os.environ["GLASSHOUSE_DATA"])


def texts(source, split):
    return [document.text for document in source.documents(split)]


def sizes(source):
    return tuple(len(texts(source, split)) for split in SPLITS)


def source_of(name):
    return catalogue.find("source", name).of(DataSpec(context=32))


@pytest.mark.parametrize("name", GENERATED)
def test_generated_sources_are_the_same_at_every_reading_and_share_nothing(name):
    one, two = source_of(name), source_of(name)
    assert one.fingerprint() == two.fingerprint() != ""
    found = [[(document.text, document.fields) for document in one.documents(split)] for split in SPLITS]
    assert found == [[(document.text, document.fields) for document in two.documents(split)] for split in SPLITS]
    train, validation, test = ({text for text, _ in documents} for documents in found)
    assert not train & (validation | test)
    assert not validation & test
    wanted = set(one.columns) - {"picture"}
    assert all(wanted <= fields.keys() for documents in found for _, fields in documents)


def test_generated_sources_have_their_digests():
    """These change only on purpose: runs are compared across machines and years."""
    found = {name: source_of(name).fingerprint()[:8] for name in DIGESTS}
    assert found == DIGESTS


@pytest.mark.parametrize("name", sorted({*GENERATED, "presidents"}))
def test_what_needs_no_file_is_here_and_cannot_be_got(name):
    generated = name in GENERATED
    assert data_set_list.find(name).where == ("generated" if generated else "ships with Glasshouse")
    with refused("nothing-to-fetch"):
        data_set_list.get(name, print)


def test_a_sample_shows_labels_and_targets():
    beginnings = {name: data_set_list.splits(name)[0].beginning for name in ("pig-latin", "verbal-arithmetic", "recall")}
    for line in beginnings["pig-latin"].splitlines():
        word, translation = line.split(" → ")
        assert translate(word) == translation
    assert beginnings["verbal-arithmetic"].split(":")[0] in ("negative", "zero", "positive")
    assert all(re.fullmatch(r"[a-z]+: .+ … .+ \?", line) for line in beginnings["recall"].splitlines())
    assert len(data_set_list.splits("arithmetic-text")[0].beginning.splitlines()) == data_set_list.ROWS
    assert len(data_set_list.splits("state-of-the-union")[0].beginning) == data_set_list.SAMPLE


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("apple", "appleway"),
        ("the", "ethay"),
        ("shrink", "inkshray"),
        ("quick", "ickquay"),
        ("square", "aresquay"),
        ("yellow", "ellowyay"),
        ("rhythm", "ythmrhay"),
        ("by", "ybay"),
        ("well-being", "ellway-eingbay"),
        ("don't", "onday'tay"),
        ("The air conditioning is working.", "ethay airway onditioningcay isway orkingway."),
        ("1789", "1789"),
        ("", ""),
    ],
)
def test_pig_latin(text, translation):
    assert translate(text) == translation


@given(words)
def test_pig_latin_moves_letters_and_adds_an_ending(word):
    translation = translate(word)
    vowel = word[0] in "aeiou"
    assert translation.endswith("way" if vowel else "ay")
    stem = translation[: -3 if vowel else -2]
    assert Counter(stem) == Counter(word)
    assert stem in word + word, "a rotation"


@given(st.lists(words, min_size=1, max_size=5), st.sampled_from([" ", "-", "'", ", "]))
def test_pig_latin_is_made_part_by_part(parts, between):
    assert translate(between.join(parts)) == between.join(map(translate, parts))


@needs_data
@pytest.mark.parametrize("size", ["small", "large"])
def test_pig_latin_is_that_of_the_published_pairs(size):
    lines = (folder() / "piglatin" / f"pig_latin_{size}.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split() for line in lines if len(line.split()) == 2]
    other = [(word, given, translate(word)) for word, given in pairs if translate(word) != given]
    kinds = Counter(
        "y first" if re.search(r"(^|[-'])y", word) else "qu parted" if "qu" in word else "spelled out" for word, *_ in other
    )
    print(f"{size}: {1 - len(other) / len(pairs):.2%} of {len(pairs)} pairs; the others: {dict(kinds)}")
    assert len(other) < 0.01 * len(pairs)
    assert kinds["spelled out"] <= 2, "such as `mp`, said letter by letter"


def test_both_sizes_of_pig_latin_are_judged_on_the_same_words():
    large, small = PigLatin(), PigLatinSmall()
    assert sizes(small) == (SMALL * 8 // 10, SMALL // 10, SMALL // 10)
    assert sizes(large)[0] > 3 * sizes(small)[0]
    for split in ("validation", "test"):
        assert set(texts(small, split)) == set(texts(large, split))
    assert set(texts(small, "train")) < set(texts(large, "train"))
    assert all(re.fullmatch("[a-z]+(-[a-z]+)*", word) and len(word) <= LONGEST for word in texts(large, "train"))


def test_verbal_arithmetic_has_every_expression_and_the_published_shares():
    source = VerbalArithmetic()
    assert sizes(source) == (448, 192, 160)
    labels = {d.text: d.fields["label"] for split in SPLITS for d in source.documents(split)}
    assert len(labels) == 800
    assert labels["seven minus nine"] == "negative"
    assert labels["seven minus seven"] == labels["zero plus zero"] == "zero"
    assert labels["zero plus nineteen"] == "positive"
    for split in SPLITS:
        assert {d.fields["label"] for d in source.documents(split)} == {"negative", "zero", "positive"}


@needs_data
def test_verbal_arithmetic_is_that_of_the_published_files():
    published = {}
    for name in ("train", "test"):
        with open(folder() / "verbal_arithmetic" / f"PA03_data_20_{name}.csv", encoding="utf-8") as file:
            published |= {row["input"]: ("negative", "zero", "positive")[int(row["label"])] for row in csv.DictReader(file)}
    source = VerbalArithmetic()
    assert {d.text: d.fields["label"] for split in SPLITS for d in source.documents(split)} == published


def test_numbers_in_words():
    for number, said in {0: "zero", 13: "thirteen", 20: "twenty", 38: "thirty-eight", -7: "minus seven"}.items():
        assert in_words(number) == said


def test_no_held_out_expression_stands_in_the_pretraining_text():
    held = {text for split in ("validation", "test") for text in texts(VerbalArithmetic(), split)}
    number = "|".join(in_words(each) for each in range(19, -1, -1))
    pattern = re.compile(rf"(?=\b((?:{number}) (?:plus|minus) (?:{number}))\b)")
    taken = re.compile(rf"take ({number}) from ({number}) and (.+) is left")
    results, told = expressions(), set()
    for split in SPLITS:
        for text in texts(ArithmeticText(), split):
            # Without punctuation: a model may overlook it.
            plain = re.sub(r"[^a-z]+", " ", text)
            found = set(pattern.findall(plain))
            if match := taken.search(text):
                found.add(f"{match[2]} minus {match[1]}")
            assert not found & held, text
            told |= found
    assert told == results.keys() - held


def test_sentences_about_numbers_are_true():
    values = {in_words(number): number for number in range(-38, 39)}
    results, seen = expressions(), 0
    for split in SPLITS:
        for text in texts(ArithmeticText(), split):
            if match := re.fullmatch(r"(.+) is (more|less) than ([a-z -]+)\.", text):
                first, second = values[match[1]], values[match[3]]
                assert (first > second) == (match[2] == "more"), text
                seen += 1
            elif (match := re.fullmatch(r"(.+) (?:is|equals) ([a-z -]+)\.", text)) and match[1] in results:
                assert results[match[1]] == values[match[2]], text
                seen += 1
    assert seen > 2000


@settings(max_examples=5, deadline=None)
@given(st.integers(6, 200))
def test_recall_fills_the_context_and_its_answer_stands_at_the_beginning(context):
    source = Recall.of(DataSpec(context=context))
    assert sizes(source) == (8000, 500, 500)
    for document in source.documents("validation"):
        *before, asked, mark = document.text.split()
        assert (len(before) + 2, mark) == (context, "?")
        animals = {word.split("_")[1]: word.split("_")[0] for word in before if "_" in word}
        assert len(animals) == len(set(animals.values())) == PAIRS
        assert animals[asked] == document.fields["label"]
        assert before.index(f"{animals[asked]}_{asked}") < max(PAIRS, context / 4)
    tokenizer = Words.train(texts(source, "validation"), 100)
    assert len(tokenizer.encode(document.text)) == context


def test_recall_refuses_a_context_without_room():
    with refused("context-too-short", "data.context=5"):
        Recall.of(DataSpec(context=5))


def test_recall_has_no_favourite_answer():
    labels = Counter(document.fields["label"] for document in Recall(32).documents("train"))
    assert len(labels) == len(VALUES)
    assert max(labels.values()) < 1.15 * 8000 / len(VALUES)


@needs_data
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("multi30k", (29000, 1014, 1000)),
        ("sick", (4439, 495, 4906)),
        ("tweet-emotion", (3257, 374, 1421)),
        ("tweet-irony", (2862, 955, 784)),
    ],
)
def test_published_sets_have_their_published_sizes(name, expected):
    assert sizes(source_of(name)) == expected


@needs_data
@pytest.mark.parametrize("name", sorted(LABELLED))
def test_labels_are_names(name):
    source = source_of(name)
    labels = {document.fields["label"] for split in SPLITS for document in source.documents(split)}
    assert len(labels) == LABELLED[name]
    assert not any(label.isdigit() for label in labels)


@needs_data
def test_pairs_stand_side_by_side():
    first = next(source_of("sick").documents("train"))
    assert [line[:16] for line in first.text.split("\n")] == ["A group of kids ", "A group of boys "]
    assert first.fields["label"] == "neutral"
    first = next(source_of("multi30k").documents("test"))
    assert (first.text[:6], first.fields["target"][:8]) == ("A man ", "Ein Mann")


@needs_data
def test_tweets_stand_once_in_one_split():
    flat = [text for split in SPLITS for text in texts(source_of("tweets"), split)]
    assert len(flat) == len(set(flat)) > 9000


@needs_data
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_speeches_hold_out_the_share_that_is_asked_for(share):
    data = DataSpec(validation=share)
    rows, text = Speeches.of(data), SpeechesText.of(data)
    train, validation, test = sizes(rows)
    assert (train + validation, test) == (2092, 750)
    assert validation == pytest.approx(2092 * share, abs=10)
    length = [sum(map(len, texts(text, split))) for split in SPLITS]
    assert length[1] == pytest.approx(sum(length[:2]) * share, abs=300)
    assert [d.fields["speaker"] for d in text.documents("test")] == ["Obama", "W. Bush", "H. Bush"]
    assert all(len(d.text.split("\n")) == 250 for d in text.documents("test"))
    assert Speeches(0.2).fingerprint() != rows.fingerprint()
    assert SpeechesText(0.2).fingerprint() != text.fingerprint()
