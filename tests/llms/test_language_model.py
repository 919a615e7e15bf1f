"""What every language model shares: options in their range, a chat as one text, a chat session."""

import pytest

from glasshouse.llms.http_endpoint import HTTPEndpoint
from glasshouse.llms.language_model import ChatSession, Message, Options, render_chat
from glasshouse.llms.openai_model import OpenAIModel
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused


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


@pytest.fixture
def model(server):
    return OpenAIModel("gpt-x", HTTPEndpoint(server.address), "remote")


def sent(server):
    return [message["content"] for message in server.requests[-1][1]["messages"]]


def test_a_chat_remembers_until_it_is_reset(server, model, tmp_path):
    chat = ChatSession(model, Options(seed=5), "Be brief.", tmp_path / "chat.txt")
    pieces: list[str] = []
    assert chat.say("Hello", pieces.append).text == "".join(pieces) == "It is 2.96, about."
    chat.say("And now?")
    assert sent(server) == ["Be brief.", "Hello", "It is 2.96, about.", "And now?"]
    assert [body["seed"] for _, body, _ in server.requests] == [5, 6]
    chat.reset()
    chat.say("Anew")
    assert sent(server) == ["Be brief.", "Anew"]
    text = (tmp_path / "chat.txt").read_text()
    assert text.startswith("System: Be brief.\n\nUser: Hello\n\nAssistant: It is 2.96, about.\n\nUser: And now?")
    assert "(new chat)\n\nUser: Anew" in text


def test_the_oldest_messages_are_left_out_when_the_context_is_full(server, model):
    model.context = 60
    chat = ChatSession(model, Options(max_tokens=20), "Be brief.")
    for number in range(6):
        chat.say(f"question {number}")
        assert model.chat_tokens([*chat._fitting([*chat.messages])]) <= 40
    assert sent(server)[0] == "Be brief."
    assert sent(server)[-1] == "question 5"
    assert "question 0" not in sent(server)
    assert chat.dropped > 0
    assert len(chat.messages) == 13, "the chat itself is whole"
    with refused(GlasshouseError, "remote", "40"):
        chat.say("word " * 100)


def test_a_message_that_failed_is_not_kept(server, model):
    chat = ChatSession(model, Options())
    server.script = [(400, {})]
    with refused(GlasshouseError):
        chat.say("Hello")
    assert chat.messages == []
    model.context = 10
    with refused(GlasshouseError, "max_tokens=256", "10"):
        chat.say("Hello")
