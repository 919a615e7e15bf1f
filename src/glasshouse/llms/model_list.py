"""Named language models: the file `llms.toml`, and how a name becomes a model.

A name that the file does not have may be `run:NAME`, the bare name of a run, or `gguf:FILE`. Nothing here goes over the
network; a model of the kind `openai` does, when it is asked.
"""

import math
import os
import re
import tomllib
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from glasshouse.llms.gguf_model import GGUFModel
from glasshouse.llms.http_endpoint import HTTPEndpoint
from glasshouse.llms.language_model import LanguageModel, Message, Reply
from glasshouse.llms.openai_model import OpenAIModel
from glasshouse.llms.run_model import RunModel
from glasshouse.runs.run import Run
from glasshouse.specs import toml_text
from glasshouse.specs.errors import GlasshouseError, UnknownRun

FILE: Final = "llms.toml"
KINDS: Final = ("run", "gguf", "openai")
REMOTE_FIELDS: Final = ("base_url", "key_env", "requests_per_minute", "timeout", "vocabulary")
FIELDS: Final = ("model", "context", "price_per_million", *REMOTE_FIELDS)
PRICES: Final = ("prompt", "tokens")
# Fields that would hold a key.
KEY_FIELDS: Final = re.compile(r"(^|_)(key|keys|apikey|token|secret|password|authorization|bearer)$")
ENVIRONMENT_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TIMEOUT: Final = 120.0
MILLION: Final = 1e6


class NamedLanguageModel(LanguageModel, Protocol):
    """A language model that knows its context (in tokens; 0: not known) and what distinguishes it."""

    context: int

    def identity(self) -> str:
        """What distinguishes this model from one of the same name."""

    def chat_tokens(self, messages: Sequence[Message]) -> int:
        """The number of tokens of a chat, or about that."""


@dataclass(frozen=True)
class ModelEntry:
    """A model by its name. `price` is that of a token of the prompt and of the answer; None: not known."""

    name: str
    kind: str
    target: str
    folder: Path  # from which a relative path of a GGUF file leads
    price: tuple[float, float] | None = None
    context: int = 0
    base_url: str = ""
    key_env: str = ""
    requests_per_minute: float = 0.0
    timeout: float = TIMEOUT
    vocabulary: int = 0  # 0: not known

    @property
    def remote(self) -> bool:
        """Whether the model is behind an HTTP server."""
        return self.kind == "openai"

    def cost(self, reply: Reply) -> float | None:
        """The price of an answer; None if no price is stated."""
        if self.price is None:
            return None
        return self.price[0] * reply.prompt_tokens + self.price[1] * reply.tokens

    def open(self, device: str = "auto") -> NamedLanguageModel:
        """The model. A run's weights are loaded and llama.cpp is started when it is first asked."""
        if self.kind == "run":
            return RunModel(Run(self.target, device), self.name)
        if self.kind == "gguf":
            return GGUFModel(self.folder / self.target, self.name, device, self.context)
        endpoint = HTTPEndpoint(self.base_url, self._key(), self.timeout, None, self.requests_per_minute)
        return OpenAIModel(self.target, endpoint, self.name, self.context)

    def _key(self) -> str:
        key = os.environ.get(self.key_env, "") if self.key_env else ""
        if self.key_env and not key:
            raise GlasshouseError(
                f"the key of the model {self.name!r} is missing: the environment variable {self.key_env} is not set; set it"
            )
        return key


def open_language_model(name: str, file: Path | None = None, device: str = "auto") -> LanguageModel:
    """The model of this name: from `file` (default: ./llms.toml, if it exists), else a run or a GGUF file."""
    return find_model(name, file).open(device)


def find_model(name: str, file: Path | None = None) -> ModelEntry:
    """The entry of a name. Nothing is opened yet, but the run or the file must exist."""
    listed = read_model_list(file)
    if name in listed:
        return _existing(listed[name], listed)
    kind, colon, target = name.partition(":")
    if colon and kind == "openai":
        raise GlasshouseError(
            f"the model {name!r} needs the address of its server; add a table to {file or FILE}: "
            f'[models.NAME] with model = "{name}" and base_url = "https://..."'
        )
    if not colon or kind not in KINDS:
        kind, target = "run", name
    return _existing(ModelEntry(name, kind, target, Path()), listed)


