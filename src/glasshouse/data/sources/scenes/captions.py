"""Captions of meanings in English and German: "two red circles above a goldfish", and all other wordings.

Both languages share the wordings, so the English text alone determines the translation. Unlike English, German needs gender,
case, adjective endings and a verb at the end of a clause.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random

from glasshouse.data.sources.scenes.meaning import FISH, SHAPES, SOME, Group, Meaning

# Sentence templates: "A above B" (bare), "there is A above B", "a picture of A above B", "A is above B" (verb),
# "above B is A" (inverted), "A with B".
ONE_GROUP_TEMPLATES = ("bare", "there", "picture")
RELATION_TEMPLATES = (*ONE_GROUP_TEMPLATES, "verb", "inverted")
NO_RELATION_TEMPLATES = (*ONE_GROUP_TEMPLATES, "with")


@dataclass(frozen=True)
class Wording:
    """One way to express a meaning: a sentence template, whether the second group comes first, and details."""

    template: str
    second_first: bool = False
    synonym: bool = False  # "over" instead of "above"
    numeral: bool = False  # "one" instead of "a"
    clauses: tuple[bool, ...] = (False,)  # for each group, "circles that are red" instead of "red circles"


@cache
def wordings(meaning: Meaning) -> tuple[Wording, ...]:
    single = len(meaning.groups) == 1
    templates = ONE_GROUP_TEMPLATES if single else RELATION_TEMPLATES if meaning.relation else NO_RELATION_TEMPLATES
    numerals = (False, True) if any(group.count == 1 for group in meaning.groups) else (False,)
    clauses = product(*((False, True) if group.colour else (False,) for group in meaning.groups))
    return tuple(
        Wording(*choice)
        for choice in product(
            templates,
            (False,) if single else (False, True),
            (False, True) if meaning.relation else (False,),
            numerals,
            tuple(clauses),
        )
    )


def shortest_wording(meaning: Meaning) -> Wording:
    return Wording("bare", clauses=(False,) * len(meaning.groups))


def ordered_groups(meaning: Meaning, wording: Wording) -> list[tuple[Group, bool]]:
    """The groups in the order of a wording, each with whether a relative clause states its colour."""
    groups = list(zip(meaning.groups, wording.clauses, strict=True))
    return groups[::-1] if wording.second_first else groups


ENGLISH_NUMBERS = {SOME: "some", 1: "a", 2: "two", 3: "three", 4: "four"}
# These have the same form in the singular and the plural.
UNCHANGED = ("goldfish", "nemo", "fish")
KINDS = (*SHAPES, "shape", *FISH, "fish")
PLURALS = {kind: kind if kind in UNCHANGED else f"{kind}s" for kind in KINDS}
# (relation, whether the second group comes first) -> the phrase and its synonym.
ENGLISH_RELATION_PHRASES = {
    ("above", False): ("above", "over"),
    ("above", True): ("below", "under"),
    ("left", False): ("left of", "to the left of"),
    ("left", True): ("right of", "to the right of"),
}


def english(meaning: Meaning, wording: Wording) -> str:
    groups = ordered_groups(meaning, wording)
    phrases = [_english_phrase(group, wording.numeral, clause) for group, clause in groups]
    verbs = ["is" if group.count == 1 else "are" for group, _ in groups]
    if meaning.relation:
        relation = ENGLISH_RELATION_PHRASES[meaning.relation, wording.second_first][wording.synonym]
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


def _english_phrase(group: Group, numeral: bool, clause: bool) -> str:
    number = "one" if numeral and group.count == 1 else ENGLISH_NUMBERS[group.count]
    noun = group.kind if group.count == 1 else PLURALS[group.kind]
    if clause:
        return f"{number} {noun} that {'is' if group.count == 1 else 'are'} {group.colour}"
    return f"{number} {group.colour} {noun}" if group.colour else f"{number} {noun}"


GERMAN_NUMBERS = {2: "zwei", 3: "drei", 4: "vier"}
ADJECTIVES = {"red": "rot", "blue": "blau", "green": "grün", "yellow": "gelb", "purple": "lila"}
# This adjective takes no ending.
INDECLINABLE = "lila"
# (relation, whether the second group comes first) -> the phrase and its synonym. All of them take the dative.
GERMAN_RELATION_PHRASES = {
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


def german(meaning: Meaning, wording: Wording) -> str:
    groups = ordered_groups(meaning, wording)
    cases = {"there": "accusative", "picture": "dative"}
    first = _german_phrase(*groups[0], cases.get(wording.template, "nominative"))
    if len(groups) == 1:
        return _with_opening(first, wording)
    relation = GERMAN_RELATION_PHRASES[meaning.relation, wording.second_first][wording.synonym] if meaning.relation else ""
    dative = bool(relation) or wording.template in ("with", "picture")
    second = _german_phrase(*groups[1], "dative" if dative else cases.get(wording.template, "nominative"))
    verb = "ist" if groups[0][0].count == 1 else "sind"
    if wording.template == "inverted":
        return f"{relation} {_close_clause(second)} {verb} {first}"
    conjunction = "mit" if wording.template == "with" else "und"
    middle = f"{verb} {relation}" if wording.template == "verb" else relation or conjunction
    return _with_opening(f"{_close_clause(first)} {middle} {second}", wording)


def _with_opening(description: str, wording: Wording) -> str:
    return {"there": "es gibt ", "picture": "ein Bild von "}.get(wording.template, "") + description


def _close_clause(phrase: str) -> str:
    """A phrase in the middle of a sentence. If it ends with a relative clause, a comma closes the clause."""
    return f"{phrase}," if ", " in phrase else phrase


def _german_phrase(group: Group, clause: bool, case: str) -> str:
    noun, colour = NOUNS[group.kind], ADJECTIVES.get(group.colour, "")
    if group.count == 1:
        article, ending = ENDINGS[case, noun.gender]
        number, form = f"ein{article}", noun.singular
        pronoun, verb = PRONOUNS[noun.gender], "ist"
    else:
        ending = "en" if case == "dative" else "e"
        number = f"einige{'n' if case == 'dative' else ''}" if group.count == SOME else GERMAN_NUMBERS[group.count]
        form = noun.dative_plural if case == "dative" else noun.plural
        pronoun, verb = "die", "sind"
    if clause:
        return f"{number} {form}, {pronoun} {colour} {verb}"
    adjective = [colour if colour == INDECLINABLE else colour + ending] if colour else []
    return " ".join([number, *adjective, form])


LANGUAGES: dict[str, Callable[[Meaning, Wording], str]] = {"english": english, "german": german}


def all_captions(meaning: Meaning, language: str) -> list[str]:
    return list(dict.fromkeys(LANGUAGES[language](meaning, wording) for wording in wordings(meaning)))


def random_english(meaning: Meaning, generator: Random) -> str:
    return english(meaning, generator.choice(wordings(meaning)))
