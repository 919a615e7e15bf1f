"""Contradictions: what the rough stand-in finds and does not, and what an entailment model is asked."""

import pytest

from glasshouse.llms.contradictions import EntailmentTest, NegationTest, clauses, sentences

TOPIC = "self-driving cars"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Self-driving cars are safe.", "Self-driving cars are not safe."),
        ("They're safe on ice", "They aren't safe on ice."),
        ("Self-driving cars are safe.", "I like trams. Self-driving cars are unsafe!"),
        ("They cause more accidents.", "They cause fewer accidents."),
        ("They reduce traffic.", "They increase traffic, and that is bad."),
        ("Computers never get tired, so roads get safer.", "Computers get tired."),
        ("They are cheap.", "They are expensive."),
    ],
)
def test_a_denial_is_found_in_both_orders(first: str, second: str) -> None:
    found = NegationTest(TOPIC).denials([(first, second), (second, first)])
    assert None not in found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Self-driving cars are safe.", "Self-driving cars are safe."),
        ("Self-driving cars are not safe.", "Self-driving cars are not safe."),
        # The words of the topic are no overlap.
        ("Self-driving cars save lives.", "Self-driving cars do not obey."),
        # Two negations cancel out.
        ("They are safe.", "They are not unsafe."),
        ("They understand signs.", "They stand under signs."),
        ("", "They are not safe."),
    ],
)
def test_no_denial_where_there_is_none(first: str, second: str) -> None:
    assert NegationTest(TOPIC).denials([(first, second), (second, first)]) == [None, None]


def test_sentences_and_clauses() -> None:
    assert sentences("One. Two!  Three? 3.5 is four\nfive") == ["One.", "Two!", "Three?", "3.5 is four", "five"]
    assert clauses("It is safe because I say so, and it is cheap.") == ["It is safe", "I say so", "and it is cheap"]


class KnownJudge:
    """Contradiction if exactly one of two sentences says "not"."""

    class run:
        name = "known"

    def unknown_share(self, texts):
        return 0.5

    def probabilities(self, premises, hypotheses):
        import numpy as np

        denied = [("not" in a.split()) != ("not" in b.split()) for a, b in zip(premises, hypotheses, strict=True)]
        # entailment, neutral, contradiction
        return np.array([[0.1, 0.1, 0.8] if one else [0.1, 0.8, 0.1] for one in denied]).reshape(-1, 3)


def test_an_entailment_model_compares_sentences_and_warns_of_unknown_words() -> None:
    test = EntailmentTest(KnownJudge())
    found = test.denials([("A b. C d.", "E f. C not d."), ("A.", "B."), ("", "not")])
    assert found[0] is not None
    assert (found[0].first, found[0].second) == ("A b.", "C not d.")
    assert found[1:] == [None, None]
    assert "50%" in test.warning
