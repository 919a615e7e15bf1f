"""Few-shot classification: prompts fit into the context, scores equal their definition, and calibration removes a bias."""

from pathlib import Path

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.api import experiments
from glasshouse.inspection import few_shot
from glasshouse.inspection.few_shot import TEMPLATE, Template
from glasshouse.inspection.labelled_texts import LabelledTexts
from glasshouse.specs.errors import DataError, GlasshouseError
from tests.refusals import refused

WORDS = {"fruit": ["apple", "pear", "plum"], "big tool": ["saw", "drill", "rasp"]}
TINY: dict[str, dict[str, object]] = {
    "data": {"vocabulary": 300, "context": 48},
    "model": {"width": 32, "layers": 1, "heads": 2},
    "training": {"steps": 4, "batch": 8, "threads": 1, "precision": "fp32", "learning_rate": 1e-2},
    "evaluation": {"sample_tokens": 2, "every": 100},
}


def labelled_texts(count, seed):
    generator = np.random.default_rng(seed)
    labels = [list(WORDS)[generator.integers(2)] for _ in range(count)]
    return LabelledTexts(tuple(" ".join(generator.choice(WORDS[label], 2)) for label in labels), tuple(labels))


def train_language_model(name="lm", count=150, **changes):
    """A language model of labelled examples in the form of the template."""
    examples = labelled_texts(count, seed=1)
    text = "".join(Template(TEMPLATE).example(*pair) for pair in zip(examples.texts, examples.labels, strict=True))
    Path(f"{name}.txt").write_text(text)
    sections = {section: {**fields, **changes.get(section, {})} for section, fields in TINY.items()}
    sections["data"]["files"] = [f"{name}.txt"]
    return glasshouse.train("language-model", name=name, device="cpu", **sections)


SPLITS = {"train": labelled_texts(40, 2), "validation": labelled_texts(0, 3), "test": labelled_texts(30, 4)}


def test_query_and_answer_together_are_the_example():
    template = Template(TEMPLATE)
    whole = template.example("a {label} b", "yes")
    assert whole == "Text: a {label} b\nLabel: yes\n\n"
    assert template.query("a {label} b") + template.answer("yes") == whole.rstrip("\n")
    assert template.query("x").endswith("Label:")
    for text in ("{text}", "{label} {text}", "{text} {label} {label}"):
        with refused(GlasshouseError, text):
            Template(text)


def test_scores_are_sums_of_log_probabilities():
    run = train_language_model()
    template, labels = Template(TEMPLATE), ("big tool", "fruit", "fruits")
    label_tokens = few_shot._tokenize_labels(run, template, labels)
    assert len({len(tokens) for tokens in label_tokens}) > 1
    writer = few_shot._PromptWriter(run, template, max(map(len, label_tokens)))
    shown = [template.example("saw saw", "big tool")]
    prompts = [writer.write(shown, text) for text in ("apple", "rasp drill saw")]
    scores = few_shot._score_labels(run, prompts, label_tokens)
    for row, prompt in enumerate(prompts):
        assert run.tokenizer.decode(prompt.tokens[1:]).endswith("Label:")
        assert prompt.tokens[0] == run.tokenizer.end_of_text
        for column, tokens in enumerate(label_tokens):
            with torch.inference_mode():
                log_probabilities = run.model(torch.tensor([[*prompt.tokens, *tokens]])).log_softmax(-1)[0]
            positions = range(len(prompt.tokens) - 1, len(prompt.tokens) + len(tokens) - 1)
            expected = sum(float(log_probabilities[pair]) for pair in zip(positions, tokens, strict=True))
            assert scores[row, column] == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_a_model_that_knows_the_template_beats_the_most_frequent_class(tmp_path):
    run = train_language_model(count=400, training={"steps": 200})
    result = few_shot.measure(run, SPLITS, shots=(0, 1), draws=2)
    assert [each.shots for each in result.by_shots] == [0, 1]
    assert result.by_shots[0].mean > 0.9 > result.majority
    assert result.split == "test"
    again = few_shot.measure(run, SPLITS, shots=(0, 1), draws=2)
    assert result == again
    rows = [f"{label}\t{text}" for split in SPLITS.values() for text, label in zip(split.texts, split.labels, strict=True)]
    (tmp_path / "rows.tsv").write_text("\n".join(rows) + "\n")
    data, picture = str(tmp_path / "rows.tsv"), tmp_path / "shots.svg"
    experiments.few_shot(run, data, shots=(0, 1), draws=2, output=picture, device="cpu")
    assert "most frequent class" in picture.read_text()


def test_truncated_prompts_are_counted_and_draws_have_an_interval():
    run = train_language_model()
    reports: list = []
    result = few_shot.measure(run, SPLITS, shots=(0, 2, 8), examples=10, draws=3, progress=reports.append)
    none, two, eight = result.by_shots
    assert (none.prompts, two.prompts, eight.prompts) == (10, 30, 30)
    assert len(none.accuracies) == 1
    assert (none.low, none.mean, none.high) == (none.mean,) * 3
    assert none.cut == 0
    assert eight.cut == 30
    assert eight.shown < 8
    assert two.low <= two.mean <= two.high
    assert result.texts == 10
    assert reports == sorted(reports)
    assert reports[-1] == 1.0
    long = {**SPLITS, "test": LabelledTexts(("saw " * 200, "plum"), ("big tool", "fruit"))}
    assert few_shot.measure(run, long, shots=(0,)).by_shots[0].cut == 1


def test_calibration_removes_the_score_of_a_label_after_an_empty_text(monkeypatch):
    run = train_language_model()
    empty = few_shot._PromptWriter(run, Template(TEMPLATE), 4).write([], "").tokens

    def biased(run, prompts, label_tokens, progress=None):
        """The second label is always likelier; its advantage is smaller if it is wrong."""
        rows = [
            [0.0, 5.0] if p.tokens == empty else [0.0, 4.0 + 2 * ("apple" in run.tokenizer.decode(p.tokens))]
            for p in prompts
        ]
        return np.array(rows)

    monkeypatch.setattr(few_shot, "_score_labels", biased)
    splits = {**SPLITS, "test": LabelledTexts(("apple", "saw"), ("fruit", "big tool"))}
    plain, calibrated = (few_shot.measure(run, splits, shots=(0,), calibrate=each) for each in (False, True))
    assert plain.by_shots[0].mean == 0.5
    assert calibrated.by_shots[0].mean == 1.0


def test_impossible_options_and_labels_are_refused():
    run = train_language_model()
    for shots, draws in (((-1,), 1), ((99,), 1), ((), 1), ((1,), 0)):
        with refused(GlasshouseError, "40"):
            few_shot.measure(run, SPLITS, shots=shots, draws=draws)
    with refused(GlasshouseError):
        few_shot.measure(run, {**SPLITS, "test": labelled_texts(0, 0)})
    long = LabelledTexts(("a", "b"), ("x " * 60, "y"))
    with refused(DataError):
        few_shot.measure(run, {**SPLITS, "test": long})
    words = train_language_model("words", data={"tokenizer": "words", "vocabulary": 60})
    with refused(DataError):
        few_shot.measure(words, {**SPLITS, "test": LabelledTexts(("a", "b"), ("never", "ever"))})