def read_model_list(file: Path | None = None) -> dict[str, ModelEntry]:
    """Name -> entry, from a file. Without a name, ./llms.toml is read if it exists."""
    path = Path(FILE) if file is None else file
    if file is None and not path.exists():
        return {}
    try:
        content = toml_text.read(path)
    except FileNotFoundError:
        raise GlasshouseError(f"there is no file {path} with models; check --config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GlasshouseError(f"{path} is not a TOML file: {error}; correct it") from None
    tables = content.pop("models", {})
    if content or not isinstance(tables, dict):
        extra = f"has {', '.join(content)}" if content else "has no tables in models"
        raise GlasshouseError(f"{path} {extra}; write each model as a table [models.NAME]")
    return {name: _entry(path, name, table) for name, table in tables.items()}


def _entry(path: Path, name: str, table: Any) -> ModelEntry:
    where = f"[models.{name}] of {path}"
    if not isinstance(table, dict):
        raise GlasshouseError(f'{where} is not a table; write [models.{name}] and model = "run:NAME"')
    _refuse_keys(where, table)
    for field in table:
        if field not in FIELDS:
            raise GlasshouseError(f"{where} has an unknown field {field!r}; the fields are: {', '.join(FIELDS)}")
    kind, colon, target = str(table.get("model", "")).partition(":")
    if not colon or kind not in KINDS or not target:
        raise GlasshouseError(
            f"in {where} names no model; write run:NAME, gguf:FILE or openai:MODEL", "model", table.get("model", "")
        )
    if kind != "openai" and (needless := [field for field in REMOTE_FIELDS if field in table]):
        raise GlasshouseError(f"{needless[0]} in {where} does not apply to {kind}:{target}; it is for openai models alone")
    base_url = table.get("base_url", "")
    if kind == "openai":
        _check_address(where, base_url)
    return ModelEntry(
        name,
        kind,
        target,
        path.parent,
        _price(where, table.get("price_per_million")),
        int(_number(where, "context", table.get("context", 0))),
        base_url,
        table.get("key_env", ""),
        _number(where, "requests_per_minute", table.get("requests_per_minute", 0)),
        _number(where, "timeout", table.get("timeout", TIMEOUT), above_zero=True),
        int(_number(where, "vocabulary", table.get("vocabulary", 0))),
    )


def _refuse_keys(where: str, table: Mapping[str, Any]) -> None:
    """Refuse a key in the file, and never repeat it: files are shared, and terminals are recorded."""
    for field in table:
        if KEY_FIELDS.search(field.lower().replace("-", "_")):
            raise GlasshouseError(
                f"{where} holds a key in {field!r}; delete it there, put it in an environment variable, "
                f'and write key_env = "NAME_OF_THE_VARIABLE"'
            )
    name = table.get("key_env", "")
    if not isinstance(name, str) or (name and not ENVIRONMENT_NAME.fullmatch(name)):
        raise GlasshouseError(
            f"key_env in {where} is not the name of an environment variable; write the name, never the key itself"
        )


def _check_address(where: str, address: Any) -> None:
    if not isinstance(address, str) or not address:
        raise GlasshouseError(f'{where} names no server; add base_url = "https://...", the address before /chat/completions')
    try:
        parts = urllib.parse.urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise GlasshouseError(f"in {where} is no address; write https://HOST/v1", "base_url", address)
    if parts.username or parts.password or parts.query:
        raise GlasshouseError(f"base_url in {where} has a part that may be a key; write the address alone, and name key_env")


def _price(where: str, table: Any) -> tuple[float, float] | None:
    if table is None:
        return None
    if not isinstance(table, dict) or sorted(table) != sorted(PRICES):
        raise GlasshouseError(f"price_per_million in {where} is not {{prompt = NUMBER, tokens = NUMBER}}; write both")
    prompt, tokens = (_number(where, f"price_per_million.{name}", table[name]) / MILLION for name in PRICES)
    return prompt, tokens


def _number(where: str, field: str, value: Any, above_zero: bool = False) -> float:
    """A number of 0 or more."""
    valid = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
    if not valid or (above_zero and value == 0):
        raise GlasshouseError(
            f"{field}={value!r} in {where} is not a number {'above 0' if above_zero else 'of 0 or more'}; correct it"
        )
    return float(value)


def _existing(entry: ModelEntry, listed: Mapping[str, ModelEntry]) -> ModelEntry:
    """Refuse a run that does not exist, before any work."""
    if entry.kind != "run":
        return entry
    try:
        Run(entry.target, "cpu")
    except UnknownRun as error:
        if entry.name != entry.target:
            raise
        known = f"; models of the list: {', '.join(listed)}" if listed else f"; there is no list of models ({FILE})"
        raise GlasshouseError(f"{entry.name!r} is neither a model of the list nor a run: {error}{known}") from None
    return entry
