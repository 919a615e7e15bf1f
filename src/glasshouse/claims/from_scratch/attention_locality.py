"""Claim: first layers attend near the diagonal or to the preceding token; last layers to a few tokens or a strong column."""

from collections.abc import Mapping
from typing import Any, ClassVar

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.from_scratch import layer_attention, speech_classifier, speech_lm
from glasshouse.claims.from_scratch.layer_attention import (
    COLUMN,
    DISTANCE,
    ENTROPY,
    FIRST,
    ITSELF,
    PREVIOUS,
    STATISTICS,
    UNIFORM,
)
from glasshouse.claims.rules import higher, lower
from glasshouse.data.sources.speeches import TEST_NEW
from glasshouse.results.study import StudyResults
from glasshouse.runs.run import Run

ENCODER, DECODER = MODELS = ("encoder", "decoder")
LAYERS = ("1", "2", "3", "4")
FIRST_LAYER, LAST_LAYER = LAYERS[0], LAYERS[-1]
TRAINED, UNTRAINED = ARMS = ("trained", "untrained")
SPLITS = {ENCODER: TEST_NEW, DECODER: "test-obama"}
SENTENCE, WORD = "These virtues give me an unshakable faith in America", "unshakable"
# Margins: one token of distance, a tenth of a nat of entropy, five hundredths of a query's attention.
TOKENS, NATS, SHARE = 1.0, 0.1, 0.05
QUICK_EXAMPLES = 8
# One step at a rate this small leaves the initial weights.
NO_TRAINING = ("training.steps=1", "training.learning_rate=1e-12", "evaluation.every=1")
UNITS = {DISTANCE: "tokens", ENTROPY: "nats"}
LABELS = {
    DISTANCE: "mean distance of attention",
    ENTROPY: "entropy of attention",
    PREVIOUS: "share on the preceding token",
    ITSELF: "share on the token itself",
    FIRST: "share on the first token",
    COLUMN: "share on the most attended token of a text",
}


def _plan(model: str, recipe: tuple[str, ...], quick: tuple[str, ...]) -> StudyPlan:
    quick = tuple(word for word in quick if not word.startswith("model.layers"))
    return StudyPlan(
        model,
        ARMS,
        metric="test.accuracy" if model == ENCODER else "test-obama.loss",
        quick=quick,
        recipes={TRAINED: recipe, UNTRAINED: (*recipe, "training.epochs=0", *NO_TRAINING)},
    )


