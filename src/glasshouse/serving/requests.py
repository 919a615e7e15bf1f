"""The bodies of requests, in the shapes of the OpenAI API, and the job that a request for text is for the batcher.

Unknown fields are ignored, as clients send many.
"""

import secrets
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.text_stream import encode_prompt
from glasshouse.llms.language_model import Message, render_chat
from glasshouse.runs.run import Run
from glasshouse.serving.api_errors import PromptTooLong
from glasshouse.serving.batcher import TextJob
from glasshouse.serving.served_model import ServerOptions
from glasshouse.specs.errors import GlasshouseError

Token = Annotated[StrictInt, Field(ge=0, lt=2**31)]
MOST_CHOICES, MOST_PROMPTS, MOST_TEXTS, MOST_STOPS, MOST_BIASES = 16, 64, 128, 4, 1024
TokenKey = Annotated[str, Field(pattern=r"^[0-9]{1,11}$")]
Texts = str | Annotated[list[str], Field(min_length=1, max_length=2048)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class _ModelBody(_Body):
    model: str


class StreamOptions(_Body):
    include_usage: bool = False


class JSONSchema(_Body):
    """`schema` is a JSON schema; its name and description are ignored."""

    given: dict[str, Any] | bool = Field(True, alias="schema")


class ResponseFormat(_Body):
    """The form of the answer: any text, any JSON, or JSON by a schema."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: JSONSchema | None = None

    @property
    def grammar(self) -> dict[str, Any] | bool | None:
        """The JSON schema of the answer; None for any text."""
        if self.type == "json_schema" and self.json_schema is None:
            raise GlasshouseError("of type 'json_schema' needs the field json_schema; add it", "response_format", self.type)
        given = True if self.json_schema is None else self.json_schema.given
        return {"text": None, "json_object": {"type": "object"}, "json_schema": given}[self.type]


class TextRequest(_ModelBody):
    """A request for text of either kind."""

    n: int | None = Field(1, ge=1, le=MOST_CHOICES, description="How many texts for each prompt.")
    temperature: float | None = Field(1.0, ge=0, le=2, description="0 is greedy decoding.")
    top_p: float | None = Field(1.0, gt=0, le=1)
    top_k: int | None = Field(0, ge=0, lt=2**31, description="Not in the OpenAI API. 0 is off.")
    seed: int | None = Field(None, ge=-(2**63), lt=2**63, description="Without a seed the text is different each time.")
    stop: str | Annotated[list[str], Field(max_length=MOST_STOPS)] | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    presence_penalty: float | None = Field(0.0, ge=-2, le=2)
    frequency_penalty: float | None = Field(0.0, ge=-2, le=2)
    logit_bias: dict[TokenKey, Annotated[float, Field(ge=-100, le=100)]] | None = Field(None, max_length=MOST_BIASES)
    response_format: ResponseFormat | None = Field(None, description="The text is JSON, by a schema if one is given.")
    regex: str | None = Field(None, max_length=10_000, description="Not in the OpenAI API. The text matches this pattern.")

    async def _job(
        self, run: Run, options: ServerOptions, prompts: list[list[int]], most: int, stops: Sequence[str] = ()
    ) -> TextJob:
        """The job of this request. Raises GlasshouseError for what the shape cannot rule out."""
        context, vocabulary = run.spec.data.context, run.tokenizer.vocabulary
        for prompt in prompts:
            if len(prompt) > context:
                raise PromptTooLong(f"the prompt has {len(prompt)} tokens, and the context {context}; shorten it", "prompt")
            check_tokens("prompt", prompt, vocabulary)
        if most > options.most_tokens:
            raise GlasshouseError(f"is above the limit; choose {options.most_tokens} or less", "max_tokens", most)
        if len(prompts) * (self.n or 1) > MOST_TEXTS:
            raise GlasshouseError(
                f"for {len(prompts)} prompts makes too many texts; ask for {MOST_TEXTS} or less", "n", self.n
            )
        bias = {int(key): value for key, value in (self.logit_bias or {}).items()}
        check_tokens("logit_bias", list(bias), vocabulary)
        schema = None if self.response_format is None else self.response_format.grammar
        constraint = None
        if schema is not None or self.regex is not None:
            constraint = await anyio.to_thread.run_sync(run.constraint, self.regex, schema)
        sampling = Sampling(
            presence_penalty=self.presence_penalty or 0.0,
            frequency_penalty=self.frequency_penalty or 0.0,
            temperature=1.0 if self.temperature is None else self.temperature,
            top_k=self.top_k or 0,
            top_p=1.0 if self.top_p is None else self.top_p,
            seed=secrets.randbits(62) if self.seed is None else self.seed % 2**63,
        )
        own = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return TextJob(
            prompts, sampling, most, self.n or 1, (*own, *stops), bias=bias, constraint=constraint, seconds=options.seconds
        )


class CompletionRequest(TextRequest):
    prompt: (
        str
        | Annotated[list[Token], Field(min_length=1)]
        | Annotated[list[str], Field(min_length=1, max_length=MOST_PROMPTS)]
        | Annotated[list[Annotated[list[Token], Field(min_length=1)]], Field(min_length=1, max_length=MOST_PROMPTS)]
    ) = ""
    max_tokens: int | None = Field(16, ge=0)
    logprobs: int | None = Field(None, ge=0, le=20)
    echo: bool | None = False
    return_tokens_as_token_ids: bool | None = Field(
        False, description="Not in the OpenAI API. Show tokens as token_id:NUMBER in logprobs, as vLLM does."
    )
    best_of: int | None = Field(None, description="Only the value of n is possible.")
    suffix: str | None = Field(None, max_length=0, description="Not supported.")

    @property
    def prompts(self) -> list[str | list[int]]:
        one = isinstance(self.prompt, str) or isinstance(self.prompt[0], int)
        every: list[Any] = [self.prompt] if one else list(self.prompt)
        return every

    async def job(self, run: Run, options: ServerOptions) -> TextJob:
        if self.best_of not in (None, self.n or 1):
            raise GlasshouseError(f"is not supported; leave it out, or choose n={self.n or 1}", "best_of", self.best_of)
        prompts = [encode_prompt(run.tokenizer, each) if isinstance(each, str) else each for each in self.prompts]
        job = await self._job(run, options, prompts, 16 if self.max_tokens is None else self.max_tokens)
        job.alternatives, job.score_prompts = self.logprobs or 0, bool(self.echo) and self.logprobs is not None
        return job


class ContentPart(_Body):
    """A part of a message. Only text is understood."""

    type: Literal["text"]
    text: str


class ChatMessage(_Body):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[ContentPart] | None = ""

    @property
    def text(self) -> str:
        """The text of a message, whose content may be a list of parts."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "".join(part.text for part in self.content)


class ChatRequest(TextRequest):
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    logprobs: bool | None = False
    top_logprobs: int | None = Field(None, ge=0, le=20)

    async def job(self, run: Run, options: ServerOptions) -> TextJob:
        """A plain language model gets the chat as one text: "User: ...", then "Assistant:"."""
        if self.top_logprobs and not self.logprobs:
            raise GlasshouseError("needs logprobs; set logprobs to true", "top_logprobs", self.top_logprobs)
        messages = [Message("system" if m.role == "developer" else m.role, m.text) for m in self.messages]
        text, stops = render_chat(messages)
        prompt = encode_prompt(run.tokenizer, text)
        room = max(min(run.spec.data.context - len(prompt), options.most_tokens), 1)
        job = await self._job(run, options, [prompt], self.max_completion_tokens or self.max_tokens or room, stops)
        job.alternatives = self.top_logprobs or 0
        return job


class TokenizeRequest(_ModelBody):
    prompt: str


class DetokenizeRequest(_ModelBody):
    tokens: Annotated[list[Token], Field(max_length=100_000)]


class EmbeddingRequest(_ModelBody):
    input: Texts
    encoding_format: Literal["float", "base64"] | None = "float"


class ClassifyRequest(_ModelBody):
    """`second` has the second texts of pairs."""

    input: Texts
    second: Texts | None = None


class TranslateRequest(_ModelBody):
    input: Texts
    beams: int | None = Field(None, ge=1, le=16)


def check_tokens(field: str, tokens: Sequence[int], vocabulary: int) -> None:
    """Refuse tokens that are not in the vocabulary."""
    if beyond := [token for token in tokens if token >= vocabulary]:
        raise GlasshouseError(f"token {beyond[0]} is not in the vocabulary; choose tokens below {vocabulary}", field)
