"""Files of questions for a grid: TOML with a name, a prompt and checks for each question."""

import tomllib
from dataclasses import dataclass
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

from glasshouse.llms.answer_checks import AnswerCheck, parse_check
from glasshouse.llms.language_model import Message
from glasshouse.specs import toml_text
from glasshouse.specs.errors import GlasshouseError

FIELDS = ("name", "prompt", "system", "check", "checks")


@dataclass(frozen=True)
class PromptQuestion:
    """A question. Without a check its answers are only read."""

    name: str
    prompt: str
    system: str = ""
    checks: tuple[AnswerCheck, ...] = ()

    def messages(self) -> list[Message]:
        """The question as a chat."""
        system = [Message("system", self.system)] if self.system else []
        return [*system, Message("user", self.prompt)]


def read_questions(file: str | PathLike[str] | None = None) -> list[PromptQuestion]:
    """The questions of a file, by default those that ship with the package."""
    where = "the questions of the package" if file is None else str(file)
    try:
        content = toml_text.parse(_shipped()) if file is None else toml_text.read(Path(file))
    except FileNotFoundError:
        raise GlasshouseError(f"there is no file {where} with questions; check the path") from None
    except IsADirectoryError:
        raise GlasshouseError(f"{where} is a folder; name a TOML file with questions") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _bad(where, f"this is not a TOML file: {error}", "correct it") from None
    tables = content.pop("questions", None)
    if content or not isinstance(tables, list) or not tables:
        rule = f"{next(iter(content))!r} is not known" if content else "there are no questions"
        raise _bad(where, rule, "write each question as [[questions]] with a name and a prompt")
    questions = [_question(where, number, table) for number, table in enumerate(tables, 1)]
    names = [question.name for question in questions]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise _bad(where, f"two questions have the name {twice!r}", "give each its own")
    return questions


def _shipped() -> str:
    return resources.files("glasshouse.llms").joinpath("questions.toml").read_text(encoding="utf-8")


def _question(where: str, number: int, table: Any) -> PromptQuestion:
    if not isinstance(table, dict):
        raise _bad(where, f"question {number} is not a table", "write [[questions]] with a name and a prompt")
    where = f"{where}, question {table.get('name', number)}"
    for field in table:
        if field not in FIELDS:
            raise _bad(where, f"the field {field!r} is not known", f"the fields are: {', '.join(FIELDS)}")
    for field in ("name", "prompt"):
        if not isinstance(table.get(field), str) or not table[field].strip():
            raise _bad(where, f"it has no {field}", f'write {field} = "..."')
    if not isinstance(table.get("system", ""), str):
        raise _bad(where, f"system={table['system']!r} is not a text", "correct it")
    checks = table.get("checks", [])
    if not isinstance(checks, list):
        raise _bad(where, "checks is not a list", "write checks = [{...}, {...}], or check = {...} for one")
    if "check" in table:
        checks = [table["check"], *checks]
    return PromptQuestion(
        table["name"], table["prompt"].strip(), table.get("system", ""), tuple(parse_check(where, check) for check in checks)
    )


def _bad(where: str, rule: str, remedy: str) -> GlasshouseError:
    return GlasshouseError(f"{where}: {rule}; {remedy}")
