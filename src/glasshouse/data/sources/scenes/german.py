"""German captions. Unlike English, German needs gender, case, adjective endings and a verb at the end of a clause.

A German caption has the same wording as its English counterpart, so the English text alone determines the translation.
"""

from dataclasses import dataclass

from glasshouse.data.sources.scenes.meaning import SOME, Group, Meaning
from glasshouse.data.sources.scenes.wordings import Wording, ordered_groups, wordings

NUMBERS = {2: "zwei", 3: "drei", 4: "vier"}
ADJECTIVES = {"red": "rot", "blue": "blau", "green": "grün", "yellow": "gelb", "purple": "lila"}
# This adjective takes no ending.
INDECLINABLE = "lila"
# (relation, whether the second group comes first) -> the phrase and its synonym. All of them take the dative.
RELATION_PHRASES = {
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
    """The caption of a meaning in one wording."""
    groups = ordered_groups(meaning, wording)
    cases = {"there": "accusative", "picture": "dative"}
    first = _noun_phrase(*groups[0], cases.get(wording.template, "nominative"))
    if len(groups) == 1:
        return _with_opening(first, wording)
    relation = RELATION_PHRASES[meaning.relation, wording.second_first][wording.synonym] if meaning.relation else ""
    dative = bool(relation) or wording.template in ("with", "picture")
    second = _noun_phrase(*groups[1], "dative" if dative else cases.get(wording.template, "nominative"))
    verb = "ist" if groups[0][0].count == 1 else "sind"
    if wording.template == "inverted":
        return f"{relation} {_close_clause(second)} {verb} {first}"
    conjunction = "mit" if wording.template == "with" else "und"
    middle = f"{verb} {relation}" if wording.template == "verb" else relation or conjunction
    return _with_opening(f"{_close_clause(first)} {middle} {second}", wording)


def captions(meaning: Meaning) -> list[str]:
    """All distinct captions of a meaning."""
    return list(dict.fromkeys(caption(meaning, wording) for wording in wordings(meaning)))


def _with_opening(description: str, wording: Wording) -> str:
    return {"there": "es gibt ", "picture": "ein Bild von "}.get(wording.template, "") + description


def _close_clause(phrase: str) -> str:
    """A phrase in the middle of a sentence. If it ends with a relative clause, a comma closes the clause."""
    return f"{phrase}," if ", " in phrase else phrase


def _noun_phrase(group: Group, clause: bool, case: str) -> str:
    noun, colour = NOUNS[group.kind], ADJECTIVES.get(group.colour, "")
    if group.count == 1:
        article, ending = ENDINGS[case, noun.gender]
        number, form = f"ein{article}", noun.singular
        pronoun, verb = PRONOUNS[noun.gender], "ist"
    else:
        ending = "en" if case == "dative" else "e"
        number = f"einige{'n' if case == 'dative' else ''}" if group.count == SOME else NUMBERS[group.count]
        form = noun.dative_plural if case == "dative" else noun.plural
        pronoun, verb = "die", "sind"
    if clause:
        return f"{number} {form}, {pronoun} {colour} {verb}"
    adjective = [colour if colour == INDECLINABLE else colour + ending] if colour else []
    return " ".join([number, *adjective, form])
