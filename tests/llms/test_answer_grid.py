"""A grid: its repeats, broken streams, models that fail, and a grid that continues after a kill."""

from pathlib import Path

import pytest

from glasshouse.llms.answer_grid import AnswerGrid, GridEvent, answer_seed
from glasshouse.llms.http_endpoint import HTTPEndpoint
from glasshouse.llms.language_model import GridOptions
from glasshouse.llms.model_list import ModelEntry
from glasshouse.llms.questions import PromptQuestion, parse_check
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

QUESTIONS = [
    PromptQuestion("division", "What is 77 / 26?", checks=(parse_check({"number": 2.96, "tolerance": 0.01}),)),
    PromptQuestion("capabilities", "What can you do?"),
]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(HTTPEndpoint, "_pause", lambda self, attempt, asked: 0.0)


@pytest.fixture
def remote(server):
    return ModelEntry("remote", "openai", "gpt-x", Path(), (1e-6, 2e-6), base_url=server.address)


def test_every_cell_is_asked_with_a_seed_of_its_own(server, remote, tiny_run):
    local = ModelEntry("tiny", "run", str(tiny_run), Path())
    grid = AnswerGrid(QUESTIONS, [remote, local], GridOptions(max_tokens=8, repeats=3), device="cpu")
    events: list[GridEvent] = []
    grid.run(events.append)
    assert len(grid.answers) == 12
    assert len({answer.seed for answer in grid.answers}) == 12
    assert sorted(body["seed"] for _, body, _ in server.requests) == sorted(
        answer_seed(0, question.name, "remote", repeat) for question in QUESTIONS for repeat in range(3)
    )
    texts = {answer.text for answer in grid.answers if answer.cell[:2] == ("division", "tiny")}
    assert len(texts) == 3, "repeats are fresh"
    division = [answer for answer in grid.answers if answer.cell[:2] == ("division", "remote")]
    assert all(answer.passed and answer.cost == pytest.approx(19e-6) for answer in division)
    assert all(answer.passed is None for answer in grid.answers if answer.question == "capabilities")
    streamed = "".join(event.piece for event in events if (event.question, event.model, event.repeat) == division[0].cell)
    assert streamed == division[0].text
    assert [event.answer for event in events if event.answer] != []


def test_a_killed_grid_continues_with_the_answers_it_has(server, remote):
    options = GridOptions(repeats=2)
    grid = AnswerGrid(QUESTIONS, [remote], options)

    def interrupt(event):
        if event.answer and event.answer.repeat == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grid.run(interrupt)
    done = len(server.requests)
    again = AnswerGrid(QUESTIONS, [remote], options)
    assert again.folder == grid.folder
    assert 0 < len(again.missing()) < 4
    missing = len(again.missing())
    again.run()
    assert again.missing() == []
    assert len(server.requests) == done + missing
    other = AnswerGrid(QUESTIONS, [remote], GridOptions(repeats=2, temperature=0))
    assert other.folder != grid.folder, "another grid has another folder"
    with refused(GlasshouseError, "temperature"):
        AnswerGrid(QUESTIONS, [remote], GridOptions(repeats=2, temperature=0), grid.folder)


def test_a_broken_stream_is_asked_again(server, remote):
    server.script = ["broken", (429, {}), "broken"]
    grid = AnswerGrid(QUESTIONS[:1], [remote], GridOptions(repeats=1))
    grid.run()
    assert [answer.text for answer in grid.answers] == ["It is 2.96, about."]
    assert len(server.requests) == 4


def test_a_model_that_fails_does_not_stop_the_others(server, remote, tiny_run):
    server.script = [(401, {})]
    local = ModelEntry("tiny", "run", str(tiny_run), Path())
    grid = AnswerGrid(QUESTIONS, [remote, local], GridOptions(max_tokens=4, repeats=2), device="cpu")
    grid.run()
    assert {answer.model for answer in grid.answers} == {"tiny"}
    assert isinstance(grid.failed["remote"], GlasshouseError)
    grid.run()
    assert grid.failed == {}
    assert grid.missing() == []


def test_a_bug_is_raised_where_the_grid_was_called(server, remote, monkeypatch):
    def bug(question, text):
        raise ZeroDivisionError

    monkeypatch.setattr("glasshouse.llms.questions.PromptQuestion.fault", bug)
    with pytest.raises(ZeroDivisionError):
        AnswerGrid(QUESTIONS, [remote], GridOptions()).run()


def test_seeds_depend_on_everything_that_is_asked():
    seeds = {answer_seed(s, q, m, r) for s in (0, 1) for q in "ab" for m in "ab" for r in range(50)}
    assert len(seeds) == 400
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_folder_with_anything_else_is_refused(remote, tmp_path):
    grid = AnswerGrid(QUESTIONS, [remote], GridOptions(), tmp_path / "g")
    file = tmp_path / "file.txt"
    file.write_text("x")
    for folder in (tmp_path, file):
        with refused(GlasshouseError, str(folder)):
            AnswerGrid(QUESTIONS, [remote], GridOptions(), folder)
    with refused(GlasshouseError, "questions", "--output"):
        AnswerGrid(QUESTIONS[:1], [remote], GridOptions(), grid.folder)
    (grid.folder / "grid.json").write_text("{")
    with refused(GlasshouseError, "grid.json"):
        AnswerGrid(QUESTIONS, [remote], GridOptions(), grid.folder)


def test_mistakes_are_refused(remote):
    with refused(GlasshouseError, "--models"):
        AnswerGrid(QUESTIONS, [], GridOptions())
    with refused(GlasshouseError, "'remote' twice"):
        AnswerGrid(QUESTIONS, [remote, remote], GridOptions())
    with refused(GlasshouseError, "repeats=0"):
        GridOptions(repeats=0)
    with refused(GlasshouseError, "temperature"):
        GridOptions(temperature=-1)
