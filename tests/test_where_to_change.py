"""The table "Where do I change ...?" of docs/architecture.md is true: each change is made in a copy, in files of its row."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TINY = (
    *("data.vocabulary=300", "data.context=16", "model.width=16", "model.layers=1", "model.heads=2"),
    *("model.feed_forward=32", "training.steps=2", "training.batch=4", "training.threads=1", "training.precision=fp32"),
)


@dataclass(frozen=True)
class Change:
    """`row` is the first cell of the row, `edits` are file -> (old, new) texts, and `proof` is a program that sees it.

    In the proof, `TINY` are the words for a very small run. `new` are the texts of new files.
    """

    row: str
    edits: dict[str, tuple[tuple[str, str], ...]]
    proof: str
    new: dict[str, str] = field(default_factory=dict)


CHANGES = {
    "norm": Change(
        "a norm",
        {
            "src/glasshouse/parts/normalisation.py": (
                (
                    "class NoNorm(",
                    "class ScaleNorm(nn.Module):\n"
                    '    """x / |x| * gain, with one gain for all features."""\n\n'
                    "    def __init__(self, width: int) -> None:\n"
                    "        super().__init__()\n"
                    "        self.gain = nn.Parameter(Tensor([width**0.5]))\n\n"
                    "    def forward(self, x: Tensor) -> Tensor:\n"
                    "        return self.gain * x / x.norm(dim=-1, keepdim=True).clamp(min=EPSILON)\n\n\n"
                    "class NoNorm(",
                ),
            ),
            "pyproject.toml": (
                (
                    'layer = "glasshouse.parts.normalisation:LayerNorm"\n',
                    'layer = "glasshouse.parts.normalisation:LayerNorm"\n'
                    'scale = "glasshouse.parts.normalisation:ScaleNorm"\n',
                ),
            ),
        },
        """
        run = glasshouse.train("demo-lm", *TINY, "model.norm=scale", device="cpu")
        assert "ScaleNorm" in repr(run.model), run.model
        """,
    ),
    "metric": Change(
        "a metric of classification",
        {
            "src/glasshouse/metrics/classification.py": (
                (
                    "EXAMPLES = metric",
                    'ERRORS = metric.Metric("errors", "errors", "{:.0f}", better="lower").of(\n'
                    "    lambda classes: float((1 - classes.right).sum())\n"
                    ")\n"
                    "EXAMPLES = metric",
                ),
            ),
            "src/glasshouse/tasks/classify.py": (
                ("import ACCURACY, EXAMPLES", "import ACCURACY, ERRORS, EXAMPLES"),
                ("Metrics([ACCURACY, MAJORITY,", "Metrics([ACCURACY, ERRORS, MAJORITY,"),
            ),
        },
        """
        rows = "".join(f"{'good' if n % 2 else 'bad'} thing {n},{'yes' if n % 2 else 'no'}\\n" for n in range(60))
        Path("rows.csv").write_text("text,label\\n" + rows)
        run = glasshouse.train("classifier", "data.files=rows.csv", *TINY, device="cpu")
        assert run.evaluate()["validation"]["errors"] >= 0
        """,
    ),
    "architecture": Change(
        "an architecture to import from Hugging Face",
        {
            "src/glasshouse/parts/attention/dot_product.py": (
                (
                    "    attention_softcap: float = setting(",
                    '    own_bias: bool = setting(False, "queries, keys and values have a bias even if nothing else has")\n'
                    "    attention_softcap: float = setting(",
                ),
                (
                    "attention_softcap: float = 0.0, **options",
                    "attention_softcap: float = 0.0, own_bias: bool = False, **options",
                ),
                (
                    "        self.softcap = attention_softcap\n",
                    "        self.softcap = attention_softcap\n"
                    "        if own_bias:\n"
                    "            self.projection = Linear(width, sum(self.projection_sizes), bias=True)\n",
                ),
                ("from glasshouse.parts.cache ", "from glasshouse.parts.linear import Linear\nfrom glasshouse.parts.cache "),
            ),
            "src/glasshouse/interop/architectures/registry.py": (
                (
                    "from glasshouse.models.part_factory",
                    "from glasshouse.interop.architectures.qwen2 import QWEN2\nfrom glasshouse.models.part_factory",
                ),
                ("    llama.LLAMA,\n    bert", "    llama.LLAMA,\n    QWEN2,\n    bert"),
            ),
        },
        """
        import torch, transformers
        torch.manual_seed(0)
        sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
        config = transformers.Qwen2Config(**sizes, num_attention_heads=4, num_key_value_heads=2)
        theirs = transformers.Qwen2ForCausalLM(config).eval()
        with torch.no_grad():
            for parameter in theirs.parameters():
                parameter.add_(0.2 * torch.randn(parameter.shape))
        theirs.save_pretrained("qwen")
        run, tokens = glasshouse.import_model("qwen"), torch.randint(3, 50, (2, 12))
        with torch.inference_mode():
            torch.testing.assert_close(run.model(tokens), theirs(tokens).logits, atol=1e-4, rtol=0)
        run.export("huggingface", "again")
        again = transformers.Qwen2ForCausalLM.from_pretrained("again").eval()
        with torch.inference_mode():
            torch.testing.assert_close(again(tokens).logits, theirs(tokens).logits, atol=1e-4, rtol=0)
        """,
        new={
            "src/glasshouse/interop/architectures/qwen2.py": (
                '"""Qwen2: Llama with a bias on queries, keys and values alone."""\n\n'
                "from dataclasses import replace\n\n"
                "from glasshouse.interop.architectures.llama import LLAMA\n\n"
                "QWEN2 = replace(\n"
                "    LLAMA,\n"
                '    names=("Qwen2ForCausalLM",),\n'
                '    model_type="qwen2",\n'
                '    config_fields=tuple(each for each in LLAMA.config_fields if each.spec_field != "bias"),\n'
                '    config_values={**LLAMA.config_values, "use_sliding_window": (False,)},\n'
                '    legacy_config_values={"rope_parameters.type": ("default",), "rope_scaling": (None,)},\n'
                '    fixed_fields={**LLAMA.fixed_fields, "bias": (False,), "own_bias": (True,)},\n'
                ")\n"
            )
        },
    ),
    "checkpoint": Change(
        "the name or the files of a checkpoint",
        {"src/glasshouse/records/checkpoint.py": (('PREFIX = "step-"', 'PREFIX = "weights-"'),)},
        """
        run = glasshouse.train("demo-lm", *TINY, "evaluation.tokens=128", device="cpu")
        assert "weights-00000002" in [path.name for path in run.folder.checkpoints.iterdir()]
        assert run.sample("We", tokens=2)[0].text
        """,
    ),
    "column": Change(
        "a column of a study's table",
        {
            "src/glasshouse/pages/study_tables.py": (
                (
                    '    TIME,\n    Column("memory"',
                    '    Column("arms", _of_each(lambda arm: ResultCell("one"))),\n    TIME,\n    Column("memory"',
                ),
            )
        },
        """
        study = glasshouse.compare("demo-lm", "model.norm=layer,rms", *TINY, seeds=2, device="cpu")
        for file in ("report.html", "table.md", "table.tex"):
            assert "arms" in (study.folder.path / file).read_text(), file
        """,
    ),
    "server": Change(
        "a field of the server's answer",
        {
            "src/glasshouse/serving/text_answers.py": (
                ('"created": int(time.time()), ', '"created": int(time.time()), "greeting": "hello", '),
            )
        },
        """
        from fastapi.testclient import TestClient
        from glasshouse.serving.application import create_app
        from glasshouse.serving.served_model import ServerOptions
        run = glasshouse.train("demo-lm", *TINY, device="cpu")
        with TestClient(create_app({"small": run}, ServerOptions()), base_url="http://127.0.0.1") as client:
            answer = client.post("/v1/completions", json={"model": "small", "prompt": "We", "max_tokens": 2})
        assert answer.json()["greeting"] == "hello", answer.text
        """,
    ),
    "colour": Change(
        "a colour of pages, charts and image files",
        {"src/glasshouse/pages/colours.py": (('"worse": ("#a63d24"', '"worse": ("#c0ffee"'),)},
        """
        from glasshouse.pages import attention_page, figures, study_page
        from tests.pages import example_study
        page = study_page.render(example_study.study(), {})
        assert "#c0ffee" in page and "#a63d24" not in page
        """,
    ),
    "option": Change(
        "an option of `compare`",
        {
            "src/glasshouse/studies/study_options.py": (
                (
                    "    all_pairs: bool = setting(",
                    '    remark: str | None = setting(None, "A remark about the study.")\n    all_pairs: bool = setting(',
                ),
            )
        },
        """
        help = subprocess.run([sys.executable, "-m", "glasshouse", "compare", "--help"], capture_output=True, text=True)
        assert "--remark" in help.stdout, help
        assert "remark" in str(inspect.signature(glasshouse.compare)) and "A remark about" in glasshouse.compare.__doc__
        study = glasshouse.compare("demo-lm", "model.norm=layer,rms", *TINY, seeds=2, remark="mine", device="cpu")
        assert study.verdicts
        """,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_takes_the_files_that_its_row_names(name: str, tmp_path: Path) -> None:
    change = CHANGES[name]
    [row] = [line for line in ARCHITECTURE.splitlines() if line.startswith(f"| {change.row} |")]
    files = [*change.edits, *change.new]
    assert len(files) <= 3
    for file in files:
        assert Path(file).name in row or Path(file).parent.name in row, f"the row does not name {file}"
    copy = tmp_path / "copy"
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, copy / file)
    for file, edits in change.edits.items():
        text = (copy / file).read_text(encoding="utf-8")
        for old, new in edits:
            assert text.count(old) == 1, f"{file} has {old!r} {text.count(old)} times"
            text = text.replace(old, new)
        (copy / file).write_text(text, encoding="utf-8")
    for file, text in change.new.items():
        (copy / file).write_text(text, encoding="utf-8")
    # The catalogues are read from the metadata that setuptools writes beside the source.
    metadata = "import setuptools, sys; sys.argv = ['setup.py', '-q', 'egg_info']; setuptools.setup()"
    python = [sys.executable, "-c"]
    subprocess.run([*python, metadata], cwd=copy, check=True, capture_output=True)
    head = "import inspect, subprocess, sys\nfrom pathlib import Path\nimport glasshouse\n"
    program = f"{head}TINY = {TINY!r}\n{re.sub(r'^ {8}', '', change.proof, flags=re.MULTILINE)}"
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy}"}
    done = subprocess.run([*python, program], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
