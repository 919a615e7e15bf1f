"""Suggested commands: they work without editing, and repeat the words of the user."""

import shlex

import glasshouse
from glasshouse.runs import resolve_spec, suggestions
from tests.training.small_runs import train_demo


def test_suggestions_work_without_editing(text):
    run = train_demo(text, 'evaluation.prompts=["The state, of", "b"]')
    assert run.spec.evaluation.prompts == ("The state, of", "b")
    last = shlex.split(suggestions.commands(run)[-1])
    assert last[:2] == ["glasshouse", "train"]
    assert "spec.toml" not in last[2], "the words of the user, not the file of the run"
    assert 'evaluation.prompts=["The state, of", "b"]' in last
    again = glasshouse.train(*last[2:], name="again", device="cpu")
    assert again.spec.model.position == "learned"
    assert again.spec == resolve_spec.run_spec(*last[2:])
    assert last[-1] == "model.position=learned"
    # What the user chose by name is put beside what the recipe has, and the last word for a field counts.
    compare, train = (shlex.split(command) for command in suggestions.commands(again)[-2:])
    assert compare[1:3] == ["compare", last[2]]
    assert compare[-3:] == ["model.position=rotary,learned", "--seeds", "4"]
    assert train[-1] == "model.position=rotary"
    assert "model.position=learned" not in train
    again.folder.record(asked=[])
    assert suggestions.commands(again)[-1].endswith("spec.toml model.position=rotary")
    assert all(" compare " not in command for command in suggestions.commands(again))


def test_the_words_of_python_are_those_of_the_command_line():
    words = resolve_spec.words_of(
        "demo-lm", "lr=1e-3", model={"position": "alibi", "head": {"hidden": 8}}, data={"files": ["a"]}
    )
    assert words == ["demo-lm", "lr=1e-3", "model.position=alibi", "model.head.hidden=8", "data.files=[a]"]
