"""llama.cpp's tokenizer of a GGUF file."""

from pathlib import Path

from glasshouse.llms.llama_cpp_server import start_server


def tokens_in_llama_cpp(path: Path, texts: list[str]) -> list[list[int]]:
    """The token ids of each text. Special tokens in a text are recognised; none are added."""
    server, options = start_server(path, device="cpu"), {"add_special": False, "parse_special": True}
    return [server.post("/tokenize", {"content": text, **options})["tokens"] for text in texts]
