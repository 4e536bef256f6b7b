"""A language server as an editor runs it (basedpyright's): what it shows of a piece of code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CLIENT = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "hover": {"contentFormat": ["markdown"]},
        "signatureHelp": {"signatureInformation": {"documentationFormat": ["markdown"]}},
    },
    "workspace": {"configuration": True},
}


class Editor:
    """One file in an editor; positions are after a piece of its last line."""

    def __init__(self, folder: Path, code: str) -> None:
        self._file = (folder / "program.py").as_uri()
        self._last = code.count("\n")
        command = [sys.executable, "-c", "from basedpyright.langserver import main; main()", "--stdio"]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
        self._requests = 0
        self._ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": CLIENT})
        self._send({"method": "initialized", "params": {}})
        document = {"uri": self._file, "languageId": "python", "version": 1, "text": code}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ask("shutdown", None)
        self._send({"method": "exit"})
        self._server.communicate()

    def hover(self, line: int, column: int) -> str:
        """What is shown over a name."""
        found = self._at("hover", line, column)
        return found["contents"]["value"] if found else ""

    def signatures(self, line: int, column: int) -> list[str]:
        """What is shown after an opening bracket."""
        return [each["label"] for each in self._at("signatureHelp", line, column)["signatures"]]

    def completions(self, line: int, column: int) -> list[str]:
        """What is offered after a dot, in order."""
        found = self._at("completion", line, column)
        offered = sorted(found["items"], key=lambda item: item["sortText"])
        return [item["label"] for item in offered if not item["label"].startswith("__")]

    def _at(self, what: str, line: int, column: int) -> Any:
        where = {"textDocument": {"uri": self._file}, "position": {"line": line, "character": column}}
        return self._ask(f"textDocument/{what}", where)

    def _ask(self, method: str, params: Any) -> Any:
        self._requests += 1
        self._send({"id": self._requests, "method": method, "params": params})
        while True:
            message = self._received()
            if "method" not in message and message.get("id") == self._requests:
                return message["result"]
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": self._answer(message)})

    def _answer(self, message: Any) -> Any:
        """What the server asks: its configuration."""
        if message["method"] != "workspace/configuration":
            return None
        settings = {"pythonPath": sys.executable, "analysis": {"typeCheckingMode": "off"}}
        return [settings for _ in message["params"]["items"]]

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._server.stdin.flush()

    def _received(self) -> Any:
        assert self._server.stdout
        size = 0
        while (line := self._server.stdout.readline()).strip():
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        return json.loads(self._server.stdout.read(size))
