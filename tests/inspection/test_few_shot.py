"""Few-shot classification: prompts that fit, scores equal to their definition, calibration, and what is counted."""

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.inspection import few_shot
from glasshouse.inspection.few_shot import TEMPLATE, Template
from glasshouse.inspection.labelled_texts import Labelled
from tests.refusals import refused

WORDS = {"fruit": ["apple", "pear", "plum"], "big tool": ["saw", "drill", "rasp"]}
TINY = {
    "data": {"vocabulary": 300, "context": 48},
    "model": {"width": 32, "layers": 1, "heads": 2},
    "training": {"steps": 4, "batch": 8, "threads": 1, "precision": "fp32", "learning_rate": 1e-2},
    "evaluation": {"sample_tokens": 2, "every": 100},
}


def texts(count, seed):
    chance = np.random.default_rng(seed)
    labels = [list(WORDS)[chance.integers(2)] for _ in range(count)]
    return Labelled(tuple(" ".join(chance.choice(WORDS[label], 2)) for label in labels), tuple(labels))


def model(name="lm", count=150, **changes):
    from pathlib import Path

    known = texts(count, seed=1)
    written = "".join(Template(TEMPLATE).example(*pair) for pair in zip(known.texts, known.labels, strict=True))
    Path(f"{name}.txt").write_text(written)
    tables = {section: {**table, **changes.get(section, {})} for section, table in TINY.items()}
    tables["data"]["files"] = [f"{name}.txt"]
    return glasshouse.train("language-model", name=name, device="cpu", **tables)


SPLITS = {"train": texts(40, 2), "validation": texts(0, 3), "test": texts(30, 4)}


def test_a_template_is_written_so_that_its_parts_are_the_whole():
    form = Template(TEMPLATE)
    whole = form.example("a {label} b", "yes")
    assert whole == "Text: a {label} b\nLabel: yes\n\n"
    assert form.query("a {label} b") + form.answer("yes") == whole.rstrip("\n")
    assert form.query("x").endswith("Label:")
    for text in ("{text}", "{label} {text}", "{text} {label} {label}"):
        with refused("bad-template", text):
            Template(text)


def test_scores_are_sums_of_log_probabilities():
    run = model()
    form, labels = Template(TEMPLATE), ("big tool", "fruit", "fruits")
    answers = few_shot._answers(run, form, labels)
    assert len({len(answer) for answer in answers}) > 1
    prompter = few_shot._Prompter(run, form, max(map(len, answers)))
    shown = [form.example("saw saw", "big tool")]
    prompts = [prompter.prompt(shown, text) for text in ("apple", "rasp drill saw")]
    scores = few_shot._scores(run, prompts, answers)
    for row, prompt in enumerate(prompts):
        assert run.tokenizer.decode(prompt.tokens[1:]).endswith("Label:")
        assert prompt.tokens[0] == run.tokenizer.end_of_text
        for column, answer in enumerate(answers):
            with torch.inference_mode():
                likely = run.model(torch.tensor([[*prompt.tokens, *answer]])).log_softmax(-1)[0]
            places = range(len(prompt.tokens) - 1, len(prompt.tokens) + len(answer) - 1)
            expected = sum(float(likely[place, token]) for place, token in zip(places, answer, strict=True))
            assert scores[row, column] == pytest.approx(expected, abs=1e-4)


def test_a_model_that_knows_the_form_beats_the_commonest(tmp_path):
    run = model(count=400, training={"steps": 200})
    found = few_shot.measure(run, SPLITS, shots=(0, 1), draws=2)
    assert [each.shots for each in found.by_shots] == [0, 1]
    assert found.by_shots[0].mean > 0.9 > found.majority
    assert found.split == "test"
    again = few_shot.measure(run, SPLITS, shots=(0, 1), draws=2)
    assert found == again
    few_shot.draw(found, tmp_path / "shots.svg")
    assert "always the commonest" in (tmp_path / "shots.svg").read_text()


def test_what_does_not_fit_is_counted_and_draws_have_an_interval():
    run = model()
    seen = []
    found = few_shot.measure(run, SPLITS, shots=(0, 2, 8), examples=10, draws=3, progress=seen.append)
    none, two, eight = found.by_shots
    assert (none.prompts, two.prompts, eight.prompts) == (10, 30, 30)
    assert len(none.accuracies) == 1
    assert (none.low, none.mean, none.high) == (none.mean,) * 3
    assert none.cut == 0
    assert eight.cut == 30
    assert eight.shown < 8
    assert two.low <= two.mean <= two.high
    assert found.texts == 10
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    long = {**SPLITS, "test": Labelled(("saw " * 200, "plum"), ("big tool", "fruit"))}
    assert few_shot.measure(run, long, shots=(0,)).by_shots[0].cut == 1


def test_calibration_takes_away_what_a_label_has_without_the_text(monkeypatch):
    run = model()
    form = Template(TEMPLATE)
    empty = few_shot._Prompter(run, form, 4).prompt([], "").tokens

    def biased(run, prompts, answers, progress=None):
        """The second label is always likelier; with a text, a little less so where it is wrong."""
        rows = [
            [0.0, 5.0] if p.tokens == empty else [0.0, 4.0 + 2 * ("apple" in run.tokenizer.decode(p.tokens))]
            for p in prompts
        ]
        return np.array(rows)

    monkeypatch.setattr(few_shot, "_scores", biased)
    splits = {**SPLITS, "test": Labelled(("apple", "saw"), ("fruit", "big tool"))}
    plain, calibrated = (few_shot.measure(run, splits, shots=(0,), calibrate=each) for each in (False, True))
    assert plain.by_shots[0].mean == 0.5
    assert calibrated.by_shots[0].mean == 1.0


def test_what_cannot_be_asked_is_refused():
    run = model()
    for shots, draws in (((-1,), 1), ((99,), 1), ((), 1), ((1,), 0)):
        with refused("bad-shots", "40"):
            few_shot.measure(run, SPLITS, shots=shots, draws=draws)
    with refused("nothing-held-out"):
        few_shot.measure(run, {**SPLITS, "test": texts(0, 0)})
    long = Labelled(("a", "b"), ("x " * 60, "y"))
    with refused("label-too-long"):
        few_shot.measure(run, {**SPLITS, "test": long})
    words = model("words", data={"tokenizer": "words", "vocabulary": 60})
    with refused("labels-alike"):
        few_shot.measure(words, {**SPLITS, "test": Labelled(("a", "b"), ("never", "ever"))})
