"""Learning-rate schedules: pure functions of the step, so that a resumed run has no schedule state to restore."""

import math

from glasshouse.specs.spec import TrainingSpec


def rate(training: TrainingSpec, step: int, steps: int) -> float:
    """The learning rate at a step, for 0 <= step < steps."""
    warmup_steps = round(training.warmup * steps)
    if step < warmup_steps:
        return training.learning_rate * (step + 1) / warmup_steps
    share = _SHAPES[training.schedule]((step - warmup_steps) / max(steps - warmup_steps, 1), training.decay)
    return training.learning_rate * (training.final + (1 - training.final) * share)


def _constant(progress: float, decay: float) -> float:
    return 1.0


def _cosine(progress: float, decay: float) -> float:
    """Half a cosine wave from 1 to 0 (Loshchilov and Hutter, SGDR, 2017)."""
    return 0.5 * (1 + math.cos(math.pi * progress))


def _stable_then_decay(progress: float, decay: float) -> float:
    """Constant, then linear to 0 over the last share `decay` of the steps (Hu et al., MiniCPM, 2024)."""
    return min(1.0, (1 - progress) / decay) if decay else 1.0


_SHAPES = {"constant": _constant, "cosine": _cosine, "warmup-stable-decay": _stable_then_decay}
