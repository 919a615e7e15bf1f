"""German captions, with what English does not ask for: gender, case, endings of adjectives, a verb at a clause's end.

The wording of a caption is that of its English counterpart, so that a translation follows from the English text alone.
"""

from dataclasses import dataclass

from glasshouse.data.sources.scenes.meaning import SOME, Group, Meaning
from glasshouse.data.sources.scenes.wordings import Wording, placed, wordings

NUMBERS = {2: "zwei", 3: "drei", 4: "vier"}
ADJECTIVES = {"red": "rot", "blue": "blau", "green": "grün", "yellow": "gelb", "purple": "lila"}
# The one adjective here that takes no ending.
UNCHANGED = "lila"
# (relation, begun from the second group) -> the word and its synonym. All of them take the dative.
RELATIONS = {
    ("above", False): ("über", "oberhalb von"),
    ("above", True): ("unter", "unterhalb von"),
    ("left", False): ("links von", "links neben"),
    ("left", True): ("rechts von", "rechts neben"),
}


@dataclass(frozen=True)
class Noun:
    """A noun with its gender (m, f, n) and plural."""

    singular: str
    gender: str
    plural: str

    @property
    def dative_plural(self) -> str:
        return self.plural if self.plural.endswith("n") else f"{self.plural}n"


NOUNS = {
    "circle": Noun("Kreis", "m", "Kreise"),
    "square": Noun("Quadrat", "n", "Quadrate"),
    "triangle": Noun("Dreieck", "n", "Dreiecke"),
    "star": Noun("Stern", "m", "Sterne"),
    "diamond": Noun("Raute", "f", "Rauten"),
    "shape": Noun("Form", "f", "Formen"),
    "goldfish": Noun("Goldfisch", "m", "Goldfische"),
    "nemo": Noun("Clownfisch", "m", "Clownfische"),
    "tang": Noun("Doktorfisch", "m", "Doktorfische"),
    "shark": Noun("Hai", "m", "Haie"),
    "fish": Noun("Fisch", "m", "Fische"),
}
# (case, gender) -> endings of the article "ein" and of an adjective after it.
ENDINGS = {
    ("nominative", "m"): ("", "er"),
    ("nominative", "f"): ("e", "e"),
    ("nominative", "n"): ("", "es"),
    ("accusative", "m"): ("en", "en"),
    ("accusative", "f"): ("e", "e"),
    ("accusative", "n"): ("", "es"),
    ("dative", "m"): ("em", "en"),
    ("dative", "f"): ("er", "en"),
    ("dative", "n"): ("em", "en"),
}
PRONOUNS = {"m": "der", "f": "die", "n": "das"}


def caption(meaning: Meaning, wording: Wording) -> str:
    """A meaning in one wording."""
    sides = placed(meaning, wording)
    cases = {"there": "accusative", "picture": "dative"}
    first = _phrase(*sides[0], cases.get(wording.frame, "nominative"))
    if len(sides) == 1:
        return _framed(first, wording)
    where = RELATIONS[meaning.relation, wording.turned][wording.synonym] if meaning.relation else ""
    dative = bool(where) or wording.frame in ("with", "picture")
    second = _phrase(*sides[1], "dative" if dative else cases.get(wording.frame, "nominative"))
    verb = "ist" if sides[0][0].count == 1 else "sind"
    if wording.frame == "inverted":
        return f"{where} {_closed(second)} {verb} {first}"
    middle = f"{verb} {where}" if wording.frame == "verb" else where or ("mit" if wording.frame == "with" else "und")
    return _framed(f"{_closed(first)} {middle} {second}", wording)


def captions(meaning: Meaning) -> list[str]:
    """Every caption of a meaning, each once."""
    return list(dict.fromkeys(caption(meaning, wording) for wording in wordings(meaning)))


def _framed(whole: str, wording: Wording) -> str:
    return {"there": "es gibt ", "picture": "ein Bild von "}.get(wording.frame, "") + whole


def _closed(phrase: str) -> str:
    """A phrase that goes on after its clause has a comma there."""
    return f"{phrase}," if ", " in phrase else phrase


def _phrase(group: Group, clause: bool, case: str) -> str:
    noun, colour = NOUNS[group.kind], ADJECTIVES.get(group.colour, "")
    if group.count == 1:
        article, ending = ENDINGS[case, noun.gender]
        number, name = f"ein{article}", noun.singular
        pronoun, verb = PRONOUNS[noun.gender], "ist"
    else:
        ending = "en" if case == "dative" else "e"
        number = f"einige{'n' if case == 'dative' else ''}" if group.count == SOME else NUMBERS[group.count]
        name = noun.dative_plural if case == "dative" else noun.plural
        pronoun, verb = "die", "sind"
    if clause:
        return f"{number} {name}, {pronoun} {colour} {verb}"
    adjective = [colour if colour == UNCHANGED else colour + ending] if colour else []
    return " ".join([number, *adjective, name])
