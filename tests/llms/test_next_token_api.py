"""An API over logits that are known: what it shows, and that a run is shown as it is."""

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.llms.next_token_api import LogitsAPI, RunAPI

LOGITS = np.log([0.5, 0.3, 0.15, 0.05])


def test_the_top_is_shown_after_or_before_the_bias():
    (first, highest), (second, next_highest) = LogitsAPI(LOGITS, most_top=2).ask("", 5, {}).top
    assert (first, second) == (0, 1)
    assert (highest, next_highest) == pytest.approx((np.log(0.5), np.log(0.3)))
    biased = LogitsAPI(LOGITS, most_top=1).ask("", 5, {3: np.log(20)})
    assert biased.token == 3
    assert biased.top[0] == pytest.approx((3, np.log(1 / 1.95)))
    raw = LogitsAPI(LOGITS, most_top=1, after_bias=False, shows_sampled=True).ask("", 5, {3: 100.0})
    assert (raw.token, raw.top[0][0]) == (3, 0)
    assert raw.log_probability == pytest.approx(np.log(0.05))


def test_digits_are_those_of_the_format():
    assert LogitsAPI(LOGITS, decimals=2).ask("", 1, {}).top == ((0, -0.69),)
    value = LogitsAPI(LOGITS, dtype=np.float32).ask("", 1, {}).top[0][1]
    assert value == float(np.float32(np.log(0.5)))


def test_a_run_is_shown_with_its_own_probabilities(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat. " * 40)
    sizes = {"width": 16, "layers": 1, "heads": 2}
    training = {"steps": 2, "batch": 4, "threads": 1, "precision": "fp32"}
    data = {"files": [str(text)], "tokenizer": "characters", "vocabulary": 64, "context": 24}
    run = glasshouse.train(
        "language-model", name="tiny", device="cpu", data=data, model=sizes, training=training, evaluation={"every": 2}
    )
    ids = torch.tensor([run.new_completion("the c").prompt_tokens])
    with torch.no_grad():
        known = run.model(ids)[0, -1, : run.tokenizer.vocabulary].double().log_softmax(-1)
    api = RunAPI(run, "the c", most_top=5)
    for token, value in api.ask("the c", 5, {}).top:
        assert value == pytest.approx(float(known[token]), abs=1e-5)
    recovery = glasshouse.llms.open_recovery("run:tiny", "the c", top=3, device="cpu")
    found = glasshouse.llms.recover(recovery)
    assert glasshouse.llms.recovery_error(recovery, found) < 1e-3
    assert (run.folder.path / recovery.journal.path).exists()
    assert api.shows.endswith("after step 2"), "a run that is trained further has another journal"
