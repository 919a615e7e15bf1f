"""The choice between initial scales of the weights, on the validation text. Knows no claim.

The standard deviation of the initial weights is the scale divided by the square root of the number of inputs. A part that is
added to a model may need another scale than the rest, so a fair comparison gives each arm its best one.
"""

import math
import statistics
from collections.abc import Mapping

from glasshouse.claims.bench import Bench
from glasshouse.results.claim import Series
from glasshouse.results.study import StudyResults

SCALES = ("0.5", "1.0", "2.0")
# The word of `glasshouse compare` that makes an arm of each scale.
WORD = f"model.initialisation={','.join(SCALES)}"


def choose_scale(validation_losses: Mapping[str, Series]) -> str:
    """The scale with the lowest mean loss. One that diverged with any seed is not eligible."""
    return min(validation_losses, key=lambda scale: _mean_or_infinity(validation_losses[scale]))


def test_losses(bench: Bench, study: StudyResults, arms: Mapping[str, str]) -> tuple[dict[str, Series], str]:
    """(scale -> test loss of its arm, the scale that is best on the validation text). `arms`: scale -> name of its arm."""
    validation = {scale: bench.values(study, arm, "validation.loss") for scale, arm in arms.items()}
    return {scale: bench.values(study, arm, "test.loss") for scale, arm in arms.items()}, choose_scale(validation)


def _mean_or_infinity(losses: Series) -> float:
    values = list(losses.values.values())
    mean = statistics.fmean(values) if values else math.nan
    return mean if math.isfinite(mean) else math.inf
