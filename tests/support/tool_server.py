"""A small MCP server, made with the official library: `python -m tests.support.tool_server stdio|http FOLDER`.

In its folder `calls.log` has a line for each call that it took, `headers.log` for each request over HTTP the keys that
came along, `port` where it answers; `about.json` changes what it says of its tools, for the next who asks.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.waiting import until

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
ANY = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS: dict[str, dict[str, Any]] = {
    "read": {"description": "Reads.", "annotations": {"readOnlyHint": True, "idempotentHint": True}},
    "look": {"description": "Reads, but never the same.", "annotations": {"readOnlyHint": True}},
    "stamp": {"description": "Does something that can't be undone."},
    "set": {"description": "Sets what is set.", "annotations": {"idempotentHint": True}},
    "hang": {"description": "Does something, and never says so."},
    "hang_safely": {"description": "The same, once or twice.", "annotations": {"idempotentHint": True}},
    "die": {"description": "Does something, and ends the server."},
    "picture": {"description": "A picture, a link and a sound."},
    "huge": {"description": "A million lines."},
    "flood": {"description": "More than a message may be."},
    "wrong": {"description": "Fails."},
    "key": {"description": "Says which key came along."},
    "with.dot": {"description": "A name that models don't take."},
}


class RunningToolServer:
    """The server over HTTP, in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        (self.folder / "port").unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.support.tool_server", "http", str(self.folder), *self._options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until(lambda: (self.folder / "port").exists())

        self.authority = f"127.0.0.1:{(self.folder / 'port').read_text()}"
        self.url = f"http://{self.authority}/mcp"

    def calls(self) -> list[str]:
        return calls(self.folder)

    def about(self, **tools: dict[str, Any]) -> None:
        """Say something else of these tools from now on."""
        (self.folder / "about.json").write_text(json.dumps(tools))

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def tool_server(*options: str) -> Iterator[RunningToolServer]:
    """The server, running. `legacy`: it does not know the revision without sessions."""
    with tempfile.TemporaryDirectory(prefix="tool-server-") as folder:
        server = RunningToolServer(Path(folder), *options)
        server.start()
        try:
            yield server
        finally:
            server.kill()


def command(folder: Path) -> tuple[str, ...]:
    """The command that starts it on standard input and output."""
    root = str(Path(__file__).parents[2])
    code = f"import sys; sys.path.insert(0, {root!r}); sys.argv[1:] = ['stdio', {str(folder)!r}]"
    return sys.executable, "-c", f"{code}; from tests.support.tool_server import main; main()"


def calls(folder: Path) -> list[str]:
    log = folder / "calls.log"
    return log.read_text().splitlines() if log.exists() else []


def main() -> None:
    kind, folder, *options = sys.argv[1:]
    server = _server(Path(folder))
    if kind == "http":
        _serve(server, Path(folder), "legacy" in options)
        return
    import anyio
    from mcp.server.stdio import stdio_server

    async def talk() -> None:
        (Path(folder) / "pid").write_text(str(os.getpid()))
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(talk)


def _server(folder: Path) -> Any:
    import anyio
    import mcp_types as types
    from mcp.server.lowlevel import Server

    async def listed(_: Any, __: Any) -> Any:
        about = folder / "about.json"
        changed = json.loads(about.read_text()) if about.exists() else {}
        tools = {name: {**said, **changed.pop(name, {})} for name, said in TOOLS.items()} | changed
        return types.ListToolsResult.model_validate(
            {"tools": [{"name": name, "inputSchema": ANY, **said} for name, said in tools.items()], "ttlMs": 0}
        )

    async def call(_: Any, asked: Any) -> Any:
        with (folder / "calls.log").open("a") as log:
            log.write(f"{asked.name} {(asked.arguments or {}).get('text', '')}\n")
        if asked.name.startswith("hang"):
            await anyio.sleep_forever()
        if asked.name == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return types.CallToolResult.model_validate(_answer(asked.name, folder))

    return Server("small", on_list_tools=listed, on_call_tool=call)


def _answer(name: str, folder: Path) -> dict[str, Any]:
    text, headers = f"{name} is done", folder / "headers.log"
    match name:
        case "picture":
            encoded, fake = (base64.b64encode(data).decode() for data in (PIXEL, b"<svg onload=alert(1)>"))
            picture = {"type": "image", "data": encoded, "mimeType": "image/png"}
            link = {"type": "resource_link", "uri": "file:///etc/passwd", "name": "passwords"}
            sound = {"type": "audio", "data": encoded, "mimeType": "audio/wav"}
            return {"content": [picture, link, sound, {**picture, "data": fake}]}
        case "huge":
            text = "line\n" * 1_000_000
        case "flood":
            text = "x" * 20_000_000
        case "wrong":
            text = "There is no such ticket."
        case "key":
            text = headers.read_text() if headers.exists() else os.environ.get("TOOL_KEY", "none")
    return {"content": [{"type": "text", "text": text}], "isError": name == "wrong"}


def _serve(server: Any, folder: Path, legacy: bool) -> None:
    import socket

    import uvicorn

    app = server.streamable_http_app()

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if scope["type"] == "http":
            with (folder / "headers.log").open("a") as log:
                log.write(headers.get(b"authorization", b"none").decode() + "\n")
        if legacy and b"mcp-method" in headers:
            await send({"type": "http.response.start", "status": 400, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"Bad Request: No session"})
            return
        await app(scope, receive, send)

    listening = socket.create_server(("127.0.0.1", 0))
    (folder / "port.new").write_text(str(listening.getsockname()[1]))
    (folder / "port.new").replace(folder / "port")
    uvicorn.Server(uvicorn.Config(noting, log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    main()
