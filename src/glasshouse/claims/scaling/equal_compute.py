"""Studies of the course's decoder-only translator whose arms are widths with equal training FLOPs. Knows no claim.

FLOPs are counted for the mean length of a sequence, as in the course. `--match flops` would count the padding of each batch
too. So every arm states its number of steps.

Letters: h width, L layers, S tokens of a sequence, V vocabulary.
"""

from collections.abc import Sequence

from glasshouse.claims.bench import StudyPlan
from glasshouse.claims.translation import course_translator
from glasshouse.claims.translation.course_translator import COURSE_LISTS

RECIPE = "piglatin-decoder-only"
SOURCE = COURSE_LISTS["small"]
LAYERS, VOCABULARY, BATCH = 4, 30, 64
# The mean over the course's small list, with two special tokens, rounded up.
TOKENS = 20
# In nats per character: a tenth of the lowest reported loss of a decoder-only translator.
MARGIN = 0.03
# Losses of several studies are fitted together, so none of them may choose its own number format.
PRECISION = "training.precision=fp32"
# Every arm chooses its checkpoint from so many evaluations, as a run of the course's length does.
EVALUATIONS = 10
# A decoder reads source and target as one sequence, so a quick run needs a longer context.
QUICK = (*course_translator.QUICK, "data.context=10")


def step_flops(width: int) -> int:
    """FLOPs of a training step: 3 x batch x (L (10 S h^2 + 4 S^2 h) + 2 S V h)."""
    blocks = LAYERS * (10 * TOKENS * width**2 + 4 * TOKENS**2 * width)
    return 3 * BATCH * (blocks + 2 * TOKENS * VOCABULARY * width)


def parameters(width: int) -> int:
    """The number of parameters without the embedding and with the head: L (5 h^2 + 5 h) + V h."""
    return LAYERS * 5 * (width**2 + width) + VOCABULARY * width


def steps_for(width: int, budget: float) -> int:
    """The number of steps whose training FLOPs are nearest to the budget."""
    return round(budget / step_flops(width))


def tokens_for(width: int, budget: float) -> float:
    """The number of training tokens that the FLOPs of the budget allow."""
    return budget / step_flops(width) * BATCH * TOKENS


def arm_name(study: str, width: int) -> str:
    """The name of an arm. It is unique in a trial, because recipes of all studies are written to one folder."""
    return f"{study}-h-{width}"


def plan(study: str, widths: Sequence[int], budget: float, tune: str) -> StudyPlan:
    """A study of these widths with tuned learning rates. Every arm takes the FLOPs of the budget."""
    return StudyPlan(
        study,
        (
            *(arm_name(study, width) for width in widths),
            *course_translator.LAYER,
            *course_translator.OPTIMISER,
            "training.epochs=0",
            PRECISION,
            "evaluation.batch=512",
            f"data.source={SOURCE}",
        ),
        metric="test.loss",
        tune=tune,
        margin=MARGIN,
        quick=QUICK,
        recipes={
            arm_name(study, width): (
                RECIPE,
                f"model.width={width}",
                f"training.steps={steps_for(width, budget)}",
                f"evaluation.every={max(steps_for(width, budget) // EVALUATIONS, 1)}",
            )
            for width in widths
        },
    )
