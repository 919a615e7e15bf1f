"""The plain chat template: who speaks, where the answer ends, and what is refused."""

from glasshouse.llms.chat_template import render_chat
from glasshouse.llms.language_model import Message
from tests.refusals import refused


def test_a_chat_becomes_one_text_that_the_answer_continues():
    messages = [
        Message("system", "Be brief.\n"),
        Message("user", " Hello "),
        Message("assistant", "Hi."),
        Message("user", "And now?"),
    ]
    text, stop = render_chat(messages)
    assert text == "Be brief.\n\nUser: Hello\nAssistant: Hi.\nUser: And now?\nAssistant:"
    assert stop == ("\nUser:",)


def test_no_messages_and_unknown_roles_are_refused():
    with refused("empty-chat"):
        render_chat([])
    with refused("unknown-role", "robot", "system, user, assistant"):
        render_chat([Message("robot", "x")])
