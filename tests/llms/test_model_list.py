"""Named models: the file llms.toml, names without a file, and what is refused; above all a key in the file."""

import pytest

from glasshouse.llms.language_model import Message, Options, Reply
from glasshouse.llms.model_list import find_model, read_model_list
from glasshouse.llms.openai_model import OpenAIModel
from glasshouse.specs.errors import GlasshouseError, RunError
from tests.refusals import refused

REMOTE = '[models.remote]\nmodel = "openai:gpt-x"\nbase_url = "https://example.org/v1"\n'


def listed(tmp_path, text, name="llms.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_names_of_the_file_come_first_and_runs_need_none(tmp_path, tiny_run):
    listed(tmp_path, f'[models.small]\nmodel = "run:{tiny_run}"\n' + REMOTE)
    assert find_model("small").open("cpu").name == "small"
    assert find_model(str(tiny_run)).open("cpu").chat([Message("user", "the")], Options(max_tokens=2)).prompt_tokens == 20
    assert find_model(f"run:{tiny_run}").open("cpu").name == f"run:{tiny_run}"
    with refused(GlasshouseError, "'nothing'", "small, remote"):
        find_model("nothing").open()
    with refused(RunError, "nothing"):
        find_model("run:nothing").open()
    with refused(GlasshouseError, "other.toml"):
        find_model("small", tmp_path / "other.toml").open()


def test_a_gguf_file_is_found_from_the_folder_of_the_list(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    path = listed(folder, '[models.stories]\nmodel = "gguf:stories.gguf"\n')
    with refused(GlasshouseError, str(folder / "stories.gguf")):
        find_model("stories", path).open()
    with refused(GlasshouseError, "stories.gguf"):
        find_model("gguf:stories.gguf").open()


def test_a_server_needs_its_address_and_its_key(tmp_path, monkeypatch):
    listed(tmp_path, REMOTE + 'key_env = "MY_KEY"\nprice_per_million = {prompt = 2.0, tokens = 8}\ncontext = 4096\n')
    monkeypatch.delenv("MY_KEY", raising=False)
    with refused(GlasshouseError, "MY_KEY"):
        find_model("remote").open()
    monkeypatch.setenv("MY_KEY", "sk-secret")
    model = find_model("remote").open()
    assert isinstance(model, OpenAIModel)
    assert (model.model, model.context) == ("gpt-x", 4096)
    assert find_model("remote").cost(Reply("", "end", 1000, 100)) == pytest.approx(0.0028)
    with refused(GlasshouseError, "openai:gpt-y", "llms.toml"):
        find_model("openai:gpt-y").open()


@pytest.mark.parametrize(
    "line",
    [
        'key = "sk-secret"',
        'api_key = "sk-secret"',
        'API-Key = "sk-secret"',
        'token = "sk-secret"',
        'key_env = "sk-secret"',
        'base_url = "https://user:sk-secret@example.org"',
        'base_url = "https://example.org?key=sk-secret"',
    ],
)
def test_a_key_in_the_file_is_refused_and_not_repeated(tmp_path, line):
    path = listed(tmp_path, '[models.remote]\nmodel = "openai:gpt-x"\n' + line + "\n")
    with refused(GlasshouseError, "remote") as caught:
        read_model_list(path)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("[models", GlasshouseError, "TOML"),
        ("[model.a]\n", GlasshouseError, "[models.NAME]"),
        ("models = 3\n", GlasshouseError, "[models.NAME]"),
        ("[models]\na = 3\n", GlasshouseError, "models.a"),
        ("[models.a]\n", GlasshouseError, "models.a.model"),
        ('[models.a]\nmodel = "tiny"\n', GlasshouseError, "run:NAME"),
        ('[models.a]\nmodel = "run:x"\nbase_url = "https://e.org"\n', GlasshouseError, "base_url"),
        ('[models.a]\nmodel = "run:x"\ntemprature = 1\n', GlasshouseError, "temprature"),
        ('[models.a]\nmodel = "openai:x"\n', GlasshouseError, "[models.a]"),
        ('[models.a]\nmodel = "openai:x"\nbase_url = "ftp://e.org"\n', GlasshouseError, "ftp://e.org"),
        (REMOTE + "requests_per_minute = -1\n", GlasshouseError, "requests_per_minute"),
        (REMOTE + "timeout = 0\n", GlasshouseError, "timeout"),
        (REMOTE + "price_per_million = {prompt = 1}\n", GlasshouseError, "price_per_million"),
        (REMOTE + "price_per_million = {prompt = 1, tokens = true}\n", GlasshouseError, "price_per_million.tokens"),
    ],
)
def test_mistakes_are_named(tmp_path, text, code, named):
    with refused(code, named, "llms.toml"):
        read_model_list(listed(tmp_path, text))
