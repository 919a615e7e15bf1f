"""Public functions for experiments on language models behind an API."""

import hashlib
import json
from os import PathLike
from pathlib import Path

import numpy as np

from glasshouse.llms.distribution_recovery import Recovered, Recovery
from glasshouse.llms.next_token_api import RunAPI
from glasshouse.records import atomic_files, progress_bar
from glasshouse.runs.run import Run


def open_recovery(
    model: str,
    prompt: str,
    top: int = 20,
    method: str | None = None,
    decimals: int | None = None,
    before_bias: bool = False,
    journal: str | PathLike[str] | None = None,
    device: str = "auto",
) -> Recovery:
    """A recovery of the next token's distribution after a prompt, from what an API would show of a run (`run:NAME`).

    The API shows `top` log-probabilities, rounded to `decimals`, after or before the bias. Answers are kept in `journal`, by
    default in the run's folder, so that `recover` continues after a kill.
    """
    run = Run(model.removeprefix("run:"), device)
    api = RunAPI(run, prompt, after_bias=not before_bias, decimals=decimals, most_top=top, shows_sampled=before_bias)
    if journal is None:
        digest = hashlib.blake2b(json.dumps([prompt, api.shows]).encode(), digest_size=4).hexdigest()
        journal = run.folder.path / f"recovery-{digest}.jsonl"
    return Recovery(api, prompt, top, method, Path(journal))


def recover(recovery: Recovery) -> Recovered:
    """Ask what is left to ask, and return the probability of every token with its error."""
    with progress_bar.bar("asking") as bar:
        return recovery.run(bar)


def recovery_error(recovery: Recovery, found: Recovered) -> float:
    """The largest error of a recovered log-probability, for an API whose logits are known."""
    assert isinstance(recovery.api, RunAPI)
    present = np.isfinite(found.log_probabilities)
    return float(np.abs(found.log_probabilities - recovery.api.log_probabilities)[present].max())


def write_recovered(recovery: Recovery, found: Recovered, path: str | PathLike[str]) -> Path:
    """Write the log-probability of every token and its error to a JSON file."""
    missing = ~np.isfinite(found.log_probabilities)
    rows = [
        {
            "token": token,
            "text": recovery.api.token_text(token),
            "log_probability": None if missing[token] else float(found.log_probabilities[token]),
            "error": float(found.errors[token]),
        }
        for token in range(recovery.api.vocabulary)
    ]
    content = {"model": recovery.api.name, "prompt": recovery.prompt, "method": found.method, "calls": found.calls}
    atomic_files.write_json(Path(path), {**content, "tokens": rows})
    return Path(path)
