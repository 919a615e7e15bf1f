"""Claim: a question gets the same answer through every interface of a model."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import zero
from glasshouse.interop import gguf_models
from glasshouse.interop.gguf_file import gguf_package
from glasshouse.llms import llama_cpp_server
from glasshouse.llms.http_endpoint import HTTPEndpoint
from glasshouse.llms.language_model import LanguageModel, Message, Options, render_chat
from glasshouse.llms.local_models import GGUFModel
from glasshouse.llms.openai_model import OpenAIModel
from glasshouse.runs.run import Run
from glasshouse.serving import check_installed

REPORTED = "Who was Chandragupta Maurya?"
QUESTIONS = (
    REPORTED,
    "What are you capable of?",
    "What is 77 divided by 26?",
    "What is the state of the union?",
    "Who is the president of the United States?",
    "What did the Congress decide last year?",
    "How many soldiers came home?",
    "Why are taxes so high?",
    "When did the war end?",
    "Where do most of our citizens live?",
    "Which nations are our friends?",
    "Can a law make people free?",
)
TOKENS = 40
# Two tokens whose log-probabilities differ by less may change places by rounding. llama.cpp keeps keys and values in 16
# bits.
TIE = 0.02
RECIPE = ("demo-lm", "data.vocabulary=1024", "training.steps=200", "training.learning_rate=4e-3")
# Two architectures, because each has a graph of its own in llama.cpp.
ARMS = {
    "llama": (),
    "gpt-2": (
        "model.position=learned",
        "model.norm=layer",
        "model.activation=gelu",
        "model.feed_forward=256",
        "model.bias=true",
    ),
}
SERVED = "model"
# What an answer to the reported question would mention.
RIGHT = re.compile(r"\b(maurya empire|emperor|king|ruler|india)\b", re.IGNORECASE)
HTTP, GGUF = INTERFACES = ("http", "gguf")
IN_WORDS = {HTTP: "over an OpenAI-style API", GGUF: "through llama.cpp"}


class Ask(Claim):
    """Asks one model the same questions in this process, over HTTP, and as a GGUF file in llama.cpp."""

    group = GROUPS[7]
    statement = (
        "A question to a model can be asked locally through llama.cpp or remotely through an OpenAI-style API, and the "
        "interface does not change the answer."
    )
    source = "course work on large language models"
    reported = f'"{REPORTED}", asked through both'
    why = (
        "The interface only carries text. But each has its own tokenizer, chat template, number format and sampler, and "
        "each of these could change a token, after which all that follows is another text."
    )
    procedure = (
        "Each seed trains two small decoders on the State of the Union addresses, one like Llama and one like GPT-2. Each "
        f"is asked the reported question and {len(QUESTIONS) - 1} others, with greedy decoding of up to {TOKENS} tokens: in "
        "this process, over HTTP from `glasshouse serve`, and as an exported GGUF file in llama.cpp. The answers must "
        f"begin with the same text, up to the first token that another was as likely as, within {TIE:g} of its "
        "log-probability, and apart from white space around them. Beside it, whether an answer to the reported question "
        "mentions an emperor, a king, a ruler or India."
    )
    would_change = (
        "A GGUF file with fewer bits, another chat template, or sampling: the interfaces have different random numbers."
    )
    data = PUBLIC_TEXT
    looks = (8,)
    studies = (
        StudyPlan(
            "models",
            tuple(ARMS),
            recipes={arm: (*RECIPE, *own) for arm, own in ARMS.items()},
            quick=(*split_scores.QUICK, "training.steps=2", "evaluation.every=2"),
        ),
    )
    quantities: ClassVar = {
        **{
            f"different/{interface}/{arm}": Quantity(f"answers that differ {words}, {arm}", "count", "answers")
            for arm in ARMS
            for interface, words in IN_WORDS.items()
        },
        **{
            f"compared/{arm}": Quantity(
                f"share of the text before the first near-tie, {arm}", "share of characters", "%", 100.0, True
            )
            for arm in ARMS
        },
        **{
            f"right/{arm}": Quantity(
                f"answers to the reported question that mention what was asked, {arm}", "count", "answers"
            )
            for arm in ARMS
        },
    }
    parts = tuple(
        zero(f"different/{interface}/{arm}", name=f"every answer is the same {words}, {arm}")
        for arm in ARMS
        for interface, words in IN_WORDS.items()
    )

    def measure(self, bench: Bench) -> Measurements:
        check_installed("the claim ask")
        llama_cpp_server.check_installed()
        gguf_package("the claim ask")
        study = bench.study("models")
        series: dict[str, Series] = {}
        facts = bench.facts(study)
        for arm in ARMS:
            rows = split_scores.cached_rows(bench, study, arm, "answers", _compare_interfaces)
            first = next(iter(rows.values()))
            facts.append((f"{arm}, first seed, {REPORTED}", repr(first.pop("example"))))
            for key in first:
                series[f"{key}/{arm}"] = Series({seed: row[key] for seed, row in rows.items()})
        return Measurements(series, tuple(facts))


def _compare_interfaces(run: Run) -> dict[str, Any]:
    """The values of one run, and its answer to the reported question."""
    certain, whole = zip(*(_certain_answer(run, question) for question in QUESTIONS), strict=True)
    differing = {
        f"different/{HTTP}": _differing_over_http(run, certain),
        f"different/{GGUF}": _differing_in_gguf(run, certain),
    }
    return {
        **differing,
        "compared": sum(map(len, certain)) / max(sum(map(len, whole)), 1),
        "right": float(RIGHT.search(whole[0]) is not None),
        "example": whole[0],
    }


def _certain_answer(run: Run, question: str) -> tuple[str, str]:
    """The greedy answer up to the first near-tie, and the whole answer."""
    prompt, stop = render_chat([Message("user", question)])
    [completion] = run.sample(prompt, tokens=TOKENS, stop=stop, temperature=0, alternatives=2)
    certain = []
    for choice in completion.choices:
        (_, best), (_, second) = choice.alternatives
        if best - second < TIE:
            break
        certain.append(choice.token)
    whole = completion.text.lstrip()
    if len(certain) == len(completion.choices):
        return whole, whole
    # The last character may lack bytes of the token that follows.
    return run.tokenizer.decode(certain).lstrip().rstrip("\ufffd"), whole


def _differing_over_http(run: Run, certain: Sequence[str]) -> float:
    from glasshouse.serving.application import create_app
    from glasshouse.serving.served_model import ServerOptions
    from glasshouse.serving.server import background_app

    with background_app(create_app({SERVED: run}, ServerOptions())) as address:
        return _differing(OpenAIModel(SERVED, HTTPEndpoint(f"{address}/v1", "")), certain)


def _differing_in_gguf(run: Run, certain: Sequence[str]) -> float:
    path = Path(run.folder.path) / "model.gguf"
    gguf_models.export(run, path)
    return _differing(GGUFModel(path, device="cpu"), certain)


def _differing(model: LanguageModel, certain: Sequence[str]) -> float:
    """The number of questions that the model answers otherwise.

    White space around an answer is left out: llama.cpp does not send line breaks at the end that could begin a stop string.
    """
    options = Options(TOKENS, temperature=0, seed=0)
    answers = [model.chat([Message("user", question)], options).text.strip() for question in QUESTIONS]
    return float(sum(not answer.startswith(expected.strip()) for answer, expected in zip(answers, certain, strict=True)))
