"""A classifier exported for `transformers`: its pipeline gives the run's probabilities under the names of the classes."""

import json

import pytest

import glasshouse
from glasshouse.interop import huggingface
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotExport
from tests.interop.transformers_models import TOLERANCE, transformers
from tests.refusals import refused

TEXTS = ["Thank you all.", "we gather", "The rain in the garden, and the sun after it! déjà vu", "no"]
# What makes the encoder of the recipe a DistilBERT.
EXPORTABLE = (
    "model.connection=post-norm",
    "model.embedding_norm=true",
    "model.epsilon=1e-12",
    "model.head.pooling=first",
    "model.head.hidden=16",
    "model.head.wide=0",
)
SMALL = ("model.width=16", "model.layers=1", "data.vocabulary=300", "data.context=32", "training.steps=4")


def train(tmp_path, recipe, labels, *overrides) -> Run:
    rows = [f"{labels[i % len(labels)]}\t{['sun', 'rain', 'wind'][i % 3]} in the garden, thank you {i}" for i in range(60)]
    (tmp_path / "rows.tsv").write_text("\n".join(rows) + "\n")
    return glasshouse.train(recipe, f"data.files={tmp_path / 'rows.tsv'}", *SMALL, *overrides, device="cpu")


@pytest.mark.parametrize("tokenizer", ["byte-pair", "words"])
def test_a_pipeline_gives_the_same_probabilities(tokenizer, tmp_path):
    run = train(tmp_path, "classifier", ("sunny", "wét", "windy"), f"data.tokenizer={tokenizer}", *EXPORTABLE)
    huggingface.export(run, tmp_path / "out")
    pipeline = transformers.pipeline("text-classification", model=str(tmp_path / "out"), top_k=None, device="cpu")
    for ours, theirs in zip(run.classify(TEXTS), pipeline(TEXTS, truncation=True), strict=True):
        scores = {answer["label"]: answer["score"] for answer in theirs}
        assert scores == pytest.approx(ours, abs=TOLERANCE)
    assert json.loads((tmp_path / "out/config.json").read_text())["id2label"]["1"] in ("sunny", "wét", "windy")


def test_the_classifier_of_the_recipe_is_refused_with_the_fields_to_change(tmp_path):
    run = train(tmp_path, "classifier", ("sunny", "wet", "windy"))
    fields = ("model.connection", "model.embedding_norm", "model.head.pooling", "model.head.hidden", "model.head.wide")
    with refused(CannotExport, "BertForSequenceClassification", *fields, "instead of 'post-norm'"):
        huggingface.export(run, tmp_path / "out")
