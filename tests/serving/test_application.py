"""The server over real HTTP, asked by the `openai` package and by plain requests."""

import contextlib
import json
import math
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

import glasshouse
from glasshouse.runs.run import Run
from tests import needs
from tests.refusals import refused
from tests.serving.conftest import serving

needs.package("openai")
needs.package("uvicorn")
import openai

from glasshouse.specs.errors import GlasshouseError


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        yield client


def request(address: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    asked = urllib.request.Request(address + path, data, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def own_log_probabilities(run: Run, tokens: list[int]) -> torch.Tensor:
    """The log-probabilities (T, V) after each token, from the model's forward pass."""
    with torch.inference_mode():
        return run.model(torch.tensor([tokens]))[0].log_softmax(-1)


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["small"]
    assert client.models.retrieve("small").owned_by == "glasshouse"
    with pytest.raises(openai.NotFoundError, match="choose one of: small"):
        client.models.retrieve("other")


def test_a_greedy_completion_is_that_of_the_run(client: openai.OpenAI, language_model: Run) -> None:
    answer = client.completions.create(model="small", prompt="the cat", max_tokens=20, temperature=0)
    [expected] = language_model.sample("the cat", tokens=20, temperature=0)
    assert answer.choices[0].text == expected.text
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 20
    assert answer.usage.prompt_tokens == len(expected.prompt_tokens)


def test_log_probabilities_are_those_of_the_model_also_for_an_echoed_prompt(
    client: openai.OpenAI, language_model: Run
) -> None:
    answer = client.completions.create(
        model="small", prompt="the cat sat", max_tokens=5, logprobs=3, echo=True, temperature=0
    )
    choice = answer.choices[0]
    shown = choice.logprobs
    assert shown is not None
    assert shown.tokens is not None
    assert shown.token_logprobs is not None
    tokens = language_model.new_completion("the cat sat").prompt_tokens
    generated = language_model.tokenizer.encode("".join(shown.tokens[len(tokens) :])).tolist()
    assert choice.text == "".join(shown.tokens)
    assert shown.token_logprobs[0] is None
    own = own_log_probabilities(language_model, tokens)
    for index in range(1, len(tokens)):
        assert shown.token_logprobs[index] == pytest.approx(float(own[index - 1, tokens[index]]), abs=1e-4)
        assert shown.top_logprobs is not None
        best = max(shown.top_logprobs[index].values())
        assert best == pytest.approx(float(own[index - 1].max()), abs=1e-4)
    assert shown.token_logprobs[len(tokens)] == pytest.approx(
        float(own[-1, language_model.tokenizer.encode(shown.tokens[len(tokens)]).tolist()[0]]), abs=1e-4
    )
    assert generated
    assert shown.text_offset == [len("".join(shown.tokens[:index])) for index in range(len(shown.tokens))]


def test_prompts_come_as_texts_and_as_tokens(client: openai.OpenAI, language_model: Run) -> None:
    tokens = language_model.new_completion("the dog").prompt_tokens
    same: list[Any] = ["the dog", tokens, ["the dog"], [tokens]]
    texts = {client.completions.create(model="small", prompt=each, temperature=0).choices[0].text for each in same}
    assert len(texts) == 1
    both = client.completions.create(model="small", prompt=["the dog", "who"], n=2, seed=3)
    assert [choice.index for choice in both.choices] == [0, 1, 2, 3]
    alone = client.completions.create(model="small", prompt="who", n=2, seed=3)
    assert [choice.text for choice in both.choices[2:]] == [choice.text for choice in alone.choices]
    assert alone.choices[0].text != alone.choices[1].text


def test_a_stream_has_the_text_of_a_whole_answer(client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "small", "prompt": "the", "max_tokens": 30, "seed": 5, "logprobs": 2}
    whole = client.completions.create(**asked)
    chunks = list(client.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == whole.choices[0].text
    assert chunks[-1].usage == whole.usage
    assert chunks[-2].choices[0].finish_reason == whole.choices[0].finish_reason
    streamed = [value for chunk in chunks[:-1] for value in chunk.choices[0].logprobs.token_logprobs]
    assert streamed == pytest.approx(whole.choices[0].logprobs.token_logprobs, abs=1e-4)


def test_a_text_ends_before_a_stop_string(client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "small", "prompt": "the cat", "max_tokens": 40, "seed": 7}
    text = client.completions.create(**asked).choices[0].text
    stop = text[5:8]
    for stream in (False, True):
        answer = client.completions.create(**asked, stop=[stop, "never"], stream=stream)
        choices = [chunk.choices[0] for chunk in answer] if stream else answer.choices
        assert "".join(choice.text for choice in choices) == text[: text.index(stop)]
        assert choices[-1].finish_reason == "stop"


def test_a_bias_makes_a_token_certain_or_impossible(client: openai.OpenAI, language_model: Run) -> None:
    [token] = language_model.tokenizer.encode("q").tolist()
    asked: dict[str, Any] = {"model": "small", "prompt": "the cat", "max_tokens": 4, "logprobs": 1}
    forced = client.completions.create(**asked, logit_bias={str(token): 100}).choices[0]
    assert forced.text == "qqqq"
    assert forced.logprobs.token_logprobs[0] == pytest.approx(0, abs=1e-4)
    first = language_model.sample("the cat", tokens=1, temperature=0)[0].choices[0].token
    banned = client.completions.create(**asked, temperature=0, logit_bias={str(first): -100}).choices[0]
    assert banned.logprobs.tokens[0] != language_model.tokenizer.decode([first])


def test_log_probabilities_before_the_bias_on_request(language_model: Run) -> None:
    [token] = language_model.tokenizer.encode("q").tolist()
    own = own_log_probabilities(language_model, language_model.new_completion("the cat").prompt_tokens)[-1]
    with serving({"small": language_model}, raw=True) as address:
        body = {"model": "small", "prompt": "the cat", "max_tokens": 1, "logprobs": 1, "logit_bias": {str(token): 100}}
        _, _, answer = request(address, "/v1/completions", body)
    [value] = json.loads(answer)["choices"][0]["logprobs"]["token_logprobs"]
    assert value == pytest.approx(float(own[token]), abs=1e-4)


def test_a_chat_is_one_text_with_speakers(client: openai.OpenAI, language_model: Run) -> None:
    asked: dict[str, Any] = {
        "model": "small",
        "messages": [{"role": "system", "content": "the"}, {"role": "user", "content": "who sat?"}],
        "max_tokens": 8,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 2,
    }
    choice = client.chat.completions.create(**asked).choices[0]
    [expected] = language_model.sample("the\n\nUser: who sat?\nAssistant:", tokens=8, temperature=0)
    assert choice.message.content == expected.text.lstrip()
    assert choice.logprobs is not None
    assert choice.logprobs.content is not None
    for shown, sampled in zip(choice.logprobs.content, expected.choices, strict=True):
        assert shown.logprob == pytest.approx(sampled.log_probability, abs=1e-4)
        assert bytes(shown.bytes or ()) == language_model.tokenizer.token_bytes(sampled.token)
        assert len(shown.top_logprobs) == 2
    chunks = list(client.chat.completions.create(**asked, stream=True))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == choice.message.content


def test_answers_of_a_form(client: openai.OpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"cat": {"type": "boolean"}, "mats": {"type": "integer"}},
        "required": ["cat", "mats"],
    }
    form: Any = {"type": "json_schema", "json_schema": {"name": "cats", "schema": schema}}
    message: Any = [{"role": "user", "content": "who sat?"}]
    asked: dict[str, Any] = {"model": "small", "messages": message, "max_tokens": 200, "temperature": 0.5, "n": 2, "seed": 1}
    for choice in client.chat.completions.create(**asked, response_format=form).choices:
        answer = json.loads(choice.message.content or "")
        assert choice.finish_reason == "stop"
        assert isinstance(answer["cat"], bool)
        assert isinstance(answer["mats"], int)
    pattern = {"regex": "(yes|no), [a-c]{3}"}
    [one] = client.completions.create(model="small", prompt="the", max_tokens=50, extra_body=pattern).choices
    assert re.fullmatch(pattern["regex"], one.text)
    for bad in ({"regex": "(a"}, {"response_format": {"type": "json_schema"}}, {"regex": "a", "response_format": form}):
        with pytest.raises(openai.BadRequestError):
            client.completions.create(model="small", prompt="the", extra_body=bad)


def test_many_clients_get_what_each_gets_alone(client: openai.OpenAI) -> None:
    def ask(seed: int) -> str:
        prompt = ("the cat", "who", "and the dog sat on the log")[seed % 3]
        options: dict[str, Any] = ({"temperature": 0}, {"top_p": 0.7}, {"presence_penalty": 1.0})[seed % 3]
        answer = client.completions.create(model="small", prompt=prompt, max_tokens=10 + seed, seed=seed, **options)
        return answer.choices[0].text

    alone = [ask(seed) for seed in range(12)]
    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(ask, range(12))) == alone


BAD: list[tuple[dict[str, Any], str]] = [
    ({"prompt": [999_999]}, "prompt"),
    ({"prompt": "x" * 500}, "prompt"),
    ({"temperature": -1}, "temperature"),
    ({"temperature": math.inf}, "temperature"),
    ({"max_tokens": 10**9}, "max_tokens"),
    ({"n": 0}, "n"),
    ({"logit_bias": {"x": 1}}, "logit_bias"),
    ({"logit_bias": {"1": 101}}, "logit_bias"),
    ({"stop": ["a"] * 9}, "stop"),
    ({"top_p": 0}, "top_p"),
    ({"best_of": 3}, "best_of"),
    ({"prompt": {"a": 1}}, "prompt"),
    ({"logprobs": 100}, "logprobs"),
]


@pytest.mark.parametrize(("changes", "field"), BAD, ids=str)
def test_bad_requests_are_refused_in_the_shape_of_the_api(address: str, changes: dict[str, Any], field: str) -> None:
    status, _, body = request(address, "/v1/completions", {"model": "small", "prompt": "the", **changes})
    error = json.loads(body)["error"]
    assert status == 400, error
    assert error["type"] == "invalid_request_error"
    assert field in (error["param"] or "body")


def test_other_errors(address: str, client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        client.completions.create(model="none", prompt="x")
    assert request(address, "/v1/completions", b"{")[0] == 400
    assert request(address, "/nowhere")[0] == 404
    assert request(address, "/v1/completions")[0] == 405
    status, _, body = request(address, "/v1/embeddings", {"model": "small", "input": "x"})
    assert (status, len(json.loads(body)["data"])) == (200, 1), "a language model has vectors too"


def test_runs_of_other_kinds_have_endpoints_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("sun", "warm"), ("snow", "cold"), ("heat", "warm"), ("ice", "cold")] * 10
    table = tmp_path / "weather.csv"
    table.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    quick = (
        "model.width=16",
        "model.layers=1",
        "model.heads=2",
        "training.steps=2",
        "training.threads=1",
        "data.tokenizer=words",
    )
    fields = (f"data.files={table}", "data.context=16", "training.batch=4", "training.precision=fp32", *quick)
    classifier = glasshouse.train("classifier", *fields, device="cpu")
    with serving({"weather": classifier}) as address:
        status, _, body = request(address, "/v1/classify", {"model": "weather", "input": ["sun", "ice"]})
        assert status == 200
        probabilities = [row["probabilities"] for row in json.loads(body)["data"]]
        for shown, own in zip(probabilities, classifier.classify(["sun", "ice"]), strict=True):
            assert shown == pytest.approx(own, abs=1e-5)
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="none")
        vectors = client.embeddings.create(model="weather", input=["sun", "ice"]).data  # asks for base64
        expected = classifier.embed(["sun", "ice"])
        torch.testing.assert_close(torch.tensor([vector.embedding for vector in vectors]), expected, rtol=0, atol=1e-5)
        assert request(address, "/v1/completions", {"model": "weather", "prompt": "x"})[0] == 400
        assert request(address, "/v1/translate", {"model": "weather", "input": "x"})[0] == 400
        assert b"POST /v1/classify" in request(address, "/")[2]


