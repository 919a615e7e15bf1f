"""What every language model shares: options in their range, a reply from a stream, a chat as one text."""

import pytest

from glasshouse.llms.language_model import Message, Options, Reply, render_chat, streamed_reply
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused


class Scripted:
    """A model that streams these pieces and may return a reply."""

    name = "scripted"

    def __init__(self, reply=None):
        self.reply = reply

    def stream_chat(self, messages, options):
        yield from ("a ", "b")
        return self.reply


def test_a_stream_shows_its_pieces_and_ends_in_a_reply():
    seen: list[str] = []
    reply = streamed_reply(Scripted(), [Message("user", "?")], Options(), seen.append)
    assert seen == ["a ", "b"]
    assert (reply.text, reply.finish, reply.tokens) == ("a b", "end", 0)
    counted = Reply("a b", "length", 3, 2)
    assert streamed_reply(Scripted(counted), [Message("user", "?")], Options()) is counted


@pytest.mark.parametrize("option", [{"max_tokens": 0}, {"temperature": -1.0}, {"top_p": 0.0}, {"temperature": float("nan")}])
def test_options_out_of_range_are_refused(option):
    with refused(GlasshouseError, *option):
        Options(**option)


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
    with refused(GlasshouseError):
        render_chat([])
    with refused(GlasshouseError, "robot", "system, user, assistant"):
        render_chat([Message("robot", "x")])
