"""Models of this machine. A run: the same text as `Run.sample`, seeds, stops, streams and counts.

A GGUF file in llama.cpp: it answers as the run that it was exported from, and its process ends with it.
"""

import dataclasses
import gc
import socket

import pytest

import glasshouse
from glasshouse.llms.language_model import Message, Options, render_chat
from glasshouse.llms.local_models import GGUFModel, RunModel
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotImport, GlasshouseError
from tests import needs
from tests.refusals import refused

CHAT = [Message("user", "Who is Lily?")]
RUN_CHAT = [Message("user", "the cat")]


def continued(model, prompt, options, stop=()):
    """The continuation of a text and how it ended."""
    pieces: list[str] = []
    finish, _, _ = model.generate(prompt, options, stop, pieces.append)
    return "".join(pieces), finish


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
    assert continued(model, "Once upon a time", greedy) == continued(ours, "Once upon a time", greedy)
    pieces: list[str] = []
    reply = model.chat(CHAT, greedy, pieces.append)
    assert reply.text == ours.chat(CHAT, greedy).text == "".join(pieces)
    assert (reply.prompt_tokens, reply.tokens, reply.finish) == (model.chat_tokens(CHAT), 24, "length")
    assert model.context == ours.context == 512
    drawn = Options(max_tokens=24, temperature=1.0, seed=7)
    assert continued(model, "Once", drawn) == continued(model, "Once", drawn)
    assert continued(model, "Once", Options(max_tokens=40, temperature=0), (" time",))[1] == "stop"
    with refused(GlasshouseError, "512"):
        continued(model, "Once upon a time " * 400, greedy)


def test_the_process_ends_with_the_model(exported):
    model = GGUFModel(exported[1])
    continued(model, "Once", Options(max_tokens=1))
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


def test_an_answer_is_what_the_run_samples_after_the_template(tiny_run):
    model = RunModel(Run(tiny_run, "cpu"))
    options = Options(max_tokens=20, temperature=0.9, top_p=0.8, seed=5)
    prompt, stop = render_chat(RUN_CHAT)
    (known,) = model.run.sample(prompt, tokens=20, stop=stop, temperature=0.9, top_p=0.8, seed=5)
    pieces: list[str] = []
    reply = model.chat(RUN_CHAT, options, pieces.append)
    assert reply.text == known.text.lstrip() == "".join(pieces)
    assert (reply.prompt_tokens, reply.tokens, reply.finish) == (len(known.prompt_tokens), 20, known.finish)
    assert model.chat(RUN_CHAT, options) == reply
    assert model.chat_tokens(RUN_CHAT) == reply.prompt_tokens
    assert reply.seconds > 0


def test_a_seed_repeats_an_answer_and_no_seed_does_not(tiny_run):
    model = RunModel(Run(tiny_run, "cpu"))
    seeded = Options(max_tokens=30, temperature=1.0, seed=1)
    assert model.chat(RUN_CHAT, seeded) == model.chat(RUN_CHAT, seeded)
    assert model.chat(RUN_CHAT, seeded) != model.chat(RUN_CHAT, dataclasses.replace(seeded, seed=2))
    free = Options(max_tokens=30, temperature=1.0)
    assert len({model.chat(RUN_CHAT, free).text for _ in range(4)}) > 1


def test_a_stop_string_ends_an_answer(tiny_run):
    model = RunModel(Run(tiny_run, "cpu"))
    options = Options(max_tokens=40, temperature=0.5, seed=3)
    whole, _ = continued(model, "the c", options)
    stop = whole[len(whole) // 2]
    assert continued(model, "the c", options, (stop,)) == (whole.split(stop)[0], "stop")


def test_a_run_trained_further_is_another_model(tiny_run):
    assert RunModel(Run(tiny_run, "cpu")).identity() == "run tiny, step 2"
    assert isinstance(glasshouse.llms.open_language_model(f"run:{tiny_run}", device="cpu"), RunModel)


def test_a_run_that_continues_no_text_is_refused():
    class Classifier:
        continues_text, name = False, "classifier"

        class spec:
            class model:
                kind = "encoder"

    with refused(GlasshouseError, "encoder"):
        RunModel(Classifier())
