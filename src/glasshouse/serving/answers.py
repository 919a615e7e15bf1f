"""The bodies of answers, in the shapes of the OpenAI API."""

import base64
import secrets
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from glasshouse.generation.engine import SampledToken
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers import Tokenizer

FINISH_REASONS = {"end": "stop", "stop": "stop", "length": "length"}


def token_text(tokenizer: Tokenizer, token: int) -> str:
    """A token as text; bytes that are no whole character as `bytes:\\x..`, as the OpenAI API writes them."""
    try:
        raw = tokenizer.token_bytes(token)
        return raw.decode()
    except GlasshouseError:  # an id that no token has
        return f"token_id:{token}"
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)


@dataclass
class TextChoice:
    """One text of an answer to /v1/completions, as it grows."""

    index: int
    text: str = ""
    tokens: list[SampledToken | None] = field(default_factory=list)  # None: the first token of an echoed prompt
    first_token: int | None = None
    finish: str | None = None


def completion_log_probabilities(
    tokenizer: Tokenizer,
    tokens: Sequence[SampledToken | None],
    first: int | None,
    count: int,
    offset: int = 0,
    numbers: bool = False,
) -> dict[str, Any]:
    """`logprobs` of /v1/completions. `first` is the first token of an echoed prompt, which has no log-probability.

    `numbers` shows tokens as `token_id:NUMBER`, because two tokens may have the same text.
    """

    def shown(token: int) -> str:
        return f"token_id:{token}" if numbers else token_text(tokenizer, token)

    texts, values, tops, offsets = [], [], [], []
    for sampled in tokens:
        token = int(first or 0) if sampled is None else sampled.token
        texts.append(shown(token))
        values.append(None if sampled is None else sampled.log_probability)
        tops.append(None if sampled is None else _top(shown, sampled, count))
        offsets.append(offset)
        offset += len(tokenizer.token_bytes(token).decode(errors="replace"))
    return {"tokens": texts, "token_logprobs": values, "top_logprobs": tops if count else None, "text_offset": offsets}


def _top(shown: Callable[[int], str], sampled: SampledToken, count: int) -> dict[str, float]:
    """The most likely tokens, and the sampled one, which may not be among them. The likelier of equal texts."""
    top: dict[str, float] = {}
    for token, value in (*sampled.alternatives[:count], (sampled.token, sampled.log_probability)):
        top.setdefault(shown(token), value)
    return top


def chat_log_probabilities(tokenizer: Tokenizer, tokens: Iterable[SampledToken], count: int) -> dict[str, Any]:
    """`logprobs` of /v1/chat/completions."""

    def entry(token: int, value: float) -> dict[str, Any]:
        return {"token": token_text(tokenizer, token), "bytes": list(tokenizer.token_bytes(token)), "logprob": value}

    return {
        "content": [
            {
                **entry(sampled.token, sampled.log_probability),
                "top_logprobs": [entry(token, value) for token, value in sampled.alternatives[:count]],
            }
            for sampled in tokens
        ],
        "refusal": None,
    }


def envelope(kind: str, model: str) -> dict[str, Any]:
    """What every answer and every chunk of a stream begins with."""
    prefix = "chatcmpl" if kind.startswith("chat") else "cmpl"
    return {"id": f"{prefix}-{secrets.token_hex(12)}", "object": kind, "created": int(time.time()), "model": model}


def usage(prompt_tokens: int, tokens: int) -> dict[str, int]:
    return {"prompt_tokens": prompt_tokens, "completion_tokens": tokens, "total_tokens": prompt_tokens + tokens}


def error(
    message: str, kind: str = "invalid_request_error", param: str | None = None, code: str | None = None
) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def vector(values: Sequence[float], encoding: str) -> list[float] | str:
    """A vector as a list of numbers, or as little-endian float32 in base64."""
    if encoding == "float":
        return list(values)
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
