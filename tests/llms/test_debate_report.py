"""What a debate came to: the short table, the file of measures, the page."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from glasshouse.llms.contradictions import NegationTest
from glasshouse.llms.debate_judge import JudgedPair, pairs, summarise
from glasshouse.llms.debate_measures import measure
from glasshouse.llms.debate_report import DebateResult
from glasshouse.llms.debate_rounds import DebateOptions, DebatePoint
from glasshouse.metrics.text_overlap import repeated_words, word_places
from glasshouse.pages import debate_page
from glasshouse.pages.debate_page import PHRASE, marked_pieces
from tests.llms.scripted_models import TOPIC, points_of
from tests.pages.html_outline import Outline, assert_self_contained

SAFE, UNSAFE = "Self-driving cars are safe at night.", "Self-driving cars are not safe at night."


def result_of(points: list[DebatePoint], folder: Path, **options: object) -> DebateResult:
    settings = DebateOptions(TOPIC, ("a", "b"), **options)
    test = NegationTest(TOPIC)
    judged = [JudgedPair(first, second, "A", "B") for first, second in pairs(points)]
    found = measure(settings, points, test)
    return DebateResult(settings, tuple(points), tuple(found), test.method, summarise("j", judged), folder)


def test_the_page_shows_repeated_phrases_contradictions_and_drift(tmp_path: Path) -> None:
    points = [*points_of("a", [SAFE, SAFE], [UNSAFE, "Planes are loud."]), *points_of("b", ["", "Cars."], ["No."])]
    result = result_of(points, tmp_path)
    page = debate_page.render(result)
    outline = Outline(page)
    assert_self_contained(page, outline)
    assert f"<mark>{SAFE[:-1]}</mark>" in page
    assert "repeats point 1 for in round 1 (overlap 1.00)" in page
    assert "contradicts point 1 against in round 1" in page
    assert page.count("names no word of the topic") == 2
    assert "a rough stand-in" in outline.text
    assert "b: 1 of 3 points have no words and are left out." in outline.text
    # Three points of b stand opposite a point of a; one is empty.
    assert "j judged 2 pairs of arguments, each in both orders: 4 of 4 verdicts could be read." in outline.text


def test_the_table_and_the_file_have_the_same_values(tmp_path: Path) -> None:
    points = [
        *points_of("a", [SAFE, SAFE], [UNSAFE]),
        *points_of("b", ["Cars."], ["Cars."]),
        *points_of("a", ["Uniforms."], topic="school uniforms"),
    ]
    result = result_of(points, tmp_path, control_topic="school uniforms")
    result.write_measures()
    columns, rows = result.table
    assert columns == ("model", "points", "repetition", "contradiction", "off the topic", "topic words", "wins")
    assert rows[0] == ("a", "3", "1.000 (0.000)", "100 % (0 %)", "0 % (100 %)", "100 % (0 %)", "100 %")
    assert rows[1] == ("b", "2", "–", "0 %", "0 %", "33 %", "0 %")
    content = json.loads((tmp_path / "measures.json").read_text())
    assert content["models"]["a"]["measures"]["contradiction"]["value"]["value"] == 1
    assert content["models"]["b"]["measures"]["repetition"]["value"]["value"] is None
    assert content["judge"]["wins"]["a"] == {"value": 1, "low": None, "high": None, "count": 2}
    assert set(content["definitions"]) >= set(content["models"]["a"]["measures"])


@given(st.text("ab, ", max_size=60), st.lists(st.text("ab, ", max_size=60), max_size=2))
def test_pieces_make_the_text_and_mark_the_words(text: str, others: list[str]) -> None:
    pieces = marked_pieces(text, others)
    assert "".join(piece for piece, _ in pieces) == text
    found = [word for piece, marked in pieces if marked for word, _, _ in word_places(piece)]
    marked = repeated_words(text, others, PHRASE)
    assert found == [word for (word, _, _), repeated in zip(word_places(text), marked, strict=True) if repeated]
