"""Claim: a dual encoder finds a picture by "two goldfish" and "two nemo", and not by "two nemos"."""

from collections.abc import Sequence
from random import Random
from typing import ClassVar

import numpy as np

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import higher, lower
from glasshouse.data.sources.scenes.captions import english, shortest_wording
from glasshouse.data.sources.scenes.meaning import Group, Meaning, all_groups
from glasshouse.data.sources.scenes.pictures import draw_scene
from glasshouse.inspection import held_out_pictures
from glasshouse.runs.run import Run

# A prompt works if it retrieves its picture in more than half of the cases.
WORKS = 0.5
MARGIN = 0.05
# Pictures of each group among which a prompt searches.
PICTURES = 4
# Kinds whose plural has no "s" in the captions, and the form that no caption has.
UNUSUAL_PLURALS = {"goldfish": "goldfishes", "nemo": "nemos"}
WORDS, PIECES = ARMS = ("words", "byte-pair")
# The captions give at most 381 subwords.
TOKENIZERS = {WORDS: (), PIECES: ("data.tokenizer=byte-pair", "data.vocabulary=380", "data.context=32")}
IN_WORDS = {WORDS: "words as tokens", PIECES: "subwords as tokens"}
# Name of a kind of prompt -> an example.
CAPTION, PLURAL, REGULAR, SINGULAR = "caption", "plural", "regular", "singular"
EXAMPLES = {CAPTION: "two nemo", PLURAL: "two nemos", REGULAR: "two red circles", SINGULAR: "two red circle"}

# A prompt and the group that it names.
Prompt = tuple[str, Group]


class ClipPrompt(Claim):
    """Trains dual encoders of captions and pictures, and retrieves pictures with prompts that differ by one letter."""

    group = GROUPS[7]
    statement = (
        'Whether a prompt retrieves its picture depends on small changes of wording: "two goldfish" and "two nemo" work, '
        '"two nemos" does not.'
    )
    source = "course work on large language models: a dual encoder of text and images"
    reported = '"two goldfish" and "two nemo" work, "two nemos" does not'
    why = (
        "A text encoder has seen the captions' words and no others. A form that no caption has is split into subwords that "
        "the captions do not combine in this way."
    )
    procedure = (
        "Each seed trains the small dual encoder `scene-clip` on drawn scenes of shapes and fish, with subwords (byte-pair "
        "encoding, nearly as many tokens as the captions give). In its captions the plurals of goldfish and nemo have no s, "
        f"and all others have one. A prompt searches {PICTURES} new pictures of each of the {len(all_groups())} groups of "
        'one to four objects; it works if the most similar one shows what it names (recall@1). "Two goldfish", "three nemo" '
        'and so on, six prompts, must work in more than half of the cases, and "two goldfishes", "three nemos" and so on in '
        "less than half. Beside it: the paired difference of the two; known words in a form that captions do not use after "
        'a number, such as "two red circle"; and whole words as tokens, where both unknown plurals are the same unknown '
        "word and cannot work in more than half of the cases."
    )
    would_change = (
        "Captions with other plurals, or a text encoder that was trained on more text than the captions of these scenes."
    )
    data = "generated data"
    looks = (8, 16, 32)
    studies = (
        StudyPlan(
            "encoders",
            ARMS,
            metric="test.retrieval_1",
            recipes={arm: ("scene-clip", *own) for arm, own in TOKENIZERS.items()},
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
                f'recall@1 of prompts like "{example}", {IN_WORDS[arm]}', "recall@1", "%", 100.0, higher_is_better=True
            )
            for arm in ARMS
            for prompts, example in EXAMPLES.items()
        },
        **{
            f"{PLURAL}-{what}/{arm}": Quantity(
                f'prompts like "{EXAMPLES[PLURAL]}" whose first picture has the right {what}, {IN_WORDS[arm]}',
                f"right {what}",
                "%",
                100.0,
                higher_is_better=True,
            )
            for arm in ARMS
            for what in ("kind", "count")
        },
    }
    parts = (
        higher(f"{CAPTION}/{PIECES}", than=WORKS, margin=MARGIN, name='"two goldfish" and "two nemo" work'),
        lower(f"{PLURAL}/{PIECES}", than=WORKS, margin=MARGIN, name='"two nemos" does not work'),
        *(
            part
            for arm in ARMS
            for part in (
                lower(
                    f"{PLURAL}/{arm}",
                    than=f"{CAPTION}/{arm}",
                    margin=MARGIN,
                    name=f'"two nemos" falls behind "two nemo", {IN_WORDS[arm]}',
                    decides=False,
                ),
                lower(
                    f"{SINGULAR}/{arm}",
                    than=f"{REGULAR}/{arm}",
                    margin=MARGIN,
                    name=f'"two red circle" falls behind "two red circles", {IN_WORDS[arm]}',
                    decides=False,
                ),
            )
        ),
        higher(f"{REGULAR}/{PIECES}", than=WORKS, margin=MARGIN, name='control: "two red circles" works', decides=False),
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("encoders")
        series: dict[str, Series] = {}
        for arm in ARMS:
            rows = split_scores.cached_rows(bench, study, arm, "prompts", retrieve_by_prompts)
            for key in next(iter(rows.values())):
                series[f"{key}/{arm}"] = Series({seed: row[key] for seed, row in rows.items()})
        facts = bench.facts(study)
        run = bench.finished_runs(study, PIECES)[0]
        for plural in UNUSUAL_PLURALS.values():
            pieces = [run.tokenizer.decode([token]) for token in run.tokenizer.encode(f"two {plural}").tolist()]
            facts.append((f'the subwords of "two {plural}"', " ".join(map(repr, pieces))))
        return Measurements(series, tuple(facts))


def prompts_of(form: str) -> list[Prompt]:
    """The prompts of one form for all groups of several objects that have this form."""
    unusual = form in (CAPTION, PLURAL)
    groups = [group for group in all_groups() if group.count > 1 and (group.kind in UNUSUAL_PLURALS) == unusual]
    captions = [english(meaning, shortest_wording(meaning)) for meaning in (Meaning((group,)) for group in groups)]
    if form in (PLURAL, SINGULAR):  # the noun in another form
        nouns = [UNUSUAL_PLURALS.get(group.kind, group.kind) for group in groups]
        captions = [f"{caption.rpartition(' ')[0]} {noun}" for caption, noun in zip(captions, nouns, strict=True)]
    return list(zip(captions, groups, strict=True))


def retrieve_by_prompts(run: Run) -> dict[str, float]:
    """The shares of prompts of each form that retrieve their picture, among pictures that are drawn for this seed."""
    groups = [group for group in all_groups() for _ in range(PICTURES)]
    generator = Random(f"clip-prompt {run.spec.training.seed}")
    pictures = np.stack([draw_scene(Meaning((group,)), generator) for group in groups])
    vectors = held_out_pictures.embed_pictures(run, pictures)

    def first_groups(prompts: Sequence[Prompt]) -> list[Group]:
        similarities = held_out_pictures.embed_texts(run, [text for text, _ in prompts]) @ vectors.T
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
