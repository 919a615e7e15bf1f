"""English captions: "two red circles above a goldfish", and every other wording of the same."""

from glasshouse.data.sources.scenes.meaning import SOME, Group, Meaning
from glasshouse.data.sources.scenes.wordings import Wording, placed, wordings

NUMBERS = {SOME: "some", 1: "a", 2: "two", 3: "three", 4: "four"}
# A shoal of goldfish, and of nemo: these have one form for one and for many.
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
# (relation, begun from the second group) -> the word and its synonym.
RELATIONS = {
    ("above", False): ("above", "over"),
    ("above", True): ("below", "under"),
    ("left", False): ("left of", "to the left of"),
    ("left", True): ("right of", "to the right of"),
}


def caption(meaning: Meaning, wording: Wording) -> str:
    """A meaning in one wording."""
    sides = placed(meaning, wording)
    phrases = [_phrase(group, wording.numeral, clause) for group, clause in sides]
    verbs = ["is" if group.count == 1 else "are" for group, _ in sides]
    if meaning.relation:
        where = RELATIONS[meaning.relation, wording.turned][wording.synonym]
        if wording.frame == "verb":
            return f"{phrases[0]} {verbs[0]} {where} {phrases[1]}"
        if wording.frame == "inverted":
            return f"{where} {phrases[1]} {verbs[0]} {phrases[0]}"
        whole = f" {where} ".join(phrases)
    else:
        whole = (" with " if wording.frame == "with" else " and ").join(phrases)
    if wording.frame == "there":
        return f"there {verbs[0]} {whole}"
    return f"a picture of {whole}" if wording.frame == "picture" else whole


def captions(meaning: Meaning) -> list[str]:
    """Every caption of a meaning, each once."""
    return list(dict.fromkeys(caption(meaning, wording) for wording in wordings(meaning)))


def _phrase(group: Group, numeral: bool, clause: bool) -> str:
    number = "one" if numeral and group.count == 1 else NUMBERS[group.count]
    noun = group.kind if group.count == 1 else PLURALS[group.kind]
    if clause:
        return f"{number} {noun} that {'is' if group.count == 1 else 'are'} {group.colour}"
    return f"{number} {group.colour} {noun}" if group.colour else f"{number} {noun}"
