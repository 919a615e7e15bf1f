"""What an API shows of a model's next token: a few log-probabilities, and how they answer to a bias.

`RunAPI` shows a run in this way, so that what is found out about an API can be compared with a model whose logits are known.
`ServerAPI` asks a server of the OpenAI protocol. Tokens must come as numbers, because a logit bias names numbers and two
tokens may have the same text. Servers of Glasshouse and vLLM show them so on request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from glasshouse import formatting
from glasshouse.generation.incremental_decoder import IncrementalDecoder
from glasshouse.llms.openai_model import OpenAIModel
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError

# The usual bound of a bias.
MOST_BIAS = 100.0
# The most log-probabilities that servers show for a token.
MOST_TOP = 20
TOKEN_PREFIX = "token_id:"


@dataclass(frozen=True)
class Answer:
    """The most likely next token after the bias, its log-probability if it is shown, and the top tokens with theirs."""

    token: int
    log_probability: float | None
    top: tuple[tuple[int, float], ...]


class NextTokenAPI(Protocol):
    """A model that is asked for one next token at a time. Tokens are numbers below `vocabulary`."""

    name: str
    vocabulary: int
    shows: str  # what it shows, in words

    def ask(self, prompt: str, top: int, bias: Mapping[int, float]) -> Answer:
        """The next token at temperature 0, and at most `top` tokens with their log-probabilities."""

    def token_text(self, token: int) -> str:
        """A token as text."""


@dataclass
class LogitsAPI:
    """An API over known logits (V).

    after_bias: whether the log-probabilities include the bias; some providers show them before it.
    decimals: the decimals to which they are rounded; None shows all digits of `dtype`.
    most_top: the most tokens that an answer shows.
    shows_sampled: whether the log-probability of the sampled token is shown although it is not among the top.
    """

    logits: np.ndarray
    name: str = "logits"
    after_bias: bool = True
    decimals: int | None = None
    dtype: type[np.floating] = np.float64
    most_top: int = 20
    shows_sampled: bool = False

    def __post_init__(self) -> None:
        self.logits = np.asarray(self.logits, np.float64)
        self.vocabulary, self.calls = len(self.logits), 0
        side = "after" if self.after_bias else "before"
        digits = np.dtype(self.dtype).name if self.decimals is None else f"{self.decimals} decimals"
        self.shows = f"at most {self.most_top} log-probabilities {side} the bias, in {digits}"
        # The log-probability of every token (V), without a bias.
        self.log_probabilities = self.logits - _log_sum(self.logits)

    def ask(self, prompt: str, top: int, bias: Mapping[int, float]) -> Answer:
        self.calls += 1
        biased = self.logits.copy()
        for token, value in bias.items():
            biased[token] += min(max(value, -MOST_BIAS), MOST_BIAS)
        shown = biased if self.after_bias else self.logits
        log_sum = _log_sum(shown)
        count = min(top, self.most_top, self.vocabulary)
        highest = np.argpartition(-shown, count - 1)[:count]
        order = highest[np.argsort(-shown[highest], kind="stable")]
        sampled = int(biased.argmax())
        log_probability = self._rounded(shown[sampled] - log_sum) if self.shows_sampled else None
        return Answer(
            sampled, log_probability, tuple((int(token), self._rounded(shown[token] - log_sum)) for token in order)
        )

    def _rounded(self, value: float) -> float:
        value = float(self.dtype(value))
        return value if self.decimals is None else round(value, self.decimals)

    def token_text(self, token: int) -> str:
        return str(token)


def _log_sum(logits_V: np.ndarray) -> float:
    """log of the sum of exp(logits). `np.logaddexp.reduce` adds one by one, with a thousand times the error."""
    highest = logits_V.max()
    return float(highest + np.log(np.exp(logits_V - highest).sum()))


class RunAPI(LogitsAPI):
    """The next token of a run after a prompt, as an API would show it. `shown` are fields of `LogitsAPI`."""

    def __init__(self, run: Run, prompt: str, **shown: Any) -> None:
        self.run = run
        tokens = run.new_completion(prompt).prompt_tokens
        with torch.inference_mode():
            logits = IncrementalDecoder(run.model, [tokens], run.spec.data.context, cached=False).logits()[0]
        super().__init__(logits[: run.tokenizer.vocabulary].double().cpu().numpy(), run.name, **shown)
        # A run that is trained further gives other answers.
        self.shows += f", after step {run.model_step()}"

    def token_text(self, token: int) -> str:
        return self.run.tokenizer.decode([token])


class ServerAPI:
    """A model of a server. The number of its tokens is that of `vocabulary`, or what the server says of the model."""

    def __init__(self, model: OpenAIModel, vocabulary: int = 0) -> None:
        self.model, self.name = model, model.name
        self.vocabulary = vocabulary or self._vocabulary()
        self.shows = f"{model.identity()}, {self.vocabulary} tokens"
        self.calls = 0

    def ask(self, prompt: str, top: int, bias: Mapping[int, float]) -> Answer:
        self.calls += 1
        body = {
            "model": self.model.model,
            "prompt": prompt,
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": min(top, MOST_TOP),
            "logit_bias": {str(token): min(max(value, -MOST_BIAS), MOST_BIAS) for token, value in bias.items()},
            "return_tokens_as_token_ids": True,
        }
        response = self.model.endpoint.post("/completions", body)
        try:
            shown = response["choices"][0]["logprobs"]
            sampled, value = _token_number(shown["tokens"][0]), float(shown["token_logprobs"][0])
            rows = {_token_number(text): float(each) for text, each in shown["top_logprobs"][0].items()}
        except (KeyError, IndexError, TypeError):
            raise GlasshouseError(
                f"{self.model.endpoint.server} shows no log-probabilities for {self.name}; recover needs some"
            ) from None
        best = sorted(rows.items(), key=lambda row: -row[1])[:top]
        return Answer(sampled, value, tuple(best))

    def token_text(self, token: int) -> str:
        try:
            response = self.model.endpoint.post("/detokenize", {"model": self.model.model, "tokens": [token]})
        except GlasshouseError:  # a server that does not tell
            return f"{TOKEN_PREFIX}{token}"
        return str(response.get("prompt", token))

    def _vocabulary(self) -> int:
        found: Any = self.model.endpoint.post(f"/models/{self.model.model}", None).get("vocabulary")
        if not isinstance(found, int) or found < 2:
            raise GlasshouseError(
                f"{self.model.endpoint.server} does not say how many tokens {self.name} has; "
                "add vocabulary = NUMBER to its table in llms.toml"
            )
        return found


def _token_number(text: str) -> int:
    """The number of a token that is shown as "token_id:NUMBER"."""
    number = formatting.read_count(text.removeprefix(TOKEN_PREFIX)) if text.startswith(TOKEN_PREFIX) else None
    if number is None:
        raise GlasshouseError(
            f"the server shows a token as the text {text!r}, not as a number; use a server that can show numbers, "
            "such as glasshouse serve or vLLM"
        )
    return number
