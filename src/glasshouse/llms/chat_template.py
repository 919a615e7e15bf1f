"""How a chat becomes one text for a language model that was trained on plain text: `User: ...`, then `Assistant:`.

Such a model knows no roles. It continues the text, and its answer ends where it would write the next message of the user.
"""

from collections.abc import Sequence
from typing import Final

from glasshouse.llms.language_model import Message
from glasshouse.specs.errors import GlasshouseError

SPEAKERS: Final = {"user": "User", "assistant": "Assistant"}
ROLES: Final = ("system", *SPEAKERS)
STOP: Final = ("\nUser:",)


def render_chat(messages: Sequence[Message]) -> tuple[str, tuple[str, ...]]:
    """The text before the answer, and the strings at which the answer ends.

    A system message is a paragraph without a speaker. The answer begins with a space, which a reader of it drops.
    """
    check_messages(messages)
    text = ""
    for message in messages:
        body = message.text.strip()
        text += f"{body}\n\n" if message.role == "system" else f"{SPEAKERS[message.role]}: {body}\n"
    return f"{text}{SPEAKERS['assistant']}:", STOP


def check_messages(messages: Sequence[Message]) -> None:
    """Refuse an empty chat and an unknown role."""
    if not messages:
        raise GlasshouseError("empty-chat", "a chat has no messages; write at least one message of the user")
    for message in messages:
        if message.role not in ROLES:
            raise GlasshouseError(
                "unknown-role", f"role={message.role!r} of a message is not known; choose one of: {', '.join(ROLES)}"
            )
