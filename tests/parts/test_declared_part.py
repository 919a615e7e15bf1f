"""A part with settings of its own is one file and one catalogue line: it trains, is recorded, exported and certified.

The part is stochastic depth (Huang et al., Deep Networks with Stochastic Depth, 2016): a connection that drops whole parts
in training. Outside training it computes the same as `pre-norm`, which `exports_as` declares.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from glasshouse import models
from glasshouse.certificates import checks
from glasshouse.interop import huggingface
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.specs.spec_files import model_spec
from tests import needs
from tests.cli.program import call, refused, some_text, train_on_file, worked
from tests.how_to.installed import installed
from tests.how_to.page import Page, blocks_of

PART = '''
```python title="stochastic_depth.py"
"""Stochastic depth (Huang et al., Deep Networks with Stochastic Depth, 2016)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from glasshouse.parts.connection import Connection
from glasshouse.specs.spec_fields import setting


class StochasticDepth(Connection):
    """x + part(norm(x)) z / (1 - r), where z is 0 with probability r. Outside training it is x + part(norm(x))."""

    exports_as: ClassVar[str] = "pre-norm"

    @dataclass(frozen=True)
    class Settings:
        drop_rate: float = setting(0.0, "probability of dropping a part in training", minimum=0.0, maximum=0.9)
        drop_mode: str = setting("batch", "draw once for each of these", choices=("batch", "row"))

    def __init__(self, norm: nn.Module, dropout: float, drop_rate: float, drop_mode: str) -> None:
        super().__init__(norm, dropout)
        # Certificates switch off every nn.Dropout, because they compare gradients.
        self.keep, self.mode = nn.Dropout(drop_rate), drop_mode

    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        change = self.dropout(part(self.norm(x)))
        return x + change * self.keep(x.new_ones(len(x) if self.mode == "row" else 1, 1, 1))
```

```toml title="pyproject.toml"
[project.entry-points."glasshouse.connection"]
stochastic-depth = "stochastic_depth:StochasticDepth"
```
'''
CHOICE = ("model.connection=stochastic-depth", "model.drop_rate=0.5", "model.drop_mode=row")


@pytest.fixture(autouse=True)
def _part(tmp_path: Path) -> Iterator[None]:
    """The part is installed, and `text.txt` is a text to train on."""
    Path("text.txt").write_text(some_text())
    with installed(Page("stochastic-depth", blocks_of(PART)), tmp_path / "site"):
        yield


@pytest.fixture
def trained(runs: Path) -> Path:
    """A run with the part, trained from the command line."""
    worked(train_on_file("text.txt", *CHOICE))
    return runs / "tiny"


def test_the_settings_are_in_the_spec_of_the_run(trained: Path) -> None:
    model = tomllib.loads((trained / "spec.toml").read_text())["model"]
    assert (model["connection"], model["drop_rate"], model["drop_mode"]) == ("stochastic-depth", 0.5, "row")
    connection = Run(trained, "cpu").model.blocks[0].attention_connection
    assert (connection.keep.p, connection.mode) == (0.5, "row")
    rows = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["step"] == 2


def test_a_default_is_recorded_too(runs: Path) -> None:
    worked(train_on_file("text.txt", CHOICE[0]))
    model = tomllib.loads((runs / "tiny" / "spec.toml").read_text())["model"]
    assert (model["drop_rate"], model["drop_mode"]) == (0.0, "batch")


def test_the_settings_are_listed_with_the_part() -> None:
    listed = worked(call("parts", "connection")).out
    assert "model.connection=stochastic-depth" in listed
    assert "model.drop_rate = 0.0: probability of dropping a part in training" in listed


@pytest.mark.parametrize(
    ("overrides", "code", "values"),
    [
        ((CHOICE[0], "model.drop_rate=0.95"), GlasshouseError, ("model.drop_rate=0.95", "0.9")),
        ((CHOICE[0], "model.drop_rate=often"), GlasshouseError, ("model.drop_rate='often'",)),
        ((CHOICE[0], "model.drop_mode=rows"), GlasshouseError, ("model.drop_mode='rows'", "batch, row")),
        (("model.drop_rate=0.5",), SpecError, ("model.drop_rate", "model.connection=stochastic-depth")),
    ],
    ids=["too large", "no number", "no such mode", "another connection"],
)
def test_a_wrong_value_is_refused(overrides, code, values, runs: Path) -> None:
    refused(train_on_file("text.txt", *overrides), code, *values)
    assert not runs.exists()


@pytest.mark.parametrize("mode", ["row", "batch"])
def test_training_drops_whole_rows_or_the_whole_batch(mode: str) -> None:
    settings = {"connection": "stochastic-depth", "drop_rate": 0.5, "drop_mode": mode}
    model = models.build(model_spec(width=16, layers=1, heads=2, **settings), vocabulary=30, context=8)
    connection = model.blocks[0].attention_connection
    x = torch.zeros(64, 8, 16)
    torch.manual_seed(0)
    outputs = torch.stack([connection.train()(x, torch.ones_like) for _ in range(16)])
    assert set(outputs.unique().tolist()) == {0.0, 2.0}, "a kept part is scaled, so that the mean stays the same"
    assert torch.equal(outputs, outputs[:, :, :1, :1].expand_as(outputs)), "a row is kept or dropped as a whole"
    assert bool((outputs == outputs[:, :1]).all()) is (mode == "batch")
    assert torch.equal(connection.eval()(x, torch.ones_like), torch.ones_like(x))


def test_an_export_is_a_pre_norm_model(trained: Path, tmp_path: Path) -> None:
    worked(call("export", "tiny", "--to", "huggingface", "--output", str(tmp_path / "exported")))
    imported = huggingface.read(tmp_path / "exported")
    assert imported.model.connection == "pre-norm"
    assert "drop_rate" not in imported.model.own


def test_a_gguf_file_too(trained: Path, tmp_path: Path) -> None:
    needs.package("gguf")
    worked(call("export", "tiny", "--to", "gguf", "--output", str(tmp_path / "exported.gguf")))
    assert (tmp_path / "exported.gguf").stat().st_size > 1000


def test_it_is_certified(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.package("transformers")
    # Compiling takes longest by far, and no part is special there.
    monkeypatch.setattr(
        checks, "CHECKS", {name: check for name, check in checks.CHECKS.items() if name != "compiled against eager"}
    )
    rows = {
        row["name"]: row["passed"] for row in json.loads(worked(call("certify", "tiny", "--device", "cpu", "--json")).out)
    }
    assert False not in rows.values(), rows
    for name in ("cache against full", "gradient accumulation", "resumed against uninterrupted", "Hugging Face round trip"):
        assert rows[name], rows
