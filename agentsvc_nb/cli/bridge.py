"""Serve MCP over standard input and output, for programs that start MCP servers themselves. The bridge forwards each
input line to the MCP endpoint of the service, and prints each message of the response as a line.

A client on standard input cancels a request with the message `notifications/cancelled`. The bridge then closes the
request's HTTP stream, as a client over HTTP would do.
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
from agentsvc_nb.service.mcp.messages import NAME_PARAMETERS, encode_header
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.routes import MCP

_SECONDS: Final = 120.0
"""The timeout in seconds for each read from a stream. The service sends something at least every fifteen seconds."""
_LAST_SECONDS: Final = 2.0
"""The number of seconds to wait for pending responses after the end of the input."""
_META: Final = "io.modelcontextprotocol/protocolVersion"
_INTERNAL: Final = -32603
_PARSE: Final = -32700


class Bridge:
    """Forwards messages from standard input to the service, and its responses to `out` (standard output).

    Each message has its own thread. `out` must not be buffered. Otherwise, a thread that is still writing at exit would
    hold the lock of the buffer, and the interpreter would report an error.
    """

    def __init__(self, origin: Origin, out: FileIO) -> None:
        self._origin = origin
        self._io = SyncIO(None, None, origin.base_url, origin.secret)
        self._out = out
        self._writing = threading.Lock()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        """The input lines, then None at the end of the input, or when no program reads the output any more."""
        self._unread = False
        self._lock = threading.Lock()
        self._open: dict[str | int, Response | None] = {}
        """The unanswered requests by id, with their HTTP responses once these have begun."""

    def serve(self, lines: Iterator[bytes]) -> None:
        """Forward all lines. After the end of the input, wait at most two seconds for pending responses."""
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()
        threads: list[threading.Thread] = []
        while (line := self._lines.get()) is not None:
            if line.strip() and (thread := self._start_forwarding(line)) is not None:
                threads = [one for one in threads if one.is_alive()] + [thread]
        ends = clock.monotonic() + _LAST_SECONDS
        for thread in threads:
            if not self._unread:
                thread.join(max(0.0, ends - clock.monotonic()))
        self._close_streams()

    def _read(self, lines: Iterator[bytes]) -> None:
        try:
            for line in lines:
                self._lines.put(line)
        finally:
            self._lines.put(None)

    def _close_streams(self) -> None:
        """Close the streams that are still open, as a client that disconnects would do. Their runs continue."""
        with self._lock:
            left, self._open = list(self._open.values()), {}
        for response in left:
            if response is not None:
                run_sync(self._io.close(response))

    def _start_forwarding(self, line: bytes) -> threading.Thread | None:
        """Start a thread that forwards the line, and return the thread. Return None if the line needs no forwarding."""
        try:
            message = read_json(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self._write({"jsonrpc": "2.0", "error": {"code": _PARSE, "message": "The line is not a valid message."}})
            return None
        if message.get("method") == "notifications/cancelled":
            self._cancel(message.get("params"))
            return None
        if "method" in message and isinstance(id := message.get("id"), str | int):
            with self._lock:
                self._open[id] = None
        thread = threading.Thread(target=self._forward, args=(message, line), daemon=True)
        thread.start()
        return thread

    def _cancel(self, params: object) -> None:
        id = params.get("requestId") if isinstance(params, dict) else None
        with self._lock:
            response = self._open.pop(id, None) if isinstance(id, str | int) else None
        if response is not None:
            run_sync(self._io.close(response))

    def _forward(self, message: Mapping[str, Any], line: bytes) -> None:
        id = message.get("id")
        try:
            for answer in self._responses(message, line):
                if id is None or id in self._open:
                    self._write(answer)
        except Exception as error:
            if id in self._open:
                told = f"The service can't be reached: {error}" if isinstance(error, APIConnectionError) else str(error)
                self._write({"jsonrpc": "2.0", "id": id, "error": {"code": _INTERNAL, "message": told}})
        finally:
            if isinstance(id, str | int):
                self._open.pop(id, None)

    def _responses(self, message: Mapping[str, Any], line: bytes) -> Iterator[Mapping[str, Any]]:
        """Forward a message and yield the response's messages. For an API error of the service, yield an MCP error."""
        response = self._send(message, line)
        if response.chunks is None or response.status == 202:
            if response.body:
                yield _as_message(read_json(response.body), message.get("id"))
            return
        if isinstance(id := message.get("id"), str | int) and not self._register(id, response):
            return
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            yield read_json(b"".join(self._chunks(response)))
            return
        decoder = EventDecoder()
        for chunk in self._chunks(response):
            for event in decoder.feed(chunk):
                yield read_json(event.data)

    def _register(self, id: str | int, response: Response) -> bool:
        """Register the response, so that the request can be cancelled. Return False if it was already cancelled."""
        with self._lock:
            if id in self._open:
                self._open[id] = response
                return True
        run_sync(self._io.close(response))
        return False

    def _send(self, message: Mapping[str, Any], line: bytes) -> Response:
        """Send a message and return the response. If the embedded service is no longer running and nothing was sent,
        find or start a service and send the message again.
        """
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
    """Return HTTP headers that repeat parts of an MCP message. Messages of older protocol versions need none."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_META) if isinstance(meta, dict) else None
    if not isinstance(params, dict) or not isinstance(version, str):
        return {}
    method = str(message.get("method"))
    name = params.get(NAME_PARAMETERS.get(method, ""))
    found = {"mcp-protocol-version": version, "mcp-method": method, "mcp-name": name}
    return {key: encode_header(value) for key, value in found.items() if isinstance(value, str)}


def _as_message(found: Mapping[str, Any], id: object) -> Mapping[str, Any]:
    if "jsonrpc" in found:
        return found
    error = found.get("error") or {}
    told = {"code": _INTERNAL, "message": error.get("message", "The service refused the message."), "data": error}
    return {"jsonrpc": "2.0", "id": id, "error": told}


def serve(origin: Origin) -> None:
    """Run the bridge on this process's standard input and output."""
    # Open separate file objects. The interpreter closes its own at exit, while threads may still use them.
    into = BufferedReader(FileIO(sys.stdin.fileno(), closefd=False))
    out = FileIO(sys.stdout.fileno(), "w", closefd=False)
    Bridge(origin, out).serve(iter(into.readline, b""))
