"""The learning rate of a step: a pure function, so that resuming has nothing to restore."""

import math

from glasshouse.specs.spec import TrainingSpec


def rate(training: TrainingSpec, step: int, steps: int) -> float:
    """The learning rate of step 0 <= step < steps."""
    rising = round(training.warmup * steps)
    if step < rising:
        return training.learning_rate * (step + 1) / rising
    share = _SHAPES[training.schedule]((step - rising) / max(steps - rising, 1), training.decay)
    return training.learning_rate * (training.final + (1 - training.final) * share)


def _constant(progress: float, decay: float) -> float:
    return 1.0


def _cosine(progress: float, decay: float) -> float:
    """Half a cosine wave from 1 to 0 (Loshchilov and Hutter, SGDR, 2017)."""
    return 0.5 * (1 + math.cos(math.pi * progress))


def _stable_then_decay(progress: float, decay: float) -> float:
    """Flat, then straight down over the last share of the way (Hu et al., MiniCPM, 2024)."""
    return min(1.0, (1 - progress) / decay) if decay else 1.0


_SHAPES = {"constant": _constant, "cosine": _cosine, "warmup-stable-decay": _stable_then_decay}
