"""Claim: a dual encoder finds a picture by "two goldfish" and "two nemo", and not by "two nemos"."""

from collections.abc import Sequence
from random import Random
from typing import ClassVar

import numpy as np

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import higher, lower
from glasshouse.data.sources.scenes.english import NUMBERS, PLURALS
from glasshouse.data.sources.scenes.meaning import Group, Meaning, all_groups
from glasshouse.data.sources.scenes.rendering import draw_scene
from glasshouse.inspection import image_retrieval
from glasshouse.runs.run import Run

STEPS = 1000
# A prompt works if it retrieves its picture in more than half of the cases.
WORKS = 0.5
MARGIN = 0.05
# Pictures of each group among which a prompt searches.
PICTURES = 4
# Kinds whose plural has no "s" in the captions, and the form that no caption has.
UNUSUAL_PLURALS = {"goldfish": "goldfishes", "nemo": "nemos"}
WORDS, PIECES = ARMS = ("words", "byte-pair")
TOKENIZERS = {WORDS: (), PIECES: ("data.tokenizer=byte-pair", "data.vocabulary=380", "data.context=32")}
SETTINGS = {WORDS: "words as tokens", PIECES: "pieces of words as tokens"}
# Name of a kind of prompt -> an example.
CAPTION, PLURAL, REGULAR, SINGULAR = "caption", "plural", "regular", "singular"
EXAMPLES = {CAPTION: "two nemo", PLURAL: "two nemos", REGULAR: "two red circles", SINGULAR: "two red circle"}

# A prompt and the group that it names.
Prompt = tuple[str, Group]


class ClipPrompt(Claim):
    """Trains dual encoders of captions and pictures, and retrieves pictures with prompts that differ by one letter."""

    group = GROUPS[7]
    statement = (
        'The prompt that retrieves a picture depends on small changes of wording: "two goldfish" and "two nemo" work, "two '
        'nemos" does not.'
    )
    source = "course work on large language models: a dual encoder of text and images"
    reported = '"two goldfish" and "two nemo" work, "two nemos" does not'
    why = (
        "A text encoder has seen the captions' words and no others. A form that no caption has is an unknown word, or is "
        "cut into pieces that mean something else."
    )
    procedure = (
        f"Each seed trains a small dual encoder on drawn scenes of shapes and fish for {STEPS:,} steps, with words or "
        "pieces of words as tokens. In its captions the plurals of goldfish and nemo have no s, and all others have "
        f"one. A prompt searches {PICTURES} new pictures of each of the {len(all_groups())} groups of one to four objects; "
        'it works if the most similar one shows what it names. "Two goldfish", "three nemo" and so on must retrieve their '
        f'picture in more than half of the cases, and "two goldfishes", "three nemos" and so on in less than half. Beside '
        'it: known words in a form that captions do not use after a number, such as "two red circle".'
    )
    would_change = (
        "Captions with other plurals, or a text encoder that was trained on more text than the captions of these scenes."
    )
    data = "generated data"
    looks = (8,)
    studies = (
        StudyPlan(
            "encoders",
            ARMS,
            metric="test.retrieval_1",
            recipes={arm: ("scene-clip", f"training.steps={STEPS}", *own) for arm, own in TOKENIZERS.items()},
            quick=(
                *split_scores.QUICK,
                "training.steps=2",
                "training.batch=8",
                "evaluation.every=2",
                "model.image_layers=1",
            ),
        ),
    )
    quantities: ClassVar = {
        **{
            f"{prompts}/{arm}": Quantity(
                f'prompts like "{example}" that retrieve their picture, {SETTINGS[arm]}',
                "first of all pictures",
                "%",
                100.0,
                higher_is_better=True,
            )
            for arm in ARMS
            for prompts, example in EXAMPLES.items()
        },
        **{
            f"{PLURAL}-{what}/{arm}": Quantity(
                f'prompts like "{EXAMPLES[PLURAL]}" whose first picture has the right {what}, {SETTINGS[arm]}',
                "first of all pictures",
                "%",
                100.0,
                higher_is_better=True,
            )
            for arm in ARMS
            for what in ("kind", "count")
        },
    }
    parts = tuple(
        part
        for arm in ARMS
        for part in (
            higher(
                f"{CAPTION}/{arm}",
                than=WORKS,
                margin=MARGIN,
                name='"two goldfish" and "two nemo" work',
                setting=SETTINGS[arm],
            ),
            lower(f"{PLURAL}/{arm}", than=WORKS, margin=MARGIN, name='"two nemos" does not work', setting=SETTINGS[arm]),
            lower(
                f"{SINGULAR}/{arm}",
                than=f"{REGULAR}/{arm}",
                margin=MARGIN,
                name=f'"two red circle" falls behind "two red circles", {SETTINGS[arm]}',
                decides=False,
            ),
        )
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("encoders")
        series: dict[str, Series] = {}
        for arm in ARMS:
            rows = split_scores.cached_rows(bench, study, arm, "prompts", retrieve_by_prompts)
            for key in next(iter(rows.values())):
                series[f"{key}/{arm}"] = Series({seed: row[key] for seed, row in rows.items()})
        return Measurements(series, tuple(bench.facts(study)))


def prompts_of(form: str) -> list[Prompt]:
    """The prompts of one form for all groups of several objects that have this form."""
    unusual = form in (CAPTION, PLURAL)
    groups = [group for group in all_groups() if group.count > 1 and (group.kind in UNUSUAL_PLURALS) == unusual]
    nouns = {
        CAPTION: PLURALS,
        REGULAR: PLURALS,
        PLURAL: UNUSUAL_PLURALS,
        SINGULAR: {group.kind: group.kind for group in groups},
    }
    return [
        (" ".join(filter(None, (NUMBERS[group.count], group.colour, nouns[form][group.kind]))), group) for group in groups
    ]


def retrieve_by_prompts(run: Run) -> dict[str, float]:
    """The shares of prompts of each form that retrieve their picture, among pictures that are drawn for this seed."""
    groups = [group for group in all_groups() for _ in range(PICTURES)]
    generator = Random(f"clip-prompt {run.spec.training.seed}")
    pictures = np.stack([draw_scene(Meaning((group,)), generator) for group in groups])
    vectors = image_retrieval.embed_pictures(run, pictures)

    def first_groups(prompts: Sequence[Prompt]) -> list[Group]:
        similarities = image_retrieval.embed_texts(run, [text for text, _ in prompts]) @ vectors.T
        return [groups[index] for index in similarities.argmax(-1).tolist()]

    shares = {}
    for form in EXAMPLES:
        prompts = prompts_of(form)
        found = list(zip(first_groups(prompts), (group for _, group in prompts), strict=True))
        shares[form] = float(np.mean([first == named for first, named in found]))
        if form == PLURAL:
            shares[f"{form}-kind"] = float(np.mean([first.kind == named.kind for first, named in found]))
            shares[f"{form}-count"] = float(np.mean([first.count == named.count for first, named in found]))
    return shares
