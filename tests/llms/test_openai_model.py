"""A model behind an HTTP server: what is sent, what comes back, and a stream that breaks."""

import pytest

from glasshouse.llms.http_endpoint import BrokenStream, HTTPEndpoint
from glasshouse.llms.language_model import Message, Options
from glasshouse.llms.openai_model import OpenAIModel
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

CHAT = [Message("system", "Be brief."), Message("user", "What is 77 divided by 26?")]


@pytest.fixture
def model(server):
    return OpenAIModel("gpt-x", HTTPEndpoint(server.address, attempts=3, first_pause=0.01), "remote")


def test_a_chat_is_streamed_with_its_counts(server, model):
    pieces: list[str] = []
    reply = model.chat(CHAT, Options(max_tokens=9, temperature=0.5, seed=3), pieces.append)
    assert pieces == ["It ", "is ", "2.96, ", "about."]
    assert (reply.text, reply.finish, reply.prompt_tokens, reply.tokens) == ("It is 2.96, about.", "end", 11, 4)
    path, body, _ = server.requests[0]
    assert path == "/v1/chat/completions"
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    sent = {"model": "gpt-x", "max_tokens": 9, "temperature": 0.5, "top_p": 1.0, "seed": 3, "stream": True}
    assert body.items() >= sent.items()


def test_without_a_stream_it_is_the_same(server, model):
    reply = model.chat(CHAT, Options(seed=0))
    assert (reply.text, reply.finish, reply.tokens) == ("It is 2.96, about.", "end", 4)
    path, body, _ = server.requests[0]
    assert (path, body["seed"]) == ("/v1/chat/completions", 0)


def test_a_stream_that_ends_without_a_reason_is_broken(server, model):
    server.script = ["broken", "broken"]
    pieces: list[str] = []
    with pytest.raises(BrokenStream):
        model.chat(CHAT, Options(), pieces.append)
    assert pieces == ["It ", "is "]
    server.script = [(429, {}), (500, {})]
    assert model.chat(CHAT, Options(), pieces.append).text == "It is 2.96, about."


def test_an_answer_without_a_choice_is_told(server, model):
    server.response = lambda path, text: {"choices": []}
    with refused(GlasshouseError, "base_url"):
        model.chat(CHAT, Options())
