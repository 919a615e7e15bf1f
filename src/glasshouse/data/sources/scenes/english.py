"""English captions: "two red circles above a goldfish", and all other wordings of the same meaning."""

from glasshouse.data.sources.scenes.meaning import SOME, Group, Meaning
from glasshouse.data.sources.scenes.wordings import Wording, ordered_groups, wordings

NUMBERS = {SOME: "some", 1: "a", 2: "two", 3: "three", 4: "four"}
# "Goldfish", "nemo" and "fish" have the same form in the singular and the plural.
PLURALS = {
    "circle": "circles",
    "square": "squares",
    "triangle": "triangles",
    "star": "stars",
    "diamond": "diamonds",
    "shape": "shapes",
    "goldfish": "goldfish",
    "nemo": "nemo",
    "tang": "tangs",
    "shark": "sharks",
    "fish": "fish",
}
# (relation, whether the second group comes first) -> the phrase and its synonym.
RELATION_PHRASES = {
    ("above", False): ("above", "over"),
    ("above", True): ("below", "under"),
    ("left", False): ("left of", "to the left of"),
    ("left", True): ("right of", "to the right of"),
}


def caption(meaning: Meaning, wording: Wording) -> str:
    """The caption of a meaning in one wording."""
    groups = ordered_groups(meaning, wording)
    phrases = [_noun_phrase(group, wording.numeral, clause) for group, clause in groups]
    verbs = ["is" if group.count == 1 else "are" for group, _ in groups]
    if meaning.relation:
        relation = RELATION_PHRASES[meaning.relation, wording.second_first][wording.synonym]
        if wording.template == "verb":
            return f"{phrases[0]} {verbs[0]} {relation} {phrases[1]}"
        if wording.template == "inverted":
            return f"{relation} {phrases[1]} {verbs[0]} {phrases[0]}"
        joined = f" {relation} ".join(phrases)
    else:
        joined = (" with " if wording.template == "with" else " and ").join(phrases)
    if wording.template == "there":
        return f"there {verbs[0]} {joined}"
    return f"a picture of {joined}" if wording.template == "picture" else joined


def captions(meaning: Meaning) -> list[str]:
    """All distinct captions of a meaning."""
    return list(dict.fromkeys(caption(meaning, wording) for wording in wordings(meaning)))


def _noun_phrase(group: Group, numeral: bool, clause: bool) -> str:
    number = "one" if numeral and group.count == 1 else NUMBERS[group.count]
    noun = group.kind if group.count == 1 else PLURALS[group.kind]
    if clause:
        return f"{number} {noun} that {'is' if group.count == 1 else 'are'} {group.colour}"
    return f"{number} {group.colour} {noun}" if group.colour else f"{number} {noun}"
