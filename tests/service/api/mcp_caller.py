"""A small client of MCP that sends exactly what a test wants, in either revision."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import httpx

from agentsvc_nb.service.mcp.messages import NAME_PARAMETERS
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import MCP

Json = dict[str, Any]
MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
TASKS: Final[Json] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
ELICITS: Final[Json] = {**TASKS, "elicitation": {}}


def meta(capabilities: Mapping[str, Any] = {}, **more: Any) -> Json:
    prefix = "io.modelcontextprotocol/"
    return {f"{prefix}protocolVersion": MODERN, f"{prefix}clientCapabilities": dict(capabilities), **more}


class McpCaller:
    """Sends messages to a service's MCP endpoint with one key."""

    def __init__(self, service: RunningService, key: str | None = None, capabilities: Mapping[str, Any] = {}) -> None:
        key = service.api_key if key is None else key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.http = httpx.Client(base_url=service.base_url, headers=headers, timeout=90)
        self.capabilities = capabilities
        self._ids = itertools.count(1)

    def __enter__(self) -> McpCaller:
        return self

    def __exit__(self, *failure: object) -> None:
        self.http.close()

    def post(self, message: Any, headers: Mapping[str, str] = {}) -> httpx.Response:
        """Any message as it is, with the headers that any client sends."""
        sent = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.http.post(MCP.path, content=content, headers=sent)

    def request(self, method: str, **params: Any) -> Json:
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}

    def send(self, method: str, headers: Mapping[str, str] = {}, **params: Any) -> httpx.Response:
        """A request of the revision of 2026-07-28."""
        message = self.request(method, _meta=meta(self.capabilities), **params)
        return self.post(message, {**self.repeated(message), **headers})

    def opened(self, method: str, **params: Any) -> contextlib.AbstractContextManager[httpx.Response]:
        """The response to a request, with its stream open."""
        message = self.request(method, _meta=meta(self.capabilities), **params)
        headers = {"Accept": "application/json, text/event-stream", **self.repeated(message)}
        return self.http.stream("POST", MCP.path, json=message, headers=headers)

    def repeated(self, message: Json) -> dict[str, str]:
        """The headers that repeat what the message says."""
        method, params = message["method"], message["params"]
        named = params.get(NAME_PARAMETERS.get(method, ""))
        return {
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": method,
            **({"Mcp-Name": named} if isinstance(named, str) and named.isascii() else {}),
        }

    def ask(self, method: str, **params: Any) -> Json:
        """The result of a request. Asserts that it has one."""
        answer = self.send(method, **params)
        message = messages(answer)[-1]
        assert "result" in message, (answer.status_code, message)
        result: Json = message["result"]
        return result

    def call(self, name: str, **given: Any) -> Json:
        return self.ask("tools/call", name=name, arguments=given)

    def refused(self, method: str, **params: Any) -> tuple[int, int]:
        """The status and the code of the JSON-RPC error of a request."""
        answer = self.send(method, **params)
        return answer.status_code, messages(answer)[-1]["error"]["code"]

    def legacy(self, method: str, **params: Any) -> list[Json]:
        """All messages that answer a request of the older revision."""
        return messages(self.post(self.request(method, **params), {"MCP-Protocol-Version": LEGACY}))

    def ended(self, task: str) -> Json:
        """The task once it is over. The caller's tests have a limit of time of their own."""
        while True:
            found = self.ask("tasks/get", taskId=task)
            if found["status"] in ("completed", "failed", "cancelled"):
                return found


def messages(answer: httpx.Response) -> list[Json]:
    """The messages of a response: one, or those of its stream."""
    if answer.headers["content-type"].startswith("text/event-stream"):
        return list(streamed(answer.text.splitlines()))
    return [answer.json()]


def streamed(lines: Iterable[str]) -> Iterator[Json]:
    """The messages of a stream of events."""
    for line in lines:
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))
