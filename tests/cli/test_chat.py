"""A pulse of `glasshouse chat`: lines from a pipe, its commands, and the transcript."""

import io
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError

from .program import call, refused, worked
from .small_models import train_tiny


def test_a_chat_from_a_pipe(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train_tiny(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("the cat\n\n/what\n/reset\nthe cat\n/quit\nthe mat\n"))
    chatted = worked(call("chat", "small", "--seed", "1", "--max-tokens", "8", "--output", "chat.txt", "--device", "cpu"))
    assert chatted.err.count("8 tokens") == 2
    assert "unknown command /what" in chatted.err
    transcript = (tmp_path / "chat.txt").read_text()
    assert transcript.count("User: the cat") == 2
    assert "(new chat)" in transcript
    assert "the mat" not in transcript
    monkeypatch.setattr("sys.stdin", io.StringIO("the cat\n" * 4))
    assert "no longer fit" in worked(call("chat", "small", "--device", "cpu")).err
    refused(call("chat", "small", "--output", "none/chat.txt"), GlasshouseError)
    refused(call("chat", "missing"), GlasshouseError)
