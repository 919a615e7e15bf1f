"""The models that the battery tests, and the helpers of its tests.

`CHOICES` is a list of choices: a choice names one part of each family. In `make test` every pair of parts from different
families occurs in at least one model; `make test-slow` adds every allowed combination of attention, position and norm, in a
decoder and in an encoder. The environment variables GLASSHOUSE_TEST_DEVICE=cuda and GLASSHOUSE_TEST_PRECISION=bf16 run the
battery on a GPU and in bfloat16.
"""

import itertools
import os
import random

import pytest
import torch

from glasshouse import models
from glasshouse.parts.positions.base import Position
from glasshouse.specs import catalogue
from glasshouse.specs.spec_files import model_spec

DEVICE = os.environ.get("GLASSHOUSE_TEST_DEVICE", "cpu")
PRECISION = os.environ.get("GLASSHOUSE_TEST_PRECISION", "fp32")
# The largest allowed difference of two equivalent computations, relative to the largest value.
TOLERANCE = {"fp32": 2e-5, "bf16": 4e-2}[PRECISION]
VOCABULARY, CONTEXT = 29, 12
torch.backends.cudnn.allow_tf32 = False  # as in float32 training
FAMILIES = {
    "kind": "model",
    "attention": "attention",
    "position": "position",
    "norm": "norm",
    "connection": "connection",
    "activation": "feed_forward",
}
WORDS = {field: catalogue.names(family) for field, family in FAMILIES.items()}
CAUSAL = ("decoder", "encoder-decoder", "recurrent", "picture-decoder", "picture-encoder-decoder")
# Models that write a text about a picture.
DESCRIBING = ("picture-decoder", "picture-encoder-decoder")
# Kind of model -> the settings of its pictures. Patches are few, so that they and the text fit a code as wide as the model.
PICTURES = {"dual-encoder": {"image_size": 24}, **{kind: {"image_size": 16, "patch_size": 16} for kind in DESCRIBING}}
# The vectors of a picture: its patches and the class token.
PICTURE_LENGTHS = {"dual-encoder": 10, **dict.fromkeys(DESCRIBING, 2)}
# Feed-forward parts with several inner layers, one in each kind of model with blocks.
SEVERAL_INNER_LAYERS = [
    dict(zip(WORDS, (kind, "dot-product", "rotary", "layer", "pre-norm", activation), strict=True))
    | {"feed_forward_layers": 2}
    for kind, activation in (
        ("decoder", "gelu"),
        ("encoder", "relu"),
        ("encoder-decoder", "gelu-exact"),
        ("dual-encoder", "gelu-sigmoid"),
    )
]
# Options of parts, each in a model that has it: query-key norm, value residual, soft limits of scores and of logits.
OPTIONS = [
    dict(zip(WORDS, (kind, attention, position, "rms", "pre-norm", "relu-squared"), strict=True)) | options
    for kind, attention, position, options in (
        ("decoder", "dot-product", "rotary", {"query_key_norm": True, "head": {"softcap": 2.0}}),
        ("decoder", "grouped-query", "alibi", {"query_key_norm": True, "value_residual": True}),
        ("decoder", "local-window", "learned", {"query_key_norm": True, "value_residual": True}),
        ("decoder", "dot-product", "rotary", {"value_residual": True}),
        ("encoder", "dot-product", "learned", {"value_residual": True}),
        ("encoder-decoder", "dot-product", "rotary", {"query_key_norm": True, "head": {"softcap": 2.0}}),
        ("decoder", "dot-product", "rotary", {"attention_softcap": 0.5}),
        ("decoder", "grouped-query", "alibi", {"attention_softcap": 0.5}),
        ("decoder", "local-window", "relative", {"attention_softcap": 0.5}),
        ("encoder", "local-window", "learned", {"attention_softcap": 0.5}),
        ("encoder-decoder", "dot-product", "rotary", {"attention_softcap": 0.5}),
    )
]
# The layer that courses begin with: attention, residual, one linear layer with ReLU, residual, and no norm.
COURSE_LAYER = [
    dict(zip(WORDS, (kind, "dot-product", "sinusoidal", "none", "pre-norm", "relu-single-layer"), strict=True))
    for kind in ("decoder", "encoder", "encoder-decoder")
]
# Bounds of the size of a positional code that is added to embeddings, relative to theirs, before training.
SIZE_RATIO = (0.25, 2.0)


def reasons_against(choice):
    """Why a choice is not allowed, from the capabilities that its parts declare as unsupported."""
    attention, position = (catalogue.find(family, choice[family]) for family in ("attention", "position"))
    needed = []
    if choice["kind"] != "recurrent":
        needed.append("blocks")
    if choice["kind"] in CAUSAL:
        needed.append("causal")
    if choice["kind"] in ("encoder-decoder", "picture-encoder-decoder"):
        needed.append("cross")
    if position.mechanism in ("bias", "rotation"):
        needed.append(position.mechanism)
    return [attention.unsupported[capability] for capability in needed if capability in attention.unsupported]


