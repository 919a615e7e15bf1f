"""How a pretrained encoder is fine-tuned, as a function of the number of training rows and of their mean length.

A pure function: it reads no data and knows no recipe. `docs/fine-tuning.md` has the measurements behind the numbers.
"""

from dataclasses import dataclass
from typing import Any

# Below so many rows only the head is trained: a few steps of everything else are too few to help.
FEW_ROWS = 300
# Below so many rows the lower blocks, which hold what the pretraining learned of language, change less than the upper ones.
SOME_ROWS = 2000
# Passes over the rows: as many as give so many steps, within limits.
LEAST_STEPS = 200
# Tokens in a batch, padding not counted. Longer texts come in smaller batches, which bounds the memory.
BATCH_TOKENS = 4096
LARGEST_BATCH, SMALLEST_BATCH = 32, 8
# Evaluations in a run.
EVALUATIONS = 8


@dataclass(frozen=True)
class FineTuning:
    """The settings of `training` for a number of rows, and the most passes over them."""

    learning_rate: float
    most_epochs: float
    freeze: str = "none"
    layer_decay: float = 1.0


HEAD_ONLY = FineTuning(learning_rate=1e-2, most_epochs=60, freeze="backbone")
LOWER_BLOCKS_LESS = FineTuning(learning_rate=3e-4, most_epochs=12, layer_decay=0.8)
EVERYTHING = FineTuning(learning_rate=1e-4, most_epochs=4)


def regime(rows: int) -> FineTuning:
    """What is trained with so many rows, and how fast."""
    if rows < FEW_ROWS:
        return HEAD_ONLY
    return LOWER_BLOCKS_LESS if rows < SOME_ROWS else EVERYTHING


def settings(rows: int, mean_length: float) -> dict[str, Any]:
    """Field of the spec -> value, for a classifier or tagger that starts from a pretrained encoder.

    `rows` is the number of training rows, `mean_length` their mean length in tokens, truncated to the context.
    """
    chosen = regime(rows)
    batch = LARGEST_BATCH
    while batch > SMALLEST_BATCH and batch * mean_length > BATCH_TOKENS:
        batch //= 2
    epochs = min(max(LEAST_STEPS * batch / max(rows, 1), 3.0), chosen.most_epochs)
    steps = max(round(epochs * rows / batch), 1)
    return {
        "training.batch": batch,
        "training.epochs": round(epochs, 1),
        "training.learning_rate": chosen.learning_rate,
        "training.freeze": chosen.freeze,
        "training.layer_decay": chosen.layer_decay,
        "evaluation.every": max(steps // EVALUATIONS, 1),
    }
