"""The bodies of requests, in the shapes of the OpenAI API. Unknown fields are ignored, as clients send many."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt

Token = Annotated[StrictInt, Field(ge=0, lt=2**31)]
MOST_CHOICES, MOST_PROMPTS, MOST_TEXTS, MOST_STOPS, MOST_BIASES = 16, 64, 128, 4, 1024


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class StreamOptions(_Body):
    include_usage: bool = False


class JSONSchema(_Body):
    """`schema` is a JSON schema; its name and description are ignored."""

    given: dict[str, Any] | bool = Field(True, alias="schema")


class ResponseFormat(_Body):
    """The form of the answer: any text, any JSON, or JSON by a schema."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: JSONSchema | None = None


class _Generation(_Body):
    """What both kinds of requests for text have in common."""

    model: str
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
    logit_bias: dict[str, Annotated[float, Field(ge=-100, le=100)]] | None = Field(None, max_length=MOST_BIASES)
    response_format: ResponseFormat | None = Field(None, description="The text is JSON, by a schema if one is given.")
    regex: str | None = Field(None, max_length=10_000, description="Not in the OpenAI API. The text matches this pattern.")
    user: str | None = None


class CompletionRequest(_Generation):
    """The body of /v1/completions."""

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


class ContentPart(_Body):
    """A part of a message. Only text is understood."""

    type: Literal["text"]
    text: str


class ChatMessage(_Body):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[ContentPart] | None = ""
    name: str | None = None

    @property
    def text(self) -> str:
        """The text of a message, whose content may be a list of parts."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "".join(part.text for part in self.content)


class ChatRequest(_Generation):
    """The body of /v1/chat/completions."""

    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    logprobs: bool | None = False
    top_logprobs: int | None = Field(None, ge=0, le=20)


class TokenizeRequest(_Body):
    """The body of /v1/tokenize."""

    model: str
    prompt: str


class DetokenizeRequest(_Body):
    """The body of /v1/detokenize."""

    model: str
    tokens: Annotated[list[Token], Field(max_length=100_000)]


class EmbeddingRequest(_Body):
    """The body of /v1/embeddings."""

    model: str
    input: str | Annotated[list[str], Field(min_length=1, max_length=2048)]
    encoding_format: Literal["float", "base64"] | None = "float"
    user: str | None = None


class ClassifyRequest(_Body):
    """The body of /v1/classify. `second` has the second texts of pairs."""

    model: str
    input: str | Annotated[list[str], Field(min_length=1, max_length=2048)]
    second: str | Annotated[list[str], Field(min_length=1, max_length=2048)] | None = None


class TranslateRequest(_Body):
    """The body of /v1/translate."""

    model: str
    input: str | Annotated[list[str], Field(min_length=1, max_length=2048)]
    beams: int | None = Field(None, ge=1, le=16)
