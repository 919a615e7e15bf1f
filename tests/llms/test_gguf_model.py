"""A GGUF file in llama.cpp: it answers as the run that it was exported from, and its process ends with it."""

import gc
import socket

import pytest

import glasshouse
from glasshouse.llms.language_model import Message, Options, streamed_reply
from glasshouse.llms.local_models import GGUFModel, RunModel
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotImport, GlasshouseError
from tests import needs
from tests.refusals import refused

CHAT = [Message("user", "Who is Lily?")]


@pytest.fixture(scope="module")
def exported(tmp_path_factory, shared_cache):
    needs.package("xllamacpp")
    weights = needs.data("weights/stories260K.bin")
    folder = tmp_path_factory.mktemp("gguf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder / "runs"))
        run = glasshouse.import_model(weights, name="stories")
        glasshouse.export("stories", "gguf", folder / "stories.gguf")
    return run.folder.path, folder / "stories.gguf"


def test_it_answers_as_the_run_does(exported):
    run, file = exported
    model, greedy = GGUFModel(file), Options(max_tokens=24, temperature=0)
    ours = RunModel(Run(run, "cpu"))
    assert model.complete("Once upon a time", greedy).text == ours.complete("Once upon a time", greedy).text
    pieces: list[str] = []
    reply = streamed_reply(model, CHAT, greedy, pieces.append)
    assert reply.text == ours.chat(CHAT, greedy).text == "".join(pieces)
    assert (reply.prompt_tokens, reply.tokens, reply.finish) == (model.chat_tokens(CHAT), 24, "length")
    assert model.context == ours.context == 512
    drawn = Options(max_tokens=24, temperature=1.0, seed=7)
    assert model.complete("Once", drawn).text == model.complete("Once", drawn).text
    assert model.complete("Once", Options(max_tokens=40, temperature=0, stop=(" time",))).finish == "stop"
    with refused(GlasshouseError, "512"):
        model.complete("Once upon a time " * 400, greedy)


def test_the_process_ends_with_the_model(exported):
    model = GGUFModel(exported[1])
    model.complete("Once", Options(max_tokens=1))
    host, port = model._endpoint.server.split(":")
    socket.create_connection((host, int(port))).close()
    del model
    gc.collect()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))


def test_a_missing_file_and_a_file_of_another_kind_are_refused(tmp_path):
    with refused(GlasshouseError, "none.gguf"):
        GGUFModel(tmp_path / "none.gguf")
    (tmp_path / "text.gguf").write_text("not a model")
    with refused(CannotImport, "text.gguf"):
        GGUFModel(tmp_path / "text.gguf")


def test_llama_cpp_is_an_extra(tmp_path, monkeypatch):
    from glasshouse.llms import llama_cpp_server

    monkeypatch.setattr(llama_cpp_server.importlib.util, "find_spec", lambda name: None)
    with refused(GlasshouseError, "pip install xllamacpp"):
        llama_cpp_server.start_server(tmp_path / "any.gguf")
