"""Claim: training with ALiBi takes less time than with position embeddings. Each model's steps are timed alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from glasshouse.claims import margins
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.positions import course_models
from glasshouse.claims.rules import control, higher
from glasshouse.claims.step_timing import AGAIN, Timing, build_medians
from glasshouse.training import devices

LEARNED, ALIBI = "learned", "alibi"
MODELS = {"classifier": course_models.CLASSIFIER, "language-model": course_models.LANGUAGE_MODEL}
REPORTED = {"classifier": "14.0 (25.31 s to 21.77 s, five runs)", "language-model": "11.5 (35.66 s to 31.55 s, five runs)"}
# The device of the trial decides. If that is an accelerator, the processor beside it is timed too, in fewer rounds.
HERE, PROCESSOR = "here", "processor"
DEVICES = {HERE: "on the device of the trial", PROCESSOR: "on the processor of the same machine"}
TIMINGS = {
    HERE: Timing(rounds=20, steps=4, builds=16, again=True),
    PROCESSOR: Timing(rounds=6, steps=3, builds=4, again=True),
}
SAVINGS = {ALIBI: "time saved by ALiBi", AGAIN: "time saved by a second copy of the same model"}


class AlibiSpeed(Claim):
    """Times steps of the classifier and the language model with learned positions, with ALiBi, and with the first again."""

    group = GROUPS[1]
    statement = "ALiBi trains faster than position embeddings."
    source = "course work on positions: whole runs of the classifier and the language model, five each, machine not named"
    reported = "classifier 25.31 s to 21.77 s (14 %), language model 35.66 s to 31.55 s (11.5 %)"
    why = "ALiBi has no table to look up and to train. It only adds a fixed number to each attention score."
    procedure = (
        "Training steps of the course's classifier and language model are timed with learned positions, with ALiBi, and "
        "with learned positions once more under another name. All three take their turns in many rounds of a few steps, "
        "and the models are built anew 16 times, because their place in memory changes their speed; the median saving over "
        "the rounds of a build is one value. ALiBi must save time in both models, by more than 2 % of a step to matter. "
        "The two copies of the same model must take equally long within 2 %: otherwise the machine is too unsteady for any "
        "answer."
    )
    would_change = (
        "Another machine or another program. The verdict holds for training steps of one model at a time on the device "
        "that the page names; where that is a GPU, the comparisons beside the verdict are for a processor. Evaluations and "
        "whole runs, which the course timed, are not included."
    )
    needs = ("speeches-text", "course-speeches")
    studies = tuple(
        StudyPlan(
            f"{model}-{device}",
            (*words, f"model.position={LEARNED},{ALIBI}", "training.learning_rate=1e-3"),
            quick=(*course_models.QUICK, *(("training.epochs=0",) if model == "classifier" else ())),
            timed_only=True,
            timing=TIMINGS[device],
        )
        for device in DEVICES
        for model, words in MODELS.items()
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        **{
            f"{device}/{model}/saving/{arm}": Quantity(
                f"{label}, {model}, {where}",
                "share of a step",
                "%",
                100.0,
                higher_is_better=True,
                reported=REPORTED[model] if (device, arm) == (HERE, ALIBI) else "",
                per="build",
            )
            for device, where in DEVICES.items()
            for model in MODELS
            for arm, label in SAVINGS.items()
        },
        **{
            f"{device}/{model}/milliseconds/{arm}": Quantity(
                f"time of a step, {model}, {arm}, {where}", "step time", "ms", 1000.0, per="build"
            )
            for device, where in DEVICES.items()
            for model in MODELS
            for arm in (LEARNED, ALIBI)
        },
    }
    parts = tuple(
        part
        for device, where in DEVICES.items()
        for model in MODELS
        for part in (
            higher(
                f"{device}/{model}/saving/{ALIBI}",
                than=0.0,
                margin=margins.STEP_TIME,
                name=f"ALiBi saves time, {model}" + ("" if device == HERE else f", {where}"),
                decides=device == HERE,
            ),
            control(
                f"{device}/{model}/saving/{AGAIN}",
                to=0.0,
                margin=margins.STEP_TIME,
                name=f"two copies of one model take equally long, {model}" + ("" if device == HERE else f", {where}"),
                decides=device == HERE,
            ),
        )
    )

    def measure(self, bench: Bench) -> Measurements:
        benches = {HERE: bench}
        if devices.pick(bench.device).type != "cpu":
            benches[PROCESSOR] = replace(bench, device="cpu")
        series, facts = {}, []
        for device, timed in benches.items():
            timing = TIMINGS[device].quick if bench.quick else TIMINGS[device]
            builds, rounds = timing.builds, f"{timing.rounds} rounds of up to {timing.steps} steps of each model"
            facts.append((f"timed {DEVICES[device]}", f"{devices.pick(timed.device).type}; {builds} builds of {rounds}"))
            for model in MODELS:
                seconds = timed.step_seconds(f"{model}-{device}")
                for arm in SAVINGS:
                    series[f"{device}/{model}/saving/{arm}"] = savings(seconds[LEARNED], seconds[arm], builds)
                for arm in (LEARNED, ALIBI):
                    series[f"{device}/{model}/milliseconds/{arm}"] = medians(seconds[arm], builds)
        return Measurements(series, tuple(facts))


def savings(slow: Sequence[float], fast: Sequence[float], builds: int) -> Series:
    """Build -> the median over its rounds of the share of time that `fast` saves. Both have all rounds, in order."""
    return medians([1 - other / time for time, other in zip(slow, fast, strict=True)], builds)


def medians(rounds: Sequence[float], builds: int) -> Series:
    """Build -> the median over its rounds."""
    return Series(dict(enumerate(build_medians(rounds, builds))))
