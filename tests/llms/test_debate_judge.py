"""The judge of a debate: wins, order bias, verdicts that cannot be read, and what a killed judge keeps."""

from pathlib import Path

import pytest

from glasshouse.llms.debate_judge import JudgeSummary, judge_points, pairs, read_verdict, summarise
from glasshouse.llms.debate_rounds import DebateJournal, DebatePoint
from tests.llms.scripted_models import ScriptedModel, points_of

POINTS = [
    *points_of("a", ["short", "short too", "so short"], ["no", "no no"]),
    *points_of("b", ["a long argument"] * 3, ["a long answer", "the longest answer"]),
]


def judged(folder: Path, judge: ScriptedModel, points: list[DebatePoint] = POINTS) -> JudgeSummary:
    journal = DebateJournal(folder / "debate.jsonl", {})
    try:
        return summarise(judge.name, judge_points(judge.name, judge, points, journal))
    finally:
        journal.close()


def longer(text: str) -> str:
    _, a, b, _ = text.split("\n\n")
    return "A" if len(a) > len(b) else "B"


def test_a_judge_that_always_answers_a_has_order_bias_one_and_no_winner(tmp_path: Path) -> None:
    found = judged(tmp_path, ScriptedModel("j", lambda text: "A"))
    assert found.order_bias.value == 1
    assert {model: wins.value for model, wins in found.wins.items()} == {"a": 0.5, "b": 0.5}
    assert found.chose_first == 1
    assert (found.pairs, found.verdicts, found.unreadable) == (5, 10, 0)


def test_a_judge_that_reads_the_arguments_has_no_order_bias(tmp_path: Path) -> None:
    found = judged(tmp_path, ScriptedModel("j", longer))
    assert found.order_bias.value == 0
    assert {model: wins.value for model, wins in found.wins.items()} == {"a": 0, "b": 1}
    assert found.chose_first == 0.5


def test_a_judge_that_changes_its_mind_about_one_pair(tmp_path: Path) -> None:
    found = judged(tmp_path, ScriptedModel("j", lambda text: "B" if "so short" in text else longer(text)))
    assert found.order_bias.value == pytest.approx(1 / 5)
    assert found.wins["b"].value == pytest.approx(4.5 / 5)


def test_verdicts_that_cannot_be_read_are_counted_and_their_pairs_left_out(tmp_path: Path) -> None:
    found = judged(tmp_path, ScriptedModel("j", lambda text: "both" if "Argument A: short" in text else longer(text)))
    # Two of the ten verdicts, of two pairs.
    assert (found.unreadable, found.order_bias.count, found.wins["a"].count) == (2, 3, 3)
    assert found.wins["b"].value == 1


def test_a_judge_that_never_answers_has_no_shares(tmp_path: Path) -> None:
    found = judged(tmp_path, ScriptedModel("j", lambda text: "Hm."))
    assert found.unreadable == found.verdicts == 10
    assert found.order_bias.count == 0
    assert found.wins["a"].count == 0


def test_three_models_are_compared_two_by_two_and_empty_points_not_at_all() -> None:
    points = points_of("a", ["x", "y"]) + points_of("b", ["x", ""]) + points_of("c", ["x", "y"])
    found = [(first.turn.model, second.turn.model) for first, second in pairs(points)]
    assert found == [("a", "b"), ("a", "c"), ("b", "c"), ("a", "c")]


def test_a_killed_judge_is_not_asked_again_and_a_second_judge_is(tmp_path: Path) -> None:
    judge = ScriptedModel("j", longer)

    def dies(text: str) -> str:
        if len(judge.asked) > 3:
            raise KeyboardInterrupt
        return longer(text)

    judge.answer = dies
    with pytest.raises(KeyboardInterrupt):
        judged(tmp_path, judge)
    judge.asked.pop()
    judge.answer = longer
    assert judged(tmp_path, judge).wins["b"].value == 1
    assert len(judge.asked) == 10
    assert all(options.temperature == 0 for _, options in judge.asked)
    other = ScriptedModel("k", lambda text: "A")
    assert judged(tmp_path, other).order_bias.value == 1


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("A", "A"),
        (" b", None),
        ("B.", "B"),
        ("**A**", "A"),
        ("A) because it is clear", "A"),
        ("B\nIt is shorter.", "B"),
        ("Argument B is better.", "B"),
        ("I think argument A is stronger than argument B.", None),
        ("The better answer is: B", "B"),
        ("A good argument is one that convinces.", None),
        ("Both are an argument", None),
        ("<think>A? No.</think>B", "B"),
        ("<think>A", None),
        ("", None),
        ("AB", None),
    ],
)
def test_a_verdict_is_read_or_not_guessed(text: str, verdict: str | None) -> None:
    assert read_verdict(text) == verdict
