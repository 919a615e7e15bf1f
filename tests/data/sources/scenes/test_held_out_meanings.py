"""All sources of scenes hold out meanings but not words."""

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.scenes import entailment, pictures, translations
from glasshouse.data.sources.scenes.meaning import split_of
from glasshouse.data.sources.scenes.parser import parse


def test_held_out_meanings_are_new_and_their_words_are_not(small_sources):
    sources = [pictures.Scenes(), entailment.ScenePairs(), translations.ScenesGerman()]
    for source in sources:
        texts = {split: [line for d in source.documents(split) for line in d.text.split("\n")] for split in SPLITS}
        meanings = {split: {parse(text) for text in lines} for split, lines in texts.items()}
        words = {split: {word for text in lines for word in text.split()} for split, lines in texts.items()}
        assert {split_of(meaning) for meaning in meanings["train"]} == {"train"}
        assert words["validation"] | words["test"] <= words["train"]
        assert "nemo" in words["train"] | {word.rstrip(".") for word in words["train"]}
        assert not any("nemos" in word for split_words in words.values() for word in split_words)
    for source in (sources[0], sources[2]):
        for split in ("validation", "test"):
            documents = list(source.documents(split))
            assert len({parse(document.text) for document in documents}) == len(documents)
            assert {split_of(parse(document.text)) for document in documents} == {split}
    for split in ("validation", "test"):
        premises = {parse(document.text.split("\n")[0]) for document in sources[1].documents(split)}
        assert {split_of(premise) for premise in premises} == {split}
