"""A debate: who is asked what in which order, what a killed debate keeps, and what is refused."""

import dataclasses
from pathlib import Path

import pytest

from glasshouse.llms.debate_rounds import (
    AGAINST,
    FOR,
    DebateJournal,
    DebateOptions,
    DebatePoint,
    clean,
    default_control_topic,
    hold,
    last_argument,
    turn_seed,
    turns,
)
from glasshouse.specs.errors import GlasshouseError
from tests.llms.scripted_models import TOPIC, ScriptedModel
from tests.refusals import refused

OPTIONS = DebateOptions(TOPIC, ("a", "b"), points=2, rounds=2, control_topic="school uniforms")


def numbered(name: str) -> ScriptedModel:
    model = ScriptedModel(name, lambda text: f"{name} says {len(model.asked)}")
    return model


def held(folder: Path, options: DebateOptions = OPTIONS, **models: ScriptedModel) -> list[DebatePoint]:
    journal = DebateJournal(folder / "debate.jsonl", dataclasses.asdict(options))
    try:
        return hold(options, [models.get(name) or numbered(name) for name in options.models], journal)
    finally:
        journal.close()


def test_every_model_argues_every_point_for_and_against_and_the_control_once() -> None:
    order = list(turns(dataclasses.replace(OPTIONS, temperatures=(0.2, 0.9))))
    assert len(order) == len(set(order)) == 2 * (2 * 2 * 2 * 2) + 2 * 2 * 2
    control = [turn for turn in order if turn.topic == "school uniforms"]
    assert {(turn.temperature, turn.round) for turn in control} == {(0.2, 1)}
    assert len({turn.key for turn in order}) == len(order)


def test_a_model_is_told_its_earlier_points_of_the_side_and_in_round_two_the_last_argument_of_the_other(
    tmp_path: Path,
) -> None:
    a, b = numbered("a"), numbered("b")
    points = held(tmp_path, a=a, b=b)
    first, second = (messages[-1].text for messages, _ in a.asked[:2])
    assert "earlier" not in first
    assert "opponent" not in first
    assert second.startswith(f"Argue against {TOPIC}.")
    # a is asked for, against, for, against; its second point for is its third answer.
    third = a.asked[2][0][-1].text
    assert "1. a says 1" in third
    assert "a says 2" not in third
    # In round 2 the argument of b against is the last one: its fourth answer.
    fifth = a.asked[4][0][-1].text
    assert "Your opponent says: b says 4" in fifth
    assert "Write your point 3 for" in fifth
    answering = next(point for point in points if point.turn.round == 2)
    assert answering.answers is not None
    assert (answering.answers.model, answering.answers.side, answering.answers.number) == ("b", AGAINST, 2)


def test_a_single_model_answers_its_own_other_side() -> None:
    options = DebateOptions(TOPIC, ("a",), points=1)
    order = list(turns(options))
    said = [DebatePoint(turn, f"{turn.side} {turn.round}", "end") for turn in order[:2]]
    found = last_argument(order[2], options.models, said)
    assert found is not None
    assert found.turn.side == AGAINST
    assert order[2].side == FOR


def test_seeds_differ_between_turns_and_follow_from_the_seed(tmp_path: Path) -> None:
    a = numbered("a")
    held(tmp_path, a=a)
    seeds = [options.seed for _, options in a.asked]
    assert len(set(seeds)) == len(seeds)
    assert turn_seed(1, "x") == turn_seed(1, "x") != turn_seed(2, "x")


@pytest.mark.parametrize("answers", [0, 1, 5])
def test_a_killed_debate_continues_with_the_same_points(tmp_path: Path, answers: int) -> None:
    (tmp_path / "whole").mkdir()
    whole = held(tmp_path / "whole")
    b = numbered("b")

    def dies(text: str) -> str:
        if len(b.asked) > answers:
            raise KeyboardInterrupt
        return f"b says {len(b.asked)}"

    b.answer = dies
    a = numbered("a")
    with pytest.raises(KeyboardInterrupt):
        held(tmp_path, a=a, b=b)
    # The process died while it wrote a line.
    path = tmp_path / "debate.jsonl"
    path.write_bytes(path.read_bytes() + b'{"kind": "point", "key"')
    b.asked.pop()
    b.answer = lambda text: f"b says {len(b.asked)}"
    assert held(tmp_path, a=a, b=b) == whole
    assert len(a.asked) == len(b.asked) == len(whole) / 2
    assert path.read_bytes() == (tmp_path / "whole/debate.jsonl").read_bytes()


def test_a_finished_debate_asks_nothing(tmp_path: Path) -> None:
    points = held(tmp_path)
    silent = ScriptedModel("a", lambda text: pytest.fail("asked again"))
    assert held(tmp_path, a=silent, b=silent) == points


@pytest.mark.parametrize(
    "change", [{"points": 3}, {"topic": "trams"}, {"temperatures": (0.1,)}, {"seed": 1}, {"models": ("a", "c")}]
)
def test_other_options_in_the_same_folder_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    held(tmp_path)
    before = (tmp_path / "debate.jsonl").read_bytes()
    with refused(GlasshouseError, next(iter(change))):
        held(tmp_path, dataclasses.replace(OPTIONS, **change))
    assert (tmp_path / "debate.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"topic": " "}, GlasshouseError),
        ({"topic": "the"}, GlasshouseError),
        ({"models": ()}, GlasshouseError),
        ({"models": ("a", "a")}, GlasshouseError),
        ({"points": 0}, GlasshouseError),
        ({"rounds": 0}, GlasshouseError),
        ({"temperatures": ()}, GlasshouseError),
        ({"temperatures": (0.7, 0.7)}, GlasshouseError),
        ({"temperatures": (-1.0,)}, GlasshouseError),
        ({"max_tokens": 0}, GlasshouseError),
        ({"control_topic": "cars in town"}, GlasshouseError),
    ],
)
def test_options_that_cannot_work_are_refused(change: dict[str, object], kind: type[GlasshouseError]) -> None:
    with refused(kind):
        dataclasses.replace(OPTIONS, **change)


def test_the_control_topic_shares_no_word_with_the_topic() -> None:
    assert default_control_topic("self-driving cars") == "school uniforms"
    assert default_control_topic("a uniform for nurses") == "vegetable gardens"


def test_reasoning_and_line_breaks_are_no_part_of_a_point() -> None:
    assert clean("<think>Hm.\nB?</think>\n Cars\nare fast.") == "Cars are fast."
    assert clean("<think>never ends") == ""
