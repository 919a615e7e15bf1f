"""Costs of a translation: FLOPs of both kinds of model, and tokens that are read again without a cache."""

import pytest

from glasshouse import models
from glasshouse.api import runs as run_api
from glasshouse.api import training
from glasshouse.claims.translation import translation_costs
from glasshouse.claims.translation.decoder_only_limits import ARMS, DECODER_ONLY, ENCODER_DECODER, QUICK, arm_name
from glasshouse.data.sources.pig_latin import PigLatinPhrases2
from glasshouse.models.encoder_decoder import EncoderDecoder
from glasshouse.runs.run import Run


def small_run(kind: str) -> Run:
    training.train(*ARMS[arm_name(kind, 2)], *QUICK, name=kind, device="cpu")
    return run_api.open_run(kind, device="cpu")


def mean_lengths() -> tuple[int, int]:
    pairs = [(document.text, document.fields["target"]) for document in PigLatinPhrases2().documents("test")]
    source, target = (round(sum(map(len, side)) / len(side)) for side in zip(*pairs, strict=True))
    return source, target


@pytest.mark.slow
def test_a_decoder_reads_every_token_once_with_a_cache_and_the_prefix_again_without():
    run = small_run(DECODER_ONLY)
    document = next(iter(PigLatinPhrases2().documents("test")))
    prompt, target = len(document.text) + 2, len(document.fields["target"])
    assert translation_costs.tokens_read_again(run) == 0
    # Before each further token, everything so far is read again.
    again = sum(prompt + written - 1 for written in range(1, target))
    assert translation_costs.tokens_read_again(run, cached=False) == again > 100
    source, target = mean_lengths()
    spec = run.spec
    model = models.build(spec.model, run.tokenizer.vocabulary, spec.data.context)
    assert translation_costs.count_flops(run) == {"flops": model.flops(source + target + 2)}


def test_an_encoder_decoder_reads_the_source_with_its_encoder_only():
    run = small_run(ENCODER_DECODER)
    source, target = mean_lengths()
    model = models.build(run.spec.model, run.tokenizer.vocabulary, run.spec.data.context)
    assert isinstance(model, EncoderDecoder)
    assert translation_costs.count_flops(run)["flops"] == pytest.approx(model.flops(target + 1, source + 1))
    assert model.flops(target + 1, source + 1) < model.flops(target + 1, 2 * source)
