"""The next token of a model behind a server of the OpenAI protocol, as `recover` asks for it.

Tokens must come as numbers, because a logit bias names numbers and two tokens may have the same text. Servers of Glasshouse
and vLLM show them so on request.
"""

from collections.abc import Mapping
from typing import Any

from glasshouse import formatting
from glasshouse.llms.next_token_api import MOST_BIAS, Answer
from glasshouse.llms.openai_model import OpenAIModel
from glasshouse.specs.errors import GlasshouseError

# The most log-probabilities that servers show for a token.
MOST_TOP = 20
PREFIX = "token_id:"


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
            sampled, value = _number(shown["tokens"][0]), float(shown["token_logprobs"][0])
            rows = {_number(text): float(each) for text, each in shown["top_logprobs"][0].items()}
        except (KeyError, IndexError, TypeError):
            raise GlasshouseError(
                "no-log-probabilities",
                f"{self.model.endpoint.server} shows no log-probabilities for {self.name}; recover needs some",
            ) from None
        best = sorted(rows.items(), key=lambda row: -row[1])[:top]
        return Answer(sampled, value, tuple(best))

    def token_text(self, token: int) -> str:
        try:
            response = self.model.endpoint.post("/detokenize", {"model": self.model.model, "tokens": [token]})
        except GlasshouseError:  # a server that does not tell
            return f"{PREFIX}{token}"
        return str(response.get("prompt", token))

    def _vocabulary(self) -> int:
        found: Any = self.model.endpoint.get(f"/models/{self.model.model}").get("vocabulary")
        if not isinstance(found, int) or found < 2:
            raise GlasshouseError(
                "unknown-vocabulary",
                f"{self.model.endpoint.server} does not say how many tokens {self.name} has; "
                "add vocabulary = NUMBER to its table in llms.toml",
            )
        return found


def _number(text: str) -> int:
    """The number of a token that is shown as "token_id:NUMBER"."""
    number = formatting.read_count(text.removeprefix(PREFIX)) if text.startswith(PREFIX) else None
    if number is None:
        raise GlasshouseError(
            "tokens-as-text",
            f"the server shows a token as the text {text!r}, not as a number; use a server that can show numbers, "
            "such as glasshouse serve or vLLM",
        )
    return number
