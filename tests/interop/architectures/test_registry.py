"""A run that no Hugging Face architecture can express is refused with the fields that do not fit."""

from dataclasses import replace

import pytest

from glasshouse.interop import huggingface
from glasshouse.interop.architectures.config_fields import with_field_values
from glasshouse.specs.errors import CannotExport
from glasshouse.specs.spec import HeadSpec, ModelSpec
from tests.interop.our_models import ENCODER, GPT2_LIKE, OURS, random_run
from tests.refusals import refused

TWO_LAYERS = {"feed_forward_layers": 2}
ONE_LINEAR_LAYER = {"activation": "relu-single-layer", "norm": "none"}


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (
            replace(GPT2_LIKE, position="alibi"),
            (CannotExport, "GPT2LMHeadModel", "model.position='alibi'", "'learned'"),
        ),
        (
            replace(GPT2_LIKE, position="rotary"),
            (CannotExport, "GPT2LMHeadModel", "model.position='rotary'", "'learned'"),
        ),
        (
            replace(GPT2_LIKE, norm="rms", position="rotary"),
            (CannotExport, "model.activation='gelu'", "'swiglu'"),
        ),
        (
            replace(GPT2_LIKE, attention="grouped-query"),
            (CannotExport, "model.attention='grouped-query'", "'dot-product'"),
        ),
        (
            replace(GPT2_LIKE, attention="unscaled"),
            (CannotExport, "model.attention='unscaled'", "'dot-product'"),
        ),
        (replace(GPT2_LIKE, head_width=6), (CannotExport, "model.head_width=6")),
        (
            with_field_values(GPT2_LIKE, TWO_LAYERS),
            (CannotExport, "GPT2LMHeadModel", "model.feed_forward_layers=2"),
        ),
        (with_field_values(OURS["bart"][1], TWO_LAYERS), (CannotExport, "model.feed_forward_layers=2")),
        (with_field_values(OURS["clip"][1], TWO_LAYERS), (CannotExport, "model.feed_forward_layers=2")),
        (with_field_values(ENCODER, TWO_LAYERS), (CannotExport, "model.feed_forward_layers=2")),
        *(
            (replace(model, **ONE_LINEAR_LAYER), (CannotExport, "model.activation='relu-single-layer'"))
            for model in (GPT2_LIKE, ENCODER, OURS["bart"][1], OURS["clip"][1])
        ),
        (with_field_values(GPT2_LIKE, {"query_key_norm": True}), (CannotExport, "model.query_key_norm=True")),
        (replace(GPT2_LIKE, head=HeadSpec(own={"softcap": 9.0})), (CannotExport, "model.head.softcap=9.0")),
        (
            with_field_values(GPT2_LIKE, {"attention_softcap": 50.0}),
            (CannotExport, "model.attention_softcap=50.0"),
        ),
        (replace(GPT2_LIKE, position="sinusoidal"), (CannotExport, "model.position='sinusoidal'")),
        (replace(GPT2_LIKE, head=HeadSpec(own={"bias": True})), (CannotExport, "model.head.bias=True")),
        (
            replace(GPT2_LIKE, head=HeadSpec("classifier", own={"classes": 3})),
            (CannotExport, "model.head.pooling='mean'", "GPT2ForSequenceClassification"),
        ),
        (replace(OURS["llama"][1], width=18, heads=4, head_width=4), (CannotExport, "model.heads=4")),
        (replace(ENCODER, connection="pre-norm"), (CannotExport, "model.connection='pre-norm'")),
        (replace(ENCODER, activation="relu"), (CannotExport, "model.activation='relu'", "'gelu-exact'")),
        (replace(OURS["bart"][1], epsilon=1e-6), (CannotExport, "model.epsilon=1e-06", "1e-05")),
        (with_field_values(OURS["clip"][1], {"causal": False}), (CannotExport, "model.causal=False")),
        (ModelSpec(kind="recurrent", width=8, layers=1), (CannotExport, "model.kind='recurrent'")),
    ],
)
def test_a_run_that_no_architecture_can_express_is_refused(model, reason, tmp_path):
    with refused(*reason):
        huggingface.export(random_run(model), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_size_of_initial_embeddings_is_no_obstacle(tmp_path):
    """It matters in training alone."""
    huggingface.export(random_run(with_field_values(GPT2_LIKE, {"embedding_deviation": 1.0})), tmp_path / "out")
    assert huggingface.read(tmp_path / "out").model.position == "learned"
