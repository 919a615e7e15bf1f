"""A small untrained decoder, and completions of prompts by it."""

from glasshouse import models
from glasshouse.generation.engine import GenerationEngine
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.text_stream import Completion, encode_prompt, stream
from glasshouse.specs.spec import ModelSpec

CONTEXT = 16


def build_decoder(vocabulary, context=CONTEXT, **settings):
    spec = ModelSpec(**{"width": 16, "layers": 2, "heads": 2, "initialisation": 2.0, **settings})
    return models.build(spec, vocabulary, context)


def complete(model, tokenizer, prompts, sampling, tokens, context, **options):
    completions = [Completion(prompt, encode_prompt(tokenizer, prompt)) for prompt in prompts]
    for _ in stream(model, tokenizer, completions, sampling, tokens, context, **options):
        pass
    return completions


def continue_greedily(model, prompts, steps, context, cached=True):
    """The tokens of each prompt and its continuation."""
    engine = GenerationEngine(model, context, cached=cached)
    rows = engine.add_all(prompts, Sampling(temperature=0))
    for _ in range(steps):
        engine.step()
    return [row.tokens for row in rows]
