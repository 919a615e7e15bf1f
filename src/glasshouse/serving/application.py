"""The HTTP application: the endpoints of the OpenAI API over runs, those for other kinds of runs, and a page."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from glasshouse.generation.text_stream import encode_prompt
from glasshouse.llms.language_model import Message, render_chat
from glasshouse.pages import playground_page
from glasshouse.runs.run import Run, Translation
from glasshouse.serving import answers
from glasshouse.serving.api_errors import ERRORS, handle_errors
from glasshouse.serving.batcher import Batcher, Piece, PromptScores
from glasshouse.serving.guard import Guard
from glasshouse.serving.measurements import ServerMeasurements
from glasshouse.serving.requests import (
    ChatRequest,
    ClassifyRequest,
    CompletionRequest,
    DetokenizeRequest,
    EmbeddingRequest,
    TokenizeRequest,
    TranslateRequest,
)
from glasshouse.serving.served_model import ServedModel, ServerOptions
from glasshouse.serving.text_answer import TextAnswer
from glasshouse.serving.text_jobs import check_tokens, constraint_of, prompts_of, text_job
from glasshouse.specs.errors import GlasshouseError
from glasshouse.version import __version__

# An answer with text is one object, or a stream of events.
STREAM: dict[int | str, dict[str, Any]] = {200: {"description": "the answer", "content": {"text/event-stream": {}}}}


def create_app(runs: Mapping[str, Run], options: ServerOptions | None = None) -> ASGIApp:
    """The application that serves these runs by their names."""
    options = options or ServerOptions()
    models = {name: ServedModel(run, options) for name, run in runs.items()}
    batchers = {name: model.batcher for name, model in models.items() if model.batcher is not None}
    measurements = ServerMeasurements(batchers)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for batcher in batchers.values():
            await anyio.to_thread.run_sync(batcher.stop, options.seconds)

    app = FastAPI(title="Glasshouse", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    handle_errors(app)

    @app.get("/health")
    async def health() -> dict[str, Any]:
        """Whether the server answers, and how much it has to do."""
        return {
            "status": "ok",
            "active": sum(batcher.active for batcher in batchers.values()),
            "waiting": sum(batcher.waiting for batcher in batchers.values()),
        }

    @app.get("/metrics", response_class=PlainTextResponse, responses={401: ERRORS[401]})
    async def metrics() -> Response:
        """ServerMeasurements in the format of Prometheus."""
        return Response(measurements.text(), media_type="text/plain; version=0.0.4")

    @app.get("/", response_class=HTMLResponse, responses={401: ERRORS[401]})
    async def page() -> HTMLResponse:
        """A page to try the models."""
        others = [(name, model.path) for name, model in models.items() if model.batcher is None]
        return HTMLResponse(playground_page.render(list(batchers), others, options.most_tokens))

    @app.get("/v1/models", responses={401: ERRORS[401]})
    async def list_models() -> dict[str, Any]:
        """The models."""
        return {"object": "list", "data": [model.description for model in models.values()]}

    @app.get("/v1/models/{name:path}", responses={401: ERRORS[401], 404: ERRORS[404]})
    async def describe_model(name: str) -> dict[str, Any]:
        """One model."""
        return find(name).description

    def find(name: str) -> ServedModel:
        if name not in models:
            raise HTTPException(404, f"The model {name!r} does not exist; choose one of: {', '.join(models)}")
        return models[name]

    def language_model(name: str) -> tuple[ServedModel, Batcher]:
        model = find(name)
        if model.batcher is None:
            raise GlasshouseError(f"{name} does not continue a text; use /v1/classify, /v1/translate or /v1/embeddings")
        return model, model.batcher

    @app.post("/v1/completions", responses=STREAM | ERRORS)
    async def completions(body: CompletionRequest, request: Request) -> Response:
        """Continue texts."""
        model, batcher = language_model(body.model)
        tokenizer, context = model.run.tokenizer, model.run.spec.data.context
        texts, prompts = prompts_of(body.prompt, tokenizer)
        count, echo = body.n or 1, bool(body.echo)
        if body.best_of not in (None, count):
            raise GlasshouseError(f"is not supported; leave it out, or choose n={count}", "best_of", body.best_of)
        job = text_job(
            body, prompts, context, tokenizer.vocabulary, options, 16 if body.max_tokens is None else body.max_tokens
        )
        job.alternatives = body.logprobs or 0
        job.constraint = await constraint_of(body, model.run)
        job.score_prompts = echo and body.logprobs is not None
        head = answers.envelope("text_completion", body.model)
        choices = [answers.TextChoice(index) for index in range(len(prompts) * count)]
        for choice in choices if echo else ():
            choice.text, choice.first_token = texts[choice.index // count], prompts[choice.index // count][0]

        def chunk(choice: answers.TextChoice, text: str, tokens: list[Any], offset: int) -> dict[str, Any]:
            log_probabilities = None
            if body.logprobs is not None:
                log_probabilities = answers.completion_log_probabilities(
                    tokenizer, tokens, choice.first_token, body.logprobs, offset, bool(body.return_tokens_as_token_ids)
                )
            return {
                "index": choice.index,
                "text": text,
                "finish_reason": answers.FINISH_REASONS[choice.finish] if choice.finish else None,
                "logprobs": log_probabilities,
            }

        def update(event: Any) -> list[dict[str, Any]]:
            """Take in an event; the chunks that a stream sends for it."""
            if isinstance(event, PromptScores):
                for choice in choices:
                    choice.tokens = list(event.scores[choice.index // count])
                return [chunk(choice, choice.text, choice.tokens, 0) for choice in choices]
            choice = choices[event.choice]
            choice.finish, offset = event.finish, len(choice.text)
            choice.text += event.text
            # Who wants the numbers of tokens wants that of the end token too; in a text it has no place.
            end = [event.end] if event.end is not None and body.return_tokens_as_token_ids else []
            choice.tokens += [*event.tokens, *end]
            return [chunk(choice, event.text, [*event.tokens, *end], offset)]

        answer = TextAnswer(
            job, batcher, measurements, options, head, len(choices), sum(map(len, prompts)), bool(body.stream)
        )
        if body.stream:
            first = [chunk(choice, choice.text, [], 0) for choice in choices] if echo and not job.score_prompts else []
            return answer.stream(update, first, bool(body.stream_options and body.stream_options.include_usage))
        await answer.collect(update, request)
        return answer.whole([chunk(choice, choice.text, choice.tokens, 0) for choice in choices])

    @app.post("/v1/chat/completions", responses=STREAM | ERRORS)
    async def chat(body: ChatRequest, request: Request) -> Response:
        """Answer a chat. A plain language model gets the chat as one text: "User: ...", then "Assistant:"."""
        model, batcher = language_model(body.model)
        tokenizer, context = model.run.tokenizer, model.run.spec.data.context
        messages = [Message("system" if m.role == "developer" else m.role, m.text) for m in body.messages]
        prompt, template_stops = render_chat(messages)
        prompts = [encode_prompt(tokenizer, prompt)]
        if body.top_logprobs and not body.logprobs:
            raise GlasshouseError("needs logprobs; set logprobs to true", "top_logprobs", body.top_logprobs)
        asked = body.max_completion_tokens or body.max_tokens
        most = asked or max(min(context - len(prompts[0]), options.most_tokens), 1)
        job = text_job(body, prompts, context, tokenizer.vocabulary, options, most, template_stops)
        job.alternatives = body.top_logprobs or 0
        job.constraint = await constraint_of(body, model.run)
        count = body.n or 1
        texts, tokens, finishes = [""] * count, [[] for _ in range(count)], [""] * count  # type: ignore[var-annotated]

        def log_probabilities(sampled: Any) -> dict[str, Any] | None:
            return answers.chat_log_probabilities(tokenizer, sampled, job.alternatives) if body.logprobs else None

        def update(event: Piece) -> list[dict[str, Any]]:
            index = event.choice
            text = event.text if texts[index] else event.text.lstrip()
            texts[index] += text
            tokens[index] += event.tokens
            finishes[index] = event.finish or ""
            return [
                {
                    "index": index,
                    "delta": {"content": text},
                    "logprobs": log_probabilities(event.tokens),
                    "finish_reason": answers.FINISH_REASONS[event.finish] if event.finish else None,
                }
            ]

        kind = "chat.completion.chunk" if body.stream else "chat.completion"
        answer = TextAnswer(
            job,
            batcher,
            measurements,
            options,
            answers.envelope(kind, body.model),
            count,
            len(prompts[0]),
            bool(body.stream),
        )
        if body.stream:
            first = [
                {"index": index, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
                for index in range(count)
            ]
            return answer.stream(update, first, bool(body.stream_options and body.stream_options.include_usage))
        await answer.collect(update, request)
        return answer.whole(
            [
                {
                    "index": index,
                    "message": {"role": "assistant", "content": texts[index], "refusal": None},
                    "logprobs": log_probabilities(tokens[index]),
                    "finish_reason": answers.FINISH_REASONS[finishes[index]],
                }
                for index in range(count)
            ]
        )

    @app.post("/v1/tokenize", responses=ERRORS)
    async def tokenize(body: TokenizeRequest) -> dict[str, Any]:
        """The tokens of a text, as a prompt has them."""
        tokens = encode_prompt(find(body.model).run.tokenizer, body.prompt)
        return {"tokens": tokens, "count": len(tokens)}

    @app.post("/v1/detokenize", responses=ERRORS)
    async def detokenize(body: DetokenizeRequest) -> dict[str, Any]:
        """The text of tokens."""
        tokenizer = find(body.model).run.tokenizer
        check_tokens("tokens", body.tokens, tokenizer.vocabulary)
        return {"prompt": tokenizer.decode(body.tokens)}

    @app.post("/v1/embeddings", responses=ERRORS)
    async def embeddings(body: EmbeddingRequest) -> dict[str, Any]:
        """One vector for each text, from an encoder."""
        run, texts = find(body.model).run, _texts(body.input)
        vectors = await find(body.model).call(lambda: run.embed(texts).float().cpu().tolist())
        count = sum(len(run.tokenizer.encode(text, specials=False)) for text in texts)
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": answers.vector(each, body.encoding_format or "float")}
                for index, each in enumerate(vectors)
            ],
            "model": body.model,
            "usage": {"prompt_tokens": count, "total_tokens": count},
        }

    @app.post("/v1/classify", responses=ERRORS)
    async def classify(body: ClassifyRequest) -> dict[str, Any]:
        """What a run predicts for each text: its class or classes with their probabilities, its number, or its tags."""
        model, texts = find(body.model), _texts(body.input)
        second = None if body.second is None else _texts(body.second)
        rows = await model.call(lambda: model.run.predict(texts, second))
        data = [{"index": index, **row} for index, row in enumerate(rows)]
        return {"object": "list", "data": data, "model": body.model}

    @app.post("/v1/translate", responses=ERRORS)
    async def translate(body: TranslateRequest) -> dict[str, Any]:
        """The best translation of each text, from a translator."""
        model, texts = find(body.model), _texts(body.input)
        given = [text for text in texts if text.strip()]
        rows = iter(await model.call(lambda: model.run.translate(given, beams=body.beams)))
        # An empty text has no translation.
        best = [next(rows)[0] if text.strip() else Translation("", 0.0, False) for text in texts]
        data = [
            {"index": index, "text": each.text, "score": each.score, "truncated": each.truncated}
            for index, each in enumerate(best)
        ]
        return {"object": "list", "data": data, "model": body.model}

    plain_description = app.openapi

    def description() -> dict[str, Any]:
        """The description of the API; it names the models."""
        described = plain_description()
        for schema in described["components"]["schemas"].values():
            if "model" in schema.get("properties", {}):
                schema["properties"]["model"]["enum"] = list(models)
        return described

    app.openapi = description  # type: ignore[method-assign]
    return Guard(app, options.api_key, options.most_bytes, measurements)


def _texts(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given
