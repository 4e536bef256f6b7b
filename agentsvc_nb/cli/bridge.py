"""MCP over standard input and output, for programs that start their servers: each line is passed on to the service's
endpoint, and each message of its answer comes back as a line.

Over HTTP a request is cancelled by closing its stream; here `notifications/cancelled` says so.
"""

from __future__ import annotations

import json
import math
import queue
import sys
import threading
from collections.abc import Iterator, Mapping
from io import BufferedReader, FileIO
from typing import Any, Final

from agentsvc_nb import clock
from agentsvc_nb.client.errors import APIConnectionError
from agentsvc_nb.client.origin import Origin
from agentsvc_nb.client.sse import EventDecoder
from agentsvc_nb.client.transport.http import SyncIO
from agentsvc_nb.client.transport.io import HttpRequest, Response, run_sync
from agentsvc_nb.service.mcp.messages import NAMED_BY, header
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.routes import MCP

_SECONDS: Final = 120.0
"""For one wait: a stream says something every fifteen seconds."""
_LAST_SECONDS: Final = 2.0
"""For the answers that are under way at the end of the input."""
_META: Final = "io.modelcontextprotocol/protocolVersion"
_INTERNAL: Final = -32603
_PARSE: Final = -32700


class Bridge:
    """Passes messages on, each request in a thread of its own. `out` is not buffered: a thread that is left in the
    middle of writing would hold its buffer, which the interpreter takes for an error at its end."""

    def __init__(self, origin: Origin, out: FileIO) -> None:
        self._origin = origin
        self._io = SyncIO(None, None, origin.base_url, origin.secret)
        self._out = out
        self._writing = threading.Lock()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        """What came; None at the end of the input, or when nobody reads the output any more."""
        self._unread = False
        self._lock = threading.Lock()
        self._open: dict[str | int, Response | None] = {}
        """Requests that are not answered yet, with their streams."""

    def serve(self, lines: Iterator[bytes]) -> None:
        """Pass on all lines; in the end, wait a little for answers under way, and leave the others."""
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()
        threads: list[threading.Thread] = []
        while (line := self._lines.get()) is not None:
            if line.strip() and (thread := self._take(line)) is not None:
                threads = [one for one in threads if one.is_alive()] + [thread]
        ends = clock.monotonic() + _LAST_SECONDS
        for thread in threads:
            if not self._unread:
                thread.join(max(0.0, ends - clock.monotonic()))
        self._leave()

    def _read(self, lines: Iterator[bytes]) -> None:
        try:
            for line in lines:
                self._lines.put(line)
        finally:
            self._lines.put(None)

    def _leave(self) -> None:
        """Close the streams that are open, as a client does that goes away: their runs go on."""
        with self._lock:
            left, self._open = list(self._open.values()), {}
        for response in left:
            if response is not None:
                run_sync(self._io.close(response))

    def _take(self, line: bytes) -> threading.Thread | None:
        """The thread that passes the line on; None for one that is done already."""
        try:
            message = read_json(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self._write({"jsonrpc": "2.0", "error": {"code": _PARSE, "message": "The line is no message."}})
            return None
        if message.get("method") == "notifications/cancelled":
            self._cancel(message.get("params"))
            return None
        if "method" in message and isinstance(id := message.get("id"), str | int):
            with self._lock:
                self._open[id] = None
        thread = threading.Thread(target=self._pass_on, args=(message, line), daemon=True)
        thread.start()
        return thread

    def _cancel(self, params: object) -> None:
        id = params.get("requestId") if isinstance(params, dict) else None
        with self._lock:
            response = self._open.pop(id, None) if isinstance(id, str | int) else None
        if response is not None:
            run_sync(self._io.close(response))

    def _pass_on(self, message: Mapping[str, Any], line: bytes) -> None:
        id = message.get("id")
        try:
            for answer in self._answers(message, line):
                if id is None or id in self._open:
                    self._write(answer)
        except Exception as error:
            if id in self._open:
                told = f"The service can't be reached: {error}" if isinstance(error, APIConnectionError) else str(error)
                self._write({"jsonrpc": "2.0", "id": id, "error": {"code": _INTERNAL, "message": told}})
        finally:
            if isinstance(id, str | int):
                self._open.pop(id, None)

    def _answers(self, message: Mapping[str, Any], line: bytes) -> Iterator[Mapping[str, Any]]:
        """The messages of the answer. What the service refuses with its envelope is an error of the request."""
        response = self._sent(message, line)
        if response.chunks is None or response.status == 202:
            if response.body:
                yield _as_message(read_json(response.body), message.get("id"))
            return
        if isinstance(id := message.get("id"), str | int) and not self._keeps(id, response):
            return
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            yield read_json(b"".join(self._chunks(response)))
            return
        decoder = EventDecoder()
        for chunk in self._chunks(response):
            for event in decoder.feed(chunk):
                yield read_json(event.data)

    def _keeps(self, id: str | int, response: Response) -> bool:
        """Keep the response for as long as it is read; False for one of a request that was cancelled before it came."""
        with self._lock:
            if id in self._open:
                self._open[id] = response
                return True
        run_sync(self._io.close(response))
        return False

    def _sent(self, message: Mapping[str, Any], line: bytes) -> Response:
        """The response; the embedded service is found or started again if it is gone, when nothing was sent."""
        try:
            return run_sync(self._io.send(self._request(message, line)))
        except APIConnectionError as error:
            if self._origin.reconnect is None or error.sent:
                raise
        self._origin.update(*self._origin.reconnect())
        return run_sync(self._io.send(self._request(message, line)))

    def _request(self, message: Mapping[str, Any], line: bytes) -> HttpRequest:
        return HttpRequest(
            "POST",
            self._origin.base_url + MCP.path,
            _SECONDS,
            self._origin.key,
            {"accept": "application/json, text/event-stream", **headers_of(message)},
            body=line,
            stream=True,
            ends=math.inf,
        )

    def _chunks(self, response: Response) -> Iterator[bytes]:
        while (chunk := run_sync(self._io.read(response))) is not None:
            yield chunk

    def _write(self, message: Mapping[str, Any]) -> None:
        rest = memoryview(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        with self._writing:
            try:
                while not self._unread and rest:
                    rest = rest[self._out.write(rest) :]
            except OSError:
                self._unread = True
                self._lines.put(None)


def headers_of(message: Mapping[str, Any]) -> dict[str, str]:
    """What headers repeat of a modern message; none of an older one."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_META) if isinstance(meta, dict) else None
    if not isinstance(params, dict) or not isinstance(version, str):
        return {}
    method = str(message.get("method"))
    name = params.get(NAMED_BY.get(method, ""))
    found = {"mcp-protocol-version": version, "mcp-method": method, "mcp-name": name}
    return {key: header(value) for key, value in found.items() if isinstance(value, str)}


def _as_message(found: Mapping[str, Any], id: object) -> Mapping[str, Any]:
    if "jsonrpc" in found:
        return found
    error = found.get("error") or {}
    told = {"code": _INTERNAL, "message": error.get("message", "The service refused."), "data": error}
    return {"jsonrpc": "2.0", "id": id, "error": told}


def serve(origin: Origin) -> None:
    """Bridge this process's standard input and output."""
    # Files of its own: the interpreter's are closed at its end, while threads may still be at them.
    into = BufferedReader(FileIO(sys.stdin.fileno(), closefd=False))
    out = FileIO(sys.stdout.fileno(), "w", closefd=False)
    Bridge(origin, out).serve(iter(into.readline, b""))
