"""From the body of a request to a job of the batcher."""

import secrets
from typing import Any

import anyio.to_thread

from glasshouse.generation.sampling import Sampling
from glasshouse.generation.text_stream import encode_prompt
from glasshouse.generation.token_constraint import TokenConstraint
from glasshouse.runs.run import Run
from glasshouse.serving.api_errors import PromptTooLong
from glasshouse.serving.batcher import TextJob
from glasshouse.serving.requests import MOST_TEXTS
from glasshouse.serving.served_model import ServerOptions
from glasshouse.specs.errors import GlasshouseError


def text_job(
    body: Any,
    prompts: list[list[int]],
    context: int,
    vocabulary: int,
    options: ServerOptions,
    most: int,
    stops: tuple[str, ...] = (),
) -> TextJob:
    """The job of a request. Raises GlasshouseError for what the shapes of requests cannot rule out."""
    for prompt in prompts:
        if len(prompt) > context:
            raise PromptTooLong(
                f"the prompt has {len(prompt)} tokens, but the context of this model is {context}; shorten it", "prompt"
            )
        check_tokens("prompt", prompt, vocabulary)
    if most > options.most_tokens:
        raise GlasshouseError(f"is above the limit of this server; choose {options.most_tokens} or less", "max_tokens", most)
    if len(prompts) * (body.n or 1) > MOST_TEXTS:
        raise GlasshouseError(
            f"for {len(prompts)} prompts makes more than {MOST_TEXTS} texts; ask for fewer at a time", "n", body.n
        )
    bias = {}
    for key, value in (body.logit_bias or {}).items():
        if not (key.isascii() and key.isdigit() and len(key) < 12 and int(key) < vocabulary):
            raise GlasshouseError(f"logit_bias has the key {key!r}; choose token ids below {vocabulary}", "logit_bias")
        bias[int(key)] = value
    own = [body.stop] if isinstance(body.stop, str) else body.stop or []
    sampling = Sampling(
        presence_penalty=body.presence_penalty or 0.0,
        frequency_penalty=body.frequency_penalty or 0.0,
        temperature=1.0 if body.temperature is None else body.temperature,
        top_k=body.top_k or 0,
        top_p=1.0 if body.top_p is None else body.top_p,
        seed=secrets.randbits(62) if body.seed is None else body.seed % 2**63,
    )
    return TextJob(prompts, sampling, most, print, body.n or 1, (*own, *stops), bias=bias)


def check_tokens(field: str, tokens: list[int], vocabulary: int) -> None:
    """Refuse tokens that are not in the vocabulary."""
    if beyond := [token for token in tokens if token >= vocabulary]:
        raise GlasshouseError(f"token {beyond[0]} is not in the vocabulary; choose tokens below {vocabulary}", field)


async def constraint_of(body: Any, run: Run) -> TokenConstraint | None:
    """The form that the text must have."""
    wanted, schema = body.response_format, None
    if wanted is not None and wanted.type == "json_schema":
        if wanted.json_schema is None:
            raise GlasshouseError(
                "a response_format of type 'json_schema' needs the field json_schema; add it", "response_format"
            )
        schema = wanted.json_schema.given
    elif wanted is not None and wanted.type == "json_object":
        schema = {"type": "object"}
    if schema is None and body.regex is None:
        return None
    return await anyio.to_thread.run_sync(run.constraint, body.regex, schema)


def prompts_of(prompt: Any, tokenizer: Any) -> tuple[list[str], list[list[int]]]:
    """The prompts of a request as texts and as tokens."""
    if isinstance(prompt, str) or (prompt and isinstance(prompt[0], int)):
        prompt = [prompt]
    tokens = [encode_prompt(tokenizer, each) if isinstance(each, str) else list(each) for each in prompt]
    texts = []
    for each, ids in zip(prompt, tokens, strict=True):
        known = all(token < tokenizer.vocabulary for token in ids)
        texts.append(each if isinstance(each, str) else tokenizer.decode(ids) if known else "")
    return texts, tokens
