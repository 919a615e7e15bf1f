"""A pulse of `glasshouse ask`: an answer as it comes, a line about it, a list of models, and the refusals."""

from pathlib import Path

import glasshouse
from glasshouse.cli.language_models import printable
from glasshouse.specs.errors import GlasshouseError

from .program import call, refused, worked
from .small_models import train_tiny


def test_a_question_is_answered(runs: Path, tmp_path: Path) -> None:
    train_tiny(tmp_path)
    asked = ("the cat", "--max-tokens", "12", "--seed", "3", "--device", "cpu")
    answer = worked(call("ask", "small", *asked))
    reply = glasshouse.llms.ask("run:tiny", "the cat", max_tokens=12, seed=3, device="cpu")
    assert answer.out.strip() == printable(reply.text).strip()
    assert answer.err.startswith(f"{reply.tokens} tokens, ")
    assert worked(call("ask", "tiny", *asked)).out == answer.out
    other = worked(call("ask", "tiny", *asked, "--system", "Be brief.", "--temperature", "0"))
    assert other.out != answer.out
    refused(call("ask", "missing", "x"), GlasshouseError)
    refused(call("ask", "openai:gpt-x", "x"), GlasshouseError)
    refused(call("ask", "tiny", "x", "--config", "none.toml"), GlasshouseError)
    refused(call("ask", "tiny", "x", "--temperature", "-1"), GlasshouseError)
    (tmp_path / "llms.toml").write_text('[models.a]\nmodel = "openai:x"\napi_key = "sk-secret"\n')
    assert "sk-secret" not in refused(call("ask", "tiny", "x"), GlasshouseError)


def test_a_model_cannot_change_the_terminal() -> None:
    assert printable("a\x1b[2Jb\r\n\tc\x07é") == "a␛[2Jb␍\n\tc␇é"