def pairwise_choices():
    """Allowed choices in which every allowed pair of words from different families occurs at least once."""
    rng = random.Random(0)
    missing = {
        frozenset([(a, x), (b, y)])
        for a, b in itertools.combinations(WORDS, 2)
        for x, y in itertools.product(WORDS[a], WORDS[b])
    }
    chosen = []

    def gain(choice):
        return sum(frozenset(pair) in missing for pair in itertools.combinations(choice.items(), 2))

    while missing:
        goal = dict(min(missing, key=sorted))
        candidates = [{field: goal.get(field) or rng.choice(words) for field, words in WORDS.items()} for _ in range(60)]
        candidates = [choice for choice in candidates if not reasons_against(choice)]
        if not candidates:
            missing.discard(frozenset(goal.items()))
            continue
        best = max(candidates, key=gain)
        missing -= {frozenset(pair) for pair in itertools.combinations(best.items(), 2)}
        chosen.append(best)
    return chosen


def all_choices():
    """Every allowed attention, position and norm in a decoder and in an encoder; the other parts alternate."""
    others = itertools.cycle(itertools.product(WORDS["connection"], WORDS["activation"]))
    for kind, attention, position, norm in itertools.product(
        ("decoder", "encoder"), WORDS["attention"], WORDS["position"], WORDS["norm"]
    ):
        choice = dict(zip(WORDS, (kind, attention, position, norm, *next(others)), strict=True))
        if not reasons_against(choice):
            yield choice


def choices():
    quick = pairwise_choices()
    quick += [choice for choice in COURSE_LAYER if choice not in quick]
    return [
        *(
            pytest.param(choice, id="-".join(map(str, choice.values())))
            for choice in (*quick, *SEVERAL_INNER_LAYERS, *OPTIONS)
        ),
        *(
            pytest.param(choice, id="-".join(choice.values()), marks=pytest.mark.slow)
            for choice in all_choices()
            if choice not in quick
        ),
    ]


CHOICES = choices()


def costly_choices():
    """The choices for the laws that take longest: quick ones are those with a word that no earlier choice has."""
    seen: set[str] = set()
    for choice in CHOICES:
        words = set(map(str, choice.values[0].items()))
        repeated = words <= seen and not choice.marks
        yield pytest.param(*choice.values, id=choice.id, marks=pytest.mark.slow) if repeated else choice
        seen |= words


COSTLY_CHOICES = list(costly_choices())


def build_model(choice, seed=0, **settings):
    sizes = {"width": 16, "layers": 2, "heads": 2, "feed_forward": 24}
    spec = model_spec(**{**sizes, **PICTURES.get(choice["kind"], {}), **choice, **settings})
    model = models.build(spec, VOCABULARY, CONTEXT, seed)
    with torch.no_grad():  # gains of 1 and biases of 0 would hide mistakes
        generator = torch.Generator().manual_seed(1)
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
        for name, buffer in model.named_buffers():
            if "running" in name:
                buffer += torch.rand(buffer.shape, generator=generator)
    return model.to(DEVICE).eval()


def random_inputs(model, batch=3, length=CONTEXT, seed=0):
    inputs = model.random_inputs(batch, length, torch.Generator().manual_seed(seed))
    return {name: value.to(DEVICE) for name, value in inputs.items()}


def run_model(model, inputs, **options):
    """The model's output as float32, computed in the precision under test."""
    with torch.autocast(DEVICE, torch.bfloat16, enabled=PRECISION == "bf16"):
        output = model(**inputs, **options)
    return output if output.dtype == torch.float64 else output.float()


def size_ratios(model):
    """For each positional encoding of a new model that is added to embeddings: its size divided by theirs, by name."""
    ratios = {}

    def record(name, position):
        plain = position.embed

        def embed(x, positions):
            embedded = plain(x, positions)
            ratios[name] = float((embedded - x).square().mean().sqrt() / x.square().mean().sqrt())
            return embedded

        position.embed = embed

    for name, module in model.named_modules():
        if isinstance(module, Position) and module.mechanism == "embedding":
            record(name, module)
    with torch.no_grad():
        model(**model.random_inputs(3, CONTEXT, torch.Generator().manual_seed(0)))
    return ratios


def tolerance(choice):
    """Without residual connections rounding errors in bfloat16 are larger."""
    return 4 * TOLERANCE if PRECISION == "bf16" and choice["connection"] == "no-residual" else TOLERANCE


def assert_near(actual, expected, relative=TOLERANCE, name="", smallest_scale=1e-3):
    scale = max(float(expected.detach().abs().max()), smallest_scale) if expected.numel() else 1.0
    difference = float((actual - expected).detach().abs().max()) if expected.numel() else 0.0
    assert difference <= relative * scale, f"{name} differs by {difference:.3g} of {scale:.3g}"


def lacks(choice, capability):
    parts = [catalogue.find(family, choice[family]) for family in ("attention", "position", "norm")]
    return any(capability in getattr(part, "unsupported", {}) for part in parts)


def use_reference(model):
    """Switch a model to the reference implementations: no fused kernels, no fast paths."""
    for module in model.modules():
        if hasattr(module, "plain"):
            module.plain = True
    return model


def causal_input(inputs):
    """The name of the token input that a causal mask applies to."""
    return next(name for name in ("target_BT", "tokens_BT", "tokens_NT") if name in inputs)
