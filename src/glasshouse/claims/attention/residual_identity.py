"""Claim: without residual connections the outputs at different positions become alike, and token identity is lost."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch

from glasshouse import models
from glasshouse.claims import margins, split_scores
from glasshouse.claims.attention import token_identity
from glasshouse.claims.attention.quick_overrides import QUICK
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.random_check import draw, series_of_draws
from glasshouse.claims.rules import higher, lower, not_higher
from glasshouse.data import prepared_data
from glasshouse.results.claim import Part
from glasshouse.runs.run import Run
from glasshouse.specs.spec import ModelSpec

WITH, WITHOUT = WAYS = ("with residual connections", "without them")
CONNECTION = {WITH: "pre-norm", WITHOUT: "no-residual"}
VOCABULARY, LENGTH, WIDTH, SEQUENCES = 32, 32, 64, 96
INITIAL, TRAINED = SETTINGS = ("at initialisation", "after training")
DEPTHS = {INITIAL: (0, 1, 2, 4, 8, 12), TRAINED: (0, 1, 2, 4, 6)}
SCALES = (0.5, 1.0, 2.0)
# Cosine similarities: smaller differences do not matter, and above this two vectors count as alike.
MARGIN, ALIKE = 0.05, 0.9
# A token counts as lost if it is read hardly more often than by always answering the commonest one.
READ_BY_CHANCE = 0.05


def _parts(setting: str) -> tuple[Part, ...]:
    last = DEPTHS[setting][-1]
    alike, read = ({way: f"{setting}/{what}/{way}/{last}" for way in WAYS} for what in ("similarity", "read"))
    where = f"after {last} layers"
    return (
        higher(
            alike[WITHOUT],
            alike[WITH],
            MARGIN,
            f"positions are more alike without residual connections, {where}",
            setting=setting,
        ),
        higher(alike[WITHOUT], ALIKE, MARGIN / 5, f"their similarity is above {ALIKE}, {where}", setting=setting),
        lower(read[WITHOUT], read[WITH], margins.ACCURACY, f"the token is read back less often, {where}", setting=setting),
        not_higher(
            read[WITHOUT],
            f"{setting}/commonest",
            READ_BY_CHANCE,
            f"it is read back hardly more often than by guessing, {where}",
            setting=setting,
        ),
    )


class ResidualIdentity(Claim):
    """Follows hidden states through the layers of random and of trained models, with and without residual connections."""

    group = GROUPS[0]
    statement = (
        "Without residual connections the outputs at different positions become alike, and the identity of the token at "
        "each position is lost."
    )
    source = "course work on the parts of a Transformer"
    reported = "asserted, no figures"
    why = (
        "Attention gives every position an average of all positions. Without a residual connection nothing else of a "
        "token goes on to the next layer, and averages of averages are ever more alike."
    )
    procedure = (
        "At initialisation: encoders and decoders of 12 layers with random weights (initial scale 0.5, 1 or 2) read "
        "random tokens, with residual connections and without, both with layer norm. After training: decoders of 6 layers "
        "over the characters of public texts, each arm with the best of five learning rates on validation text, read test "
        "text. After the last layer, the mean cosine similarity between positions must be higher without residual "
        "connections and above 0.9; a linear probe, fitted to two thirds of the sequences, must read the token back less "
        "often, and hardly more often than by always answering the commonest token (5 points). The claim is judged under "
        "both settings."
    )
    would_change = (
        "Attention that looks at its own position only: it would pass the token on by itself. Trained models can learn "
        "that, random ones do not have it."
    )
    data = PUBLIC_TEXT
    studies = (
        StudyPlan(
            "trained",
            (
                "characters",
                "model.layers=6",
                "training.steps=300",
                "evaluation.batch=512",
                f"model.connection={','.join(CONNECTION.values())}",
            ),
            metric="test.loss",
            tune="training.learning_rate=3e-4,1e-3,3e-3,1e-2,3e-2",
            margin=margins.CHARACTER_LOSS,
            quick=(*QUICK, "model.layers=6", "training.batch=4"),
        ),
    )
    quantities: ClassVar = {
        **{
            f"{setting}/{what}/{way}/{depth}": Quantity(f"{label}, {setting}, {way}, after {depth} layers", metric, *unit)
            for setting in SETTINGS
            for what, label, metric, unit in (
                ("similarity", "similarity of positions", "cosine", ()),
                ("read", "tokens read back", "accuracy of a linear probe", ("%", 100.0, True)),
            )
            for way in WAYS
            for depth in DEPTHS[setting]
        },
        **{
            f"{setting}/commonest": Quantity(f"share of the commonest token, {setting}", "share", "%", 100.0, True)
            for setting in SETTINGS
        },
        **{f"loss/{way}": Quantity(f"test loss, 6 layers, {way}", "test.loss", "nats per character") for way in WAYS},
    }
    parts = (*_parts(INITIAL), *_parts(TRAINED))
    figures = tuple(
        LineFigure(
            f"{what} {setting}",
            "layers",
            f"{label}, {setting}",
            {way: {depth: f"{setting}/{what}/{way}/{depth}" for depth in DEPTHS[setting]} for way in WAYS},
        )
        for setting in SETTINGS
        for what, label in (("similarity", "similarity between positions"), ("read", "tokens read back, %"))
    )

    def measure(self, bench: Bench) -> Measurements:
        series = series_of_draws(check, bench.first_seed, bench.seeds)
        study = bench.study("trained")
        for way, connection in CONNECTION.items():
            series[f"loss/{way}"] = bench.values(study, connection, "test.loss")
            if bench.finished_runs(study, connection):
                rows = split_scores.cached_rows(bench, study, connection, "identity", _measure_run)
                for key in next(iter(rows.values())):
                    name = f"{TRAINED}/{key}" if key == "commonest" else f"{TRAINED}/{key.replace('/', f'/{way}/')}"
                    series[name] = Series({seed: row[key] for seed, row in rows.items()})
        return Measurements(series, tuple(bench.facts(study)))


def check(generator: torch.Generator) -> Mapping[str, float]:
    """The models at initialisation: one of each way, with the same choices and the same seed."""
    kind = ("encoder", "decoder")[draw(generator, 0, 1)]
    scale = SCALES[draw(generator, 0, len(SCALES) - 1)]
    seed = draw(generator, 0, 2**31 - 1)
    tokens = torch.randint(0, VOCABULARY, (SEQUENCES, LENGTH), generator=generator)
    values = {f"{INITIAL}/commonest": token_identity.commonest_share(tokens)}
    for way, connection in CONNECTION.items():
        layers = DEPTHS[INITIAL][-1]
        spec = ModelSpec(kind, WIDTH, layers, connection=connection, initialisation=scale)
        model = models.build(spec, VOCABULARY, LENGTH, seed).double()
        measured = measure_depths(token_identity.states_by_depth(model, tokens), tokens, VOCABULARY, DEPTHS[INITIAL])
        values |= {f"{INITIAL}/{key.replace('/', f'/{way}/')}": value for key, value in measured.items()}
    return values


def measure_depths(
    states: list[torch.Tensor], tokens: torch.Tensor, vocabulary: int, depths: tuple[int, ...]
) -> dict[str, float]:
    """`similarity/DEPTH` and `read/DEPTH` of the hidden states after each of these numbers of layers."""
    values = {}
    for depth in depths:
        values[f"similarity/{depth}"] = token_identity.similarity(states[depth])
        values[f"read/{depth}"] = token_identity.read_back(states[depth], tokens, vocabulary)
    return values


def _measure_run(run: Run) -> dict[str, float]:
    """The similarities and probes of a trained run on windows of its test text, spread over all of it."""
    text = np.asarray(prepared_data.prepare(run.spec.data, run.tokenizer).splits["test"].tokens, np.int64)
    length = run.spec.data.context
    starts = np.linspace(0, len(text) - length, SEQUENCES).astype(int)
    tokens = torch.from_numpy(text[starts[:, None] + np.arange(length)])
    states = token_identity.states_by_depth(run.model.eval(), tokens.to(next(run.model.parameters()).device))
    values = measure_depths(states, tokens, run.tokenizer.vocabulary, DEPTHS[TRAINED])
    return {"commonest": token_identity.commonest_share(tokens), **values}
