"""Which tokens may come next, so that a text has the form of a regular expression or of a JSON schema.

The package llguidance knows which tokens keep a text in its form. Tokens may split characters. A text can still reach a
point where no token of the vocabulary continues it, say where a model without digits needs one: it fails with an error.

Axes: V vocabulary.
"""

import functools
import itertools
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final, cast

import numpy as np
import torch

from glasshouse.specs.errors import GlasshouseError, MissingExtra
from glasshouse.tokenizers import Tokenizer

MAX_LENGTH: Final = 20_000
"""The characters of a pattern."""

MAX_SCHEMAS: Final = 1_000
"""The schemas within a schema, such as one for each property."""

SMALL_VOCABULARY: Final = 500
"""For a pattern, a vocabulary of so many tokens is a part of the form, so that no text of it reaches a dead end."""

# The supported keywords, by what their value holds: no schema, a schema, a list of schemas, or schemas by name.
_PLAIN: Final = frozenset(
    ("type", "enum", "const", "$ref", "required", "minProperties", "maxProperties", "minItems", "maxItems", "minLength")
    + ("maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "title")
    + ("description", "$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly")
)
_ONE: Final = frozenset(("items", "additionalProperties"))
_SEVERAL: Final = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
_NAMED: Final = frozenset(("properties", "patternProperties", "$defs", "definitions"))
_COMBINING: Final = frozenset(("$ref", "anyOf", "oneOf", "allOf", "patternProperties"))

# Compact JSON. No other escapes: with \u, an additional property could have the name of one whose schema it breaks.
_JSON_TEXT: Final = {
    "whitespace_flexible": False,
    "item_separator": ", ?",
    "key_separator": ": ?",
    "json_allowed_escapes": 'nrbtf\\"',
    "coerce_one_of": True,
}


class TokenConstraint:
    """A form of text, written with the tokens of a vocabulary. The rows of a batch may share it.

    `end_tokens` end a text; by default the tokenizer's end-of-text token. They are allowed where the text is complete.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        regex: str | None = None,
        json_schema: Mapping[str, Any] | bool | None = None,
        end_tokens: Collection[int] = (),
    ) -> None:
        try:
            import llguidance
        except ModuleNotFoundError:
            raise MissingExtra("llguidance", "a text of a given form", "'glasshouse[serve]'") from None
        default = () if tokenizer.end_of_text is None else (tokenizer.end_of_text,)
        self.end_tokens = frozenset(end_tokens or default)
        self.vocabulary = tokenizer.vocabulary
        trie, texts = _token_trie(tokenizer, self.end_tokens)
        grammar = _json_grammar(json_schema) if regex is None else _regex_grammar(regex, texts)
        limits = llguidance.LLParserLimits(max_lexer_states=50_000, max_grammar_size=50_000, verbose_errors=False)
        self._start = llguidance.LLMatcher(trie, '%llguidance {"no_forcing": true}\n' + grammar, log_level=0, limits=limits)
        if self._start.is_error():
            first, *others = self._start.get_error().splitlines()
            problem = [line.removeprefix("error: ") for line in others if line.startswith("error: ")] or [
                first.partition("JSON schema: ")[2] or first
            ]
            raise GlasshouseError(f"the {'schema' if regex is None else 'pattern'} cannot be used: {problem[0]}; correct it")
        self.start()

    def start(self) -> "ConstrainedText":
        """The state of a text that has not begun."""
        return ConstrainedText(self, self._start.deep_copy())


class ConstrainedText:
    """A text that grows token by token. `allowed` (V) says which tokens may come next, as booleans on the CPU.

    `finished` says whether the text is complete and nothing but an end token can follow.
    """

    def __init__(self, constraint: TokenConstraint, matcher: Any) -> None:
        self._constraint, self._matcher = constraint, matcher
        self.finished = False
        self._find_allowed()

    def advance(self, token: int) -> None:
        if not (token < len(self.allowed) and self.allowed[token]):
            raise GlasshouseError(f"the token {token} cannot follow here; choose one of those that `allowed` marks")
        if token in self._constraint.end_tokens:
            self.finished = True
            return
        self._matcher.consume_token(token)
        self._find_allowed()

    def _find_allowed(self) -> None:
        mask = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        self.allowed = torch.from_numpy(np.unpackbits(mask, bitorder="little", count=self._constraint.vocabulary).view(bool))
        if not self._matcher.is_error():
            ends = [token for token in self._constraint.end_tokens if token < len(self.allowed)]
            self.finished = self._matcher.is_accepting() and not (self.allowed.sum() - self.allowed[ends].sum())
        elif "NoExtension" in (reason := self._matcher.get_error().splitlines()[0]):
            raise GlasshouseError("no token of the vocabulary continues this form; change it, or use a byte-level tokenizer")
        else:
            raise GlasshouseError(f"the pattern or schema is too complex ({reason}); use smaller counts or repeat less")


@functools.lru_cache(maxsize=4)
def _token_trie(tokenizer: Tokenizer, end_tokens: frozenset[int]) -> tuple[Any, list[bytes]]:
    """The vocabulary as llguidance reads it, and the bytes of the tokens that write ordinary text.

    An end token that also writes text, as some imported models have it, only ends here.
    """
    import llguidance

    excluded, texts = {*tokenizer.specials.values(), tokenizer.unknown, *end_tokens}, dict[int, bytes]()
    for token in range(tokenizer.vocabulary):
        # An id that is not in use has no bytes.
        with suppress(GlasshouseError):
            if token not in excluded:
                texts[token] = tokenizer.token_bytes(token)
    # Special tokens are marked by 0xFF, which no text has. The last one ends the texts of a model that has no end token.
    count = tokenizer.vocabulary + 1
    special = [token for token in range(count) if not texts.get(token)]
    ends = [token for token in end_tokens if token < count] or [tokenizer.vocabulary]
    vocabulary = SimpleNamespace(
        is_tokenizer_wrapper=True,
        tokens=[texts.get(token) or b"\xff<%d>" % token for token in range(count)],
        special_token_ids=special,
        eos_token_id=ends[0],
        bos_token_id=None,
    )
    return llguidance.LLTokenizer(cast("Any", vocabulary), eos_token=ends), [*filter(None, texts.values())]


def _regex_grammar(pattern: str, texts: list[bytes]) -> str:
    import llguidance

    if len(pattern) > MAX_LENGTH:
        raise GlasshouseError(f"the pattern has {len(pattern):,} characters; use at most {MAX_LENGTH:,}")
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        raise GlasshouseError("the pattern ends with a backslash, which escapes nothing; write a character after it")
    _check_characters(pattern)
    form = f"start: FORM\nFORM: /{llguidance.regex_to_lark(pattern, 'dws')}/"
    if len(texts) <= SMALL_VOCABULARY:
        with suppress(UnicodeDecodeError):
            form += f" & ({' | '.join(json.dumps(text.decode(), ensure_ascii=False) for text in texts)})*"
    return form


def _json_grammar(schema: Any) -> str:
    try:
        closed = _closed(schema, "#", itertools.count())
        mapping = closed if isinstance(closed, dict) else {"allOf": [closed]}
        text = json.dumps({**mapping, "x-guidance": _JSON_TEXT}, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise GlasshouseError("the schema is nested too deeply; use $ref for its inner parts") from None
    except (TypeError, ValueError) as error:
        raise GlasshouseError(f"the schema has a value that JSON does not have: {error}; correct it") from None
    _check_characters(text)
    return f"start: %json {text}"


def _check_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise GlasshouseError("the pattern or schema has a lone surrogate, which is not a character; remove it") from None


def _closed(schema: Any, where: str, numbers: "itertools.count[int]", combined: bool = False) -> Any:
    """The schema. One with `properties` is of an object without other members, unless it says so or combines schemas.

    Keywords that are not supported are refused wherever they are: llguidance ignores those that it does not know.
    """
    if next(numbers) > MAX_SCHEMAS:
        raise GlasshouseError(f"the schema has over {MAX_SCHEMAS:,} schemas within it; use a smaller one")
    if not isinstance(schema, Mapping):
        return schema
    closed: dict[str, Any] = {}
    for keyword, value in schema.items():
        inside = f"{where}/{keyword}"
        if keyword in _ONE:
            value = _closed(value, inside, numbers)
        elif keyword in _SEVERAL and isinstance(value, list):
            value = [_closed(one, f"{inside}/{index}", numbers, keyword == "allOf") for index, one in enumerate(value)]
        elif keyword in _NAMED and isinstance(value, Mapping):
            value = {name: _closed(one, f"{inside}/{name}", numbers) for name, one in value.items()}
        elif keyword not in _PLAIN | _SEVERAL | _NAMED:
            raise GlasshouseError(f"the schema at {where}: the keyword {keyword!r} is not supported; leave it out")
        closed[keyword] = value
    if "properties" in schema and not combined and _COMBINING.isdisjoint(schema):
        closed = {"type": "object", "additionalProperties": False, **closed}
    return closed