class AttentionLocality(Claim):
    """Trains the assignment's encoder and decoder, and measures where each layer attends over a whole test set."""

    group = GROUPS[3]
    statement = (
        "In the encoder the first layer attends near the diagonal and the last one to a few tokens; in the decoder the "
        "first layer attends most to the preceding token, and the last one is spread out, with one strong column."
    )
    source = "course work: heat maps of a classifier and a language model"
    reported = f"heat maps of one text; {WORD!r} draws most in the encoder's last layer"
    why = (
        "Neighbouring words form phrases, so a first layer may gather them and later layers choose among phrases. A heat "
        "map of one text in one run shows such patterns easily, whether or not they are general."
    )
    procedure = (
        "The course's encoder and decoder are trained, and the attention of each layer is averaged over heads, queries and "
        "all texts: the test segments that are not in the training file, and Obama's test text. The encoder's first layer "
        "must attend nearer than uniform "
        f"attention by more than {TOKENS:g} token, and its last layer must have the lower entropy of the two by more than "
        f"{NATS:g} nats. The decoder's first layer must give more to the preceding token than to the token itself or the "
        "first one; its last layer must have the higher entropy of the two, and give more to the most attended token of a "
        f"text than uniform attention does. A share matters from {SHARE:g}. Beside it: untrained models, and the sentence "
        "of the heat map."
    )
    would_change = "Other positions (ALiBi attends near by construction), or longer training."
    needs = ("course-speeches", "speeches-text")
    studies = (
        _plan(ENCODER, (*speech_classifier.COURSE_SETTING, "training.learning_rate=1e-3"), speech_classifier.QUICK),
        _plan(DECODER, (*speech_lm.COURSE_SETTING, speech_lm.REPORTED_RATE), speech_lm.QUICK),
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        **{
            f"{model}/{arm}/{layer}/{name}": Quantity(
                f"{LABELS[name]}, {model}, {arm}, {'uniform attention' if layer == UNIFORM else f'layer {layer}'}",
                name,
                UNITS.get(name, "share"),
            )
            for model in MODELS
            for arm in ARMS
            for layer in (*LAYERS, UNIFORM)
            for name in STATISTICS
        },
        "word": Quantity(f"whether {WORD!r} draws most in the encoder's last layer", "0: no, 1: yes", higher_is_better=True),
    }
    parts = (
        lower(
            f"{ENCODER}/{TRAINED}/{FIRST_LAYER}/{DISTANCE}",
            than=f"{ENCODER}/{TRAINED}/{UNIFORM}/{DISTANCE}",
            margin=TOKENS,
            name="encoder, first layer: nearer than uniform attention",
        ),
        lower(
            f"{ENCODER}/{TRAINED}/{LAST_LAYER}/{ENTROPY}",
            than=f"{ENCODER}/{TRAINED}/{FIRST_LAYER}/{ENTROPY}",
            margin=NATS,
            name="encoder, last layer: lower entropy than the first",
        ),
        *(
            higher(
                f"{DECODER}/{TRAINED}/{FIRST_LAYER}/{PREVIOUS}",
                than=f"{DECODER}/{TRAINED}/{FIRST_LAYER}/{other}",
                margin=SHARE,
                name=f"decoder, first layer: more on the preceding token than on {label}",
            )
            for other, label in ((ITSELF, "the token itself"), (FIRST, "the first token"))
        ),
        higher(
            f"{DECODER}/{TRAINED}/{LAST_LAYER}/{ENTROPY}",
            than=f"{DECODER}/{TRAINED}/{FIRST_LAYER}/{ENTROPY}",
            margin=NATS,
            name="decoder, last layer: higher entropy than the first",
        ),
        higher(
            f"{DECODER}/{TRAINED}/{LAST_LAYER}/{COLUMN}",
            than=f"{DECODER}/{TRAINED}/{UNIFORM}/{COLUMN}",
            margin=SHARE,
            name="decoder, last layer: a column stronger than under uniform attention",
        ),
        lower(
            f"{ENCODER}/{TRAINED}/{FIRST_LAYER}/{DISTANCE}",
            than=f"{ENCODER}/{TRAINED}/{LAST_LAYER}/{DISTANCE}",
            margin=TOKENS,
            name="encoder: the first layer attends nearer than the last",
            decides=False,
        ),
        lower(
            f"{ENCODER}/{TRAINED}/{FIRST_LAYER}/{DISTANCE}",
            than=f"{ENCODER}/{UNTRAINED}/{FIRST_LAYER}/{DISTANCE}",
            margin=TOKENS,
            name="encoder, first layer: nearer than before training",
            decides=False,
        ),
        higher(
            f"{DECODER}/{TRAINED}/{FIRST_LAYER}/{PREVIOUS}",
            than=f"{DECODER}/{UNTRAINED}/{FIRST_LAYER}/{PREVIOUS}",
            margin=SHARE,
            name="decoder, first layer: more on the preceding token than before training",
            decides=False,
        ),
        higher("word", than=0.5, margin=SHARE, name=f"{WORD!r} draws most in most trainings", decides=False),
    )
    figures = tuple(
        LineFigure(
            name,
            "layer",
            f"{LABELS[name]}, {UNITS.get(name, 'share')}",
            {
                f"{model}, {arm}": {int(layer): f"{model}/{arm}/{layer}/{name}" for layer in LAYERS}
                for model in MODELS
                for arm in ARMS
            },
        )
        for name in (DISTANCE, ENTROPY, PREVIOUS, COLUMN)
    )

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        studies: list[StudyResults] = []
        examples = QUICK_EXAMPLES if bench.quick else 0
        for model in MODELS:
            studies.append(study := bench.study(model))
            for arm in ARMS:

                def statistics(run: Run, model: str = model) -> dict[str, Any]:
                    return layer_attention.layer_statistics(run, SPLITS[model], examples)

                table = split_scores.cached_by_seed(bench, study, arm, "layer-attention", statistics)
                series |= {f"{model}/{arm}/{key}": Series(values) for key, values in table.items()}
        draws = split_scores.cached_rows(
            bench, studies[0], TRAINED, "strongest", lambda run: {"token": strongest_token(run)}
        )
        series["word"] = Series({seed: float(row["token"] == WORD) for seed, row in draws.items()})
        tokens = [row["token"] for row in draws.values()]
        by_count = sorted(set(tokens), key=tokens.count, reverse=True)
        counts = ", ".join(f"{token!r} {tokens.count(token)}" for token in by_count)
        facts = (*bench.facts(*studies), (f"what draws most in the encoder's last layer, in {SENTENCE!r}", counts))
        return Measurements(series, facts)


def strongest_token(run: Run) -> str:
    """The token that draws most attention in the last layer of an encoder, in the sentence of the reported heat map."""
    return layer_attention.strongest_token(run, SENTENCE, int(LAST_LAYER))
