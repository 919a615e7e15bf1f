"""The answers of a grid on the disk: they survive a kill, and another grid does not get them."""

import pytest

from glasshouse.llms.answer_journal import AnswerJournal, GridAnswer
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

DESIGN = {"format": 1, "questions": ["q"], "models": {"m": "run m, step 2"}, "options": {"seed": 0, "repeats": 2}}


def answer(repeat=0, text="é\u2028 \n"):
    return GridAnswer("q", "m", repeat, 1, text, "end", 3, 4, 0.5, passed=True)


def test_answers_come_back_and_a_line_that_was_cut_does_not(tmp_path):
    folder = tmp_path / "grids" / "one"
    journal = AnswerJournal(folder, DESIGN)
    journal.add(answer(0))
    journal.add(answer(1))
    journal.close()
    path = folder / "answers.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    again = AnswerJournal(folder, DESIGN)
    assert again.answers == {("q", "m", 0): answer(0)}
    again.add(answer(1))
    again.close()
    assert list(AnswerJournal(folder, DESIGN).answers) == [("q", "m", 0), ("q", "m", 1)]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"questions": ["other"]}, "questions"),
        ({"models": {"m": "run m, step 4"}}, "models"),
        ({"options": {"seed": 0, "repeats": 3}}, "repeats (2 there, 3 here)"),
    ],
)
def test_another_grid_is_refused(tmp_path, changed, named):
    AnswerJournal(tmp_path / "g", DESIGN).close()
    with refused(GlasshouseError, named, "--output"):
        AnswerJournal(tmp_path / "g", {**DESIGN, **changed})


def test_other_folders_are_refused(tmp_path):
    (tmp_path / "file.txt").write_text("x")
    with refused(GlasshouseError, str(tmp_path)):
        AnswerJournal(tmp_path, DESIGN)
    with refused(GlasshouseError, "file.txt"):
        AnswerJournal(tmp_path / "file.txt", DESIGN)
    AnswerJournal(tmp_path / "g", DESIGN).close()
    (tmp_path / "g" / "grid.json").write_text("{")
    with refused(GlasshouseError, "grid.json"):
        AnswerJournal(tmp_path / "g", DESIGN)
