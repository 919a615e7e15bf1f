"""A run as a language model: the same text as `Run.sample`, seeds, stops, streams and counts."""

import dataclasses

import glasshouse
from glasshouse.llms.language_model import Message, Options, render_chat, streamed_reply
from glasshouse.llms.local_models import RunModel
from glasshouse.runs.run import Run

CHAT = [Message("user", "the cat")]


def test_an_answer_is_what_the_run_samples_after_the_template(tiny_run):
    model = RunModel(Run(tiny_run, "cpu"))
    options = Options(max_tokens=20, temperature=0.9, top_p=0.8, seed=5)
    prompt, stop = render_chat(CHAT)
    (known,) = model.run.sample(prompt, tokens=20, stop=stop, temperature=0.9, top_p=0.8, seed=5)
    pieces: list[str] = []
    reply = streamed_reply(model, CHAT, options, pieces.append)
    assert reply.text == known.text.lstrip() == "".join(pieces)
    assert (reply.prompt_tokens, reply.tokens, reply.finish) == (len(known.prompt_tokens), 20, known.finish)
    assert model.chat(CHAT, options) == reply
    assert model.chat_tokens(CHAT) == reply.prompt_tokens
    assert reply.seconds > 0


def test_a_seed_repeats_an_answer_and_no_seed_does_not(tiny_run):
    model = RunModel(Run(tiny_run, "cpu"))
    seeded = Options(max_tokens=30, temperature=1.0, seed=1)
    assert model.complete("the c", seeded) == model.complete("the c", seeded)
    assert model.complete("the c", seeded) != model.complete("the c", dataclasses.replace(seeded, seed=2))
    free = Options(max_tokens=30, temperature=1.0)
    assert len({model.complete("the c", free).text for _ in range(4)}) > 1


def test_a_stop_string_ends_an_answer(tiny_run):
    model = RunModel(Run(tiny_run, "cpu"))
    whole = model.complete("the c", Options(max_tokens=40, temperature=0.5, seed=3))
    stop = whole.text[len(whole.text) // 2]
    cut = model.complete("the c", Options(max_tokens=40, temperature=0.5, seed=3, stop=(stop,)))
    assert (cut.text, cut.finish) == (whole.text.split(stop)[0], "stop")


def test_a_run_trained_further_is_another_model(tiny_run):
    assert RunModel(Run(tiny_run, "cpu")).identity() == "run tiny, step 2"
    assert isinstance(glasshouse.open_language_model(f"run:{tiny_run}", device="cpu"), RunModel)
