"""The timing of steps: rounds, builds, the order of the arms and the copy of the first arm."""

from pathlib import Path

import pytest

from glasshouse.claims import step_timing
from glasshouse.claims.step_timing import AGAIN, WARM_UP_ROUNDS, Timing, time_steps
from tests.claims.made_up_claim import ARMS, TINY
from tests.cli.program import some_text


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, int]]:
    """The engine and the number of steps of every turn, in order. A turn lasts as long as its number; no step is taken."""
    taken: list[tuple[object, int]] = []

    def turn(engine: object, steps: int) -> float:
        taken.append((engine, steps))
        return float(len(taken))

    monkeypatch.setattr(step_timing, "_median_step_seconds", turn)
    return taken


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, ...]:
    text = tmp_path / "text.txt"
    text.write_text(some_text(600))
    return ("language-model", *TINY, f"data.files={text}", ARMS)


def test_every_arm_has_its_turn_in_every_round_of_every_build(turns, words):
    seconds = time_steps(words, Timing(rounds=4, steps=7, builds=3, again=True), "cpu", "arms")
    assert list(seconds) == ["learned", "none", AGAIN]
    assert all(len(rounds) == 12 for rounds in seconds.values())
    assert {steps for _, steps in turns} == {7}
    assert len({id(engine) for engine, _ in turns}) == 9, "three models in each of three builds"
    assert len(turns) == 3 * 3 * (WARM_UP_ROUNDS + 4)


def test_no_arm_is_always_the_first(turns, words):
    seconds = time_steps(words, Timing(rounds=2, builds=2), "cpu", "arms")
    first = ["learned" if learned < none else "none" for learned, none in zip(*seconds.values(), strict=True)]
    assert first == ["learned", "none", "none", "learned"]
    assert set(seconds["learned"]) & set(seconds["none"]) == set()


def test_a_quick_run_has_few_rounds_and_keeps_the_rest():
    assert Timing(rounds=30, steps=5, builds=16, again=True).quick == Timing(rounds=2, steps=5, builds=2, again=True)
    assert Timing().quick.builds == 1


def test_a_turn_takes_the_steps_that_were_asked_for(words, monkeypatch):
    monkeypatch.setattr(step_timing.cost_plan, "TIMING_SECONDS", 60.0)

    class Engine:
        device, steps = step_timing.devices.pick("cpu"), 3

        def __init__(self) -> None:
            self.taken: list[int] = []

        def step(self, step: int) -> None:
            self.taken.append(step)

    engine = Engine()
    assert step_timing._median_step_seconds(engine, 4) >= 0
    assert engine.taken == [0, 1, 2, 0, 1]


def test_a_build_is_one_value():
    assert step_timing.build_medians([1.0, 2.0, 9.0, 3.0, 3.0, 4.0], 2) == [2.0, 3.0]
