"""A real HTTP server on the loopback interface that speaks the OpenAI protocol and misbehaves on request."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


class ScriptedServer:
    """Answers chats with `answer(body)`. Each entry of `script` is used for one request before that.

    An entry is a status (with headers), or "broken", which ends the stream in the middle.
    """

    def __init__(self, answer: Callable[[Body], str] = lambda body: "It is 2.96, about.") -> None:
        self.answer = answer
        self.script: list[tuple[int, dict[str, str]] | str] = []
        self.requests: list[tuple[str, Body, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, body, dict(self.headers)))
                step = outer.script.pop(0) if outer.script else ""
                if isinstance(step, tuple):
                    status, headers = step
                    key = self.headers.get("Authorization", "").removeprefix("Bearer ")
                    return self.send(status, {"error": {"message": f"refused with {key or 'no key'}"}}, headers)
                text = outer.answer(body)
                if not body.get("stream"):
                    return self.send(200, outer.response(self.path, text), {})
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for event in outer.events(text, broken=step == "broken"):
                    self.wfile.write(f"data: {event}\n\n".encode())
                self.close_connection = True
                return None

            def send(self, status: int, content: Body, headers: dict[str, str]) -> None:
                data = json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments: Any) -> None:
                """Tests print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    @staticmethod
    def response(path: str, text: str) -> Body:
        choice = {"message": {"role": "assistant", "content": text}} if "chat" in path else {"text": text}
        usage = {"prompt_tokens": 11, "completion_tokens": len(text.split())}
        return {"choices": [{"index": 0, "finish_reason": "stop", **choice}], "usage": usage}

    @staticmethod
    def events(text: str, broken: bool) -> list[str]:
        pieces = text.split(" ")
        pieces = [piece + " " for piece in pieces[:-1]] + pieces[-1:]
        choices: list[Body] = [{"index": 0, "delta": {"content": piece}, "finish_reason": None} for piece in pieces]
        if broken:
            return [json.dumps({"choices": [choice]}) for choice in choices[: len(choices) // 2]]
        choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
        usage = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": len(pieces)}}
        return [*(json.dumps({"choices": [choice]}) for choice in choices), json.dumps(usage), "[DONE]"]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
