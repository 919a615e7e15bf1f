"""Plans before the first run: how small a difference do so many seeds find, and how many seeds find a given difference?

"Find" means: call it a difference four times in five. Both need a guess of the standard deviation of the paired differences,
from an earlier study for example. Knows nothing about runs.
"""

from glasshouse.verdicts import statistics
from glasshouse.verdicts.sequential_tests import Look, Looks


def smallest_difference(deviation: float, seeds: int, arms: int = 2, looks: Looks = (), alpha: float = 0.05) -> float:
    """The smallest true difference that a study of `seeds` seeds finds. `arms` includes the first arm.

    With looks it is found at the look with this number of seeds, if not before.
    """
    return statistics.detectable_difference(deviation, seeds, *_level_and_strength(seeds, arms, looks, alpha))


def seeds_to_find(difference: float, deviation: float, arms: int = 2, looks: Looks = (), alpha: float = 0.05) -> int | None:
    """The number of seeds that find this difference, or None if it is beyond `statistics.MAX_SEEDS`.

    With looks it is the number at which the study finds it if it is not stopped before. Beyond the last look the level stays
    what it is there.
    """
    if deviation == 0:
        return 2 if difference else None

    def power(seeds: int) -> float:
        level, strength = _level_and_strength(seeds, arms, looks, alpha)
        return statistics.difference_power(difference / deviation, seeds, level, strength)

    return statistics.seeds_needed(power, 1)


def _level_and_strength(seeds: int, arms: int, looks: Looks, alpha: float) -> tuple[float, float]:
    """The level that every arm is certain to have, and the strength of the adjustment for skewness."""
    look = Look(looks or (seeds,), seeds)
    return look.level(alpha / (arms - 1)), look.strength
