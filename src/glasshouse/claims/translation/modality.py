"""Claim: decoder-only models fail if input and output are of different kinds. Pictures of scenes and their captions."""

from typing import ClassVar

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import higher, lower, not_higher, not_lower
from glasshouse.claims.translation import scene_descriptions

STEPS = 2000
_DECODER_ONLY = ("scene-describer-decoder-only", f"training.steps={STEPS}")
ENCODER_DECODER, PREFIX, WHOLE_PREFIX, UNSEEN = "encoder-decoder", "decoder-only", "whole-prefix", "unseen"
# Arm -> (its recipe and overrides, what it is).
ARMS = {
    ENCODER_DECODER: (("scene-describer", f"training.steps={STEPS}"), "encoder-decoder"),
    PREFIX: (_DECODER_ONLY, "decoder, patches as a prefix"),
    WHOLE_PREFIX: ((*_DECODER_ONLY, "model.whole_prefix=true"), "decoder, patches that see each other"),
    UNSEEN: ((*_DECODER_ONLY, "data.source=scenes-unseen"), "decoder that sees no picture"),
}
TUNE = "training.learning_rate=5e-4,1e-3,2e-3"
# Two points of adequacy: a wrong fact in about every eighth caption.
MARGIN = 0.02
BEHIND, OUTRIGHT = ("behind an encoder-decoder", "no better than without the picture")
QUICK = (*split_scores.QUICK, "training.steps=2", "training.batch=8", "evaluation.every=2")


def adequacy(arm: str) -> str:
    """The key of the adequacy of an arm."""
    return f"adequacy/{arm}"


class Modality(Claim):
    """Trains describers of scenes with a picture encoder, with patches as a prefix, and without the picture."""

    group = GROUPS[4]
    statement = "Decoder-only models fail if input and output are of different kinds, such as a picture and its description."
    source = "course work on translation"
    reported = "asserted, no figures"
    why = (
        "A decoder continues a sequence of tokens with tokens. A picture has none: its patches must pass through layers "
        "made for text, and under the causal mask a patch does not see later ones. But embedded patches are vectors like "
        "any others, and attention does not ask where its keys come from."
    )
    procedure = (
        "Drawn scenes of shapes and fish are described by an encoder-decoder whose encoder reads the patches of the "
        "picture, and by a decoder of as many parameters that reads them as a prefix of the caption. Both take "
        f"{STEPS:,} steps with the best of three learning rates, chosen on validation pictures, and describe 500 scenes "
        "that no training picture shows. Their captions are judged by adequacy, the share of the scene's facts (kind, "
        "count, colour, relation) that they state; the pictures count as a sample, like the seeds. The decoder must fall "
        f"behind the encoder-decoder by a difference that matters ({100 * MARGIN:g} points); in the strict sense of "
        "failing, it must also be no better than the same decoder trained with blank pictures."
    )
    would_change = (
        "Larger pictures with many more patches, a pretrained decoder, or a picture encoder that was trained before and is "
        "kept."
    )
    data = "generated data"
    studies = (
        StudyPlan(
            "describers",
            tuple(ARMS),
            metric="test.loss",
            match="parameters",
            tune=TUNE,
            quick=QUICK,
            recipes={arm: recipe for arm, (recipe, _) in ARMS.items()},
        ),
    )
    quantities: ClassVar = {
        **{
            adequacy(arm): Quantity(f"adequacy, {what}", "facts stated", "%", 100.0, higher_is_better=True)
            for arm, (_, what) in ARMS.items()
        },
        "constant": Quantity(
            "adequacy of the one caption that suits the training pictures best", "facts stated", "%", 100.0, True
        ),
        **{
            f"right/{arm}": Quantity(
                f"captions without a wrong or missing fact, {what}", "share of captions", "%", 100.0, higher_is_better=True
            )
            for arm, (_, what) in ARMS.items()
        },
        **{
            f"test.loss/{arm}": Quantity(f"test loss, {what}", "test.loss", "nats per token")
            for arm, (_, what) in ARMS.items()
        },
    }
    parts = (
        lower(
            adequacy(PREFIX),
            than=adequacy(ENCODER_DECODER),
            margin=MARGIN,
            name="the decoder is less adequate than the encoder-decoder",
            items=True,
            setting=BEHIND,
        ),
        not_higher(
            adequacy(PREFIX),
            than=adequacy(UNSEEN),
            margin=MARGIN,
            name="the decoder is hardly more adequate than without the picture",
            items=True,
            setting=OUTRIGHT,
        ),
        higher(
            adequacy(WHOLE_PREFIX),
            than=adequacy(PREFIX),
            margin=MARGIN,
            name="repaired: the decoder is more adequate if patches see each other",
            items=True,
            decides=False,
        ),
        not_lower(
            adequacy(WHOLE_PREFIX),
            than=adequacy(ENCODER_DECODER),
            margin=MARGIN,
            name="repaired: such a decoder is as adequate as the encoder-decoder",
            items=True,
            decides=False,
        ),
        higher(
            adequacy(ENCODER_DECODER),
            than=adequacy(UNSEEN),
            margin=MARGIN,
            name="control: the encoder-decoder is more adequate than a model without the picture",
            items=True,
            decides=False,
        ),
        not_higher(
            adequacy(UNSEEN),
            than="constant",
            margin=MARGIN,
            name="control: without the picture, a model is no better than one constant caption",
            items=True,
            decides=False,
        ),
    )
    figures = (LineFigure("objects", "objects in the picture", "share of facts stated"),)

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("describers")
        series: dict[str, Series] = {}
        facts, curves = bench.facts(study), {}
        meanings = scene_descriptions.meanings_of_test_scenes()
        for arm, (_, what) in ARMS.items():
            rows = split_scores.cached_rows(bench, study, arm, "captions", scene_descriptions.describe_test_scenes)
            values = {seed: row["adequacy"] for seed, row in rows.items()}
            series[adequacy(arm)] = split_scores.item_series(values)
            series[f"right/{arm}"] = Series({seed: sum(v == 1 for v in row) / len(row) for seed, row in values.items()})
            series[f"test.loss/{arm}"] = bench.values(study, arm, "test.loss")
            facts.append((f"{what}, the first seed says", next(iter(rows.values()))["example"]))
            curves[f"objects/{what}"] = scene_descriptions.by_objects(values, meanings)
        constant = bench.cached("constant", scene_descriptions.best_constant_adequacies)
        series["constant"] = split_scores.same_for_every(series[adequacy(UNSEEN)].values, constant)
        return Measurements(series, tuple(facts), curves=curves)
