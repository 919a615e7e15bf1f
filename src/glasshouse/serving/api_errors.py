"""Errors in the shape of the OpenAI API, and which status each has."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from glasshouse.serving import answers
from glasshouse.serving.batcher import QueueFull, ServerStops, TimeLimit
from glasshouse.specs.errors import GlasshouseError

STATUS_OF_ERRORS: dict[type[GlasshouseError], int] = {QueueFull: 429, TimeLimit: 504, ServerStops: 503}
KINDS_OF_ERRORS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {"application/json": {"schema": {"type": "object"}}}}
    for status, text in {
        400: "a bad request",
        401: "the key is missing or wrong",
        404: "no such model",
        413: "the body is too large",
        429: "too many requests are waiting",
        503: "the server is being stopped",
        504: "the request took too long",
    }.items()
}


class PromptTooLong(GlasshouseError):
    """A prompt that is longer than the context of the model."""


def handle_errors(app: FastAPI) -> None:
    """Errors in the shape of the OpenAI API."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        field = next((part for part in first["loc"][1:2] if isinstance(part, str)), None)
        return JSONResponse(answers.error(f"{field or 'the body'}: {first['msg']}", param=field, code="invalid_value"), 400)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse(answers.error(f"the server failed: {error}", "server_error"), 500)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        kind = KINDS_OF_ERRORS.get(error.status_code, "invalid_request_error")
        code = "model_not_found" if error.status_code == 404 and "model" in str(error.detail) else None
        return JSONResponse(answers.error(str(error.detail), kind, code=code), error.status_code, headers=error.headers)

    @app.exception_handler(GlasshouseError)
    async def wrong(request: Request, error: GlasshouseError) -> JSONResponse:
        status = STATUS_OF_ERRORS.get(type(error), 400)
        kind = KINDS_OF_ERRORS.get(status, "invalid_request_error" if status == 400 else "server_error")
        headers = {"Retry-After": "1"} if status == 429 else None
        # Clients know this code; it tells them to send less.
        code = "context_length_exceeded" if isinstance(error, PromptTooLong) else "invalid_value" if status == 400 else None
        return JSONResponse(answers.error(str(error), kind, error.field or None, code), status, headers=headers)
