"""Errors in the shape of the OpenAI API, and which status each has."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from glasshouse.serving import answers
from glasshouse.specs.errors import GlasshouseError

STATUS_OF_ERRORS = {"queue-full": 429, "time-limit": 504, "server-stops": 503}
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


class BadRequest(GlasshouseError):
    """A bad value of a field."""

    def __init__(self, field: str, message: str, kind: str) -> None:
        super().__init__(kind, message)
        self.field = field


def bad_field(field: str, message: str, kind: str = "invalid_value") -> GlasshouseError:
    return BadRequest(field, message, kind)


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
        status = STATUS_OF_ERRORS.get(error.code, 400)
        kind = KINDS_OF_ERRORS.get(status, "invalid_request_error" if status == 400 else "server_error")
        headers = {"Retry-After": "1"} if status == 429 else None
        field = getattr(error, "field", None)
        return JSONResponse(answers.error(str(error), kind, field, error.code), status, headers=headers)