def test_a_key_guards_everything_but_the_health(language_model: Run) -> None:
    with serving({"small": language_model}, api_key="secret", most_bytes=2000) as address:
        assert request(address, "/health")[0] == 200
        for path in ("/", "/metrics", "/v1/models", "/openapi.json"):
            assert request(address, path)[0] == 401
            assert request(address, path, Authorization="Bearer wrong")[0] == 401
            assert request(address, path, Authorization="Bearer secret")[0] == 200
            assert request(address, path, Authorization="Basic OnNlY3JldA==")[0] == 200
        body = {"model": "small", "prompt": "x" * 3000}
        assert request(address, "/v1/completions", body, Authorization="Bearer secret")[0] == 413


def test_a_full_queue_a_slow_request_and_a_client_that_goes(language_model: Run) -> None:
    options = {"most_concurrent": 1, "most_waiting": 1, "most_tokens": 10**6, "seconds": 3.0}
    end = language_model.tokenizer.end_of_text  # never sampled: the text must outlast the time limit
    long = {"model": "small", "prompt": "the", "max_tokens": 10**6, "logit_bias": {str(end): -100}}
    with serving({"small": language_model}, **options) as address:

        def health() -> dict[str, int]:
            return dict(json.loads(request(address, "/health")[2]))

        def wait(active: int, waiting: int) -> None:
            end = time.monotonic() + 20
            while (health()["active"], health()["waiting"]) != (active, waiting):
                assert time.monotonic() < end, health()
                time.sleep(0.02)

        stream = openai.OpenAI(base_url=f"{address}/v1", api_key="x", max_retries=0).completions.create(**long, stream=True)
        next(iter(stream))
        wait(1, 0)
        outcomes: list[int] = []
        second = threading.Thread(target=lambda: outcomes.append(request(address, "/v1/completions", long)[0]))
        second.start()
        wait(1, 1)
        status, headers, body = request(address, "/v1/completions", long)
        assert (status, json.loads(body)["error"]["code"]) == (429, None)
        assert "retry-after" in {name.lower() for name in headers}
        stream.close()  # the client goes away: the second request takes its place, and times out
        second.join(20)
        assert outcomes == [504]
        wait(0, 0)
        assert request(address, "/v1/completions", {**long, "max_tokens": 3})[0] == 200


