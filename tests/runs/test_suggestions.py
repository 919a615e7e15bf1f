"""Suggested commands: they work without editing."""

import glasshouse
from glasshouse.runs import suggestions
from tests.training.small_runs import train_demo


def test_suggestions_work_without_editing(text):
    run = train_demo(text, 'evaluation.prompts=["The state, of", "b"]')
    assert run.spec.evaluation.prompts == ("The state, of", "b")
    last = suggestions.commands(run)[-1].split()
    assert last[:2] == ["glasshouse", "train"]
    again = glasshouse.train(*last[2:], name="again", device="cpu")
    assert again.spec.model.position == "learned"
    assert "model.position=rotary" in suggestions.commands(again)[-1]
