"""Named language models: the file `llms.toml`, and how a name becomes a model.

A name that the file does not have may be `run:NAME`, the bare name of a run, or `gguf:FILE`. Nothing here goes over the
network; a model of the kind `openai` does, when it is asked.
"""

import os
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Final

from glasshouse.llms.http_endpoint import HTTPEndpoint
from glasshouse.llms.language_model import LanguageModel, Reply
from glasshouse.llms.local_models import GGUFModel, RunModel
from glasshouse.llms.openai_model import OpenAIModel
from glasshouse.records.kept_schema import Between, Count, as_type
from glasshouse.records.user_paths import StrPath
from glasshouse.runs.run import Run
from glasshouse.specs import toml_text
from glasshouse.specs.errors import GlasshouseError, UnknownRun

FILE: Final = "llms.toml"
KINDS: Final = ("run", "gguf", "openai")
ENVIRONMENT_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MILLION: Final = 1e6
NotNegative = Annotated[float, Between(0, 1e12)]


@dataclass
class _Prices:
    """In any currency, for a million tokens of the prompt and of the answer."""

    prompt: NotNegative
    tokens: NotNegative


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """What a table of the file may say of a model. All but `context` is for openai models alone. vocabulary 0: not known."""

    context: Count = 0
    base_url: str = ""
    key_env: str = ""
    requests_per_minute: NotNegative = 0.0
    timeout: Annotated[float, Between(1e-3, 1e9)] = 120.0
    vocabulary: Count = 0


@dataclass(frozen=True, kw_only=True)
class _ModelTable(ModelSettings):
    """A table of the file. `model` is run:NAME, gguf:FILE or openai:MODEL."""

    model: str
    price_per_million: _Prices | None = None


@dataclass
class _ModelFile:
    models: dict[str, _ModelTable] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelEntry(ModelSettings):
    """A model by its name. `price` is that of a token of the prompt and of the answer; None: not known."""

    name: str
    kind: str
    target: str
    folder: Path  # from which a relative path of a GGUF file leads
    price: tuple[float, float] | None = None

    @property
    def remote(self) -> bool:
        """Whether the model is behind an HTTP server."""
        return self.kind == "openai"

    def cost(self, reply: Reply) -> float | None:
        """The price of an answer; None if no price is stated."""
        if self.price is None:
            return None
        return self.price[0] * reply.prompt_tokens + self.price[1] * reply.tokens

    def open(self, device: str = "auto") -> LanguageModel:
        """The model. A run's weights are loaded and llama.cpp is started when it is first asked."""
        if self.kind == "run":
            return RunModel(Run(self.target, device), self.name)
        if self.kind == "gguf":
            return GGUFModel(self.folder / self.target, self.name, device, self.context)
        endpoint = HTTPEndpoint(self.base_url, self._key(), self.timeout, self.requests_per_minute)
        return OpenAIModel(self.target, endpoint, self.name, self.context)

    def _key(self) -> str:
        key = os.environ.get(self.key_env, "") if self.key_env else ""
        if self.key_env and not key:
            raise GlasshouseError(
                f"the key of the model {self.name!r} is missing: the environment variable {self.key_env} is not set; set it"
            )
        return key


def find_model(name: str, file: StrPath | None = None) -> ModelEntry:
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


def read_model_list(file: StrPath | None = None) -> dict[str, ModelEntry]:
    """Name -> entry, from a file. Without a name, ./llms.toml is read if it exists."""
    path = Path(FILE if file is None else file)
    if file is None and not path.exists():
        return {}
    try:
        tables = as_type(toml_text.read(path), _ModelFile).models
    except OSError as error:
        raise GlasshouseError(f"{path} cannot be read ({error.strerror}); check --config") from None
    except ValueError as error:  # an unknown field, which may hold a key, is named without its value
        raise GlasshouseError(
            f"{path} is not a TOML list of models: {error}; write each model as a table [models.NAME] with the fields "
            f"{', '.join(each.name for each in fields(_ModelTable))}; key_env names the environment variable of a key"
        ) from None
    return {name: _entry(path, name, table) for name, table in tables.items()}


def _entry(path: Path, name: str, table: _ModelTable) -> ModelEntry:
    where = f"[models.{name}] of {path}"
    kind, _, target = table.model.partition(":")
    if kind not in KINDS or not target:
        raise GlasshouseError(f"in {where} names no model; write run:NAME, gguf:FILE or openai:MODEL", "model", table.model)
    given = {each.name: vars(table)[each.name] for each in fields(ModelSettings) if vars(table)[each.name] != each.default}
    if kind == "openai":
        _check_address(where, table.base_url)
    elif remote := [field for field in given if field != "context"]:
        raise GlasshouseError(f"{remote[0]} in {where} does not apply to {kind}:{target}; it is for openai models alone")
    if table.key_env and not ENVIRONMENT_NAME.fullmatch(table.key_env):
        raise GlasshouseError(
            f"key_env in {where} is not the name of an environment variable; write the name, never the key itself"
        )
    prices = table.price_per_million
    price = None if prices is None else (prices.prompt / MILLION, prices.tokens / MILLION)
    return ModelEntry(name, kind, target, path.parent, price, **given)


def _check_address(where: str, address: str) -> None:
    try:
        parts = urllib.parse.urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise GlasshouseError(
            f"in {where} is no address; write https://HOST/v1, the address before /chat/completions", "base_url", address
        )
    if parts.username or parts.password or parts.query:
        raise GlasshouseError(f"base_url in {where} has a part that may be a key; write the address alone, and name key_env")


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