@pytest.mark.parametrize(
    ("top", "raw"), [(2, False), (2, True), *(pytest.param(top, False, marks=pytest.mark.slow) for top in (5, 20))]
)
def test_the_whole_distribution_is_recovered_over_http(language_model: Run, address: str, top: int, raw: bool) -> None:
    own = own_log_probabilities(language_model, language_model.new_completion("the cat").prompt_tokens)[-1]
    with contextlib.ExitStack() as stack:
        if raw:
            address = stack.enter_context(serving({"small": language_model}, raw=True))
        Path("llms.toml").write_text(f'[models.remote]\nmodel = "openai:small"\nbase_url = "{address}/v1"\n')
        recovery = glasshouse.llms.open_recovery("remote", "the cat", top=top)
        found = glasshouse.llms.recover(recovery)
        error = abs(torch.from_numpy(found.log_probabilities) - own.double()).max()
        assert error < 1e-3, (found.method, found.calls)
        size = len(own)
        if not raw:
            assert found.calls <= math.ceil((size - 1) / (top - 1)) + 2
        assert recovery.api.token_text(int(own.argmax())) == language_model.tokenizer.decode([int(own.argmax())])
        glasshouse.llms.open_recovery("remote", "the cat", top=top + 1)  # a recovery of its own: nothing is refused
        with refused(GlasshouseError, "behind a server"):
            glasshouse.llms.open_recovery("remote", "the cat", decimals=4)


def test_measurements(address: str, client: openai.OpenAI) -> None:
    def value(name: str) -> float:
        lines = request(address, "/metrics")[2].decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    before = value("glasshouse_generated_tokens_total")
    client.completions.create(model="small", prompt="the", max_tokens=7, temperature=0)
    assert value("glasshouse_generated_tokens_total") == before + 7
    assert value('glasshouse_requests_total{path="/v1/completions",status="200"}') >= 1
