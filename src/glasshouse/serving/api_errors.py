"""Errors in the shape of the OpenAI API, and the status of each."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from glasshouse.serving.batcher import QueueFull, ServerStops, TimeLimit
from glasshouse.specs.errors import GlasshouseError

STATUSES: dict[type[GlasshouseError], int] = {QueueFull: 429, TimeLimit: 504, ServerStops: 503}
KINDS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
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


def error_body(message: str, status: int = 500, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    kind = KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def error_answer(
    status: int, message: str, param: str | None = None, code: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    return JSONResponse(error_body(message, status, param, code), status, headers)


def handle_errors(app: FastAPI) -> None:
    """Answer every error of the application in the shape of the API."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        field = next((part for part in first["loc"][1:2] if isinstance(part, str)), None)
        return error_answer(400, f"{field or 'the body'}: {first['msg']}", field, "invalid_value")

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> JSONResponse:
        return error_answer(500, f"the server failed: {error}")

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        code = "model_not_found" if error.status_code == 404 and "model" in str(error.detail) else None
        return error_answer(error.status_code, str(error.detail), code=code, headers=error.headers)

    @app.exception_handler(GlasshouseError)
    async def wrong(request: Request, error: GlasshouseError) -> JSONResponse:
        status = STATUSES.get(type(error), 400)
        # Clients know the first of these codes; it tells them to send less.
        code = "context_length_exceeded" if isinstance(error, PromptTooLong) else "invalid_value" if status == 400 else None
        return error_answer(status, str(error), error.field or None, code, {"Retry-After": "1"} if status == 429 else None)
