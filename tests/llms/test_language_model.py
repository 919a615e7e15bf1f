"""What every language model shares: options in their range, and a reply from a stream."""

import pytest

from glasshouse.llms.language_model import Message, Options, Reply, streamed_reply
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
    with refused("bad-option", *option):
        Options(**option)
