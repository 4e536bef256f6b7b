"""The HTTP client of providers' libraries, which repairs the streams of events that they read."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

import httpx2
from pydantic_ai.models import create_async_httpx2_client

from agentsvc_nb.agents.language.model_choice import NotConfigured, network_fault
from agentsvc_nb.wire.proxies import connection_options

_LIMITS: Final = httpx2.Limits(max_connections=1_000, max_keepalive_connections=100)
"""The agent library's own."""
_ESCAPE: Final = re.compile(r"\\(?:u([dD][89a-fA-F][0-9a-fA-F]{2})|.)")
"""An escape in JSON; its group is that of half a surrogate pair. All are matched, since `\\\\ud83d` is none."""
_FIRST_HALF_AT_END: Final = re.compile(r'[\ud800-\udbff](?=")')
_SECOND_HALF_AT_START: Final = re.compile(r'(?<!\\)"([\udc00-\udfff])')
_PING: Final = re.compile(r'"type"\s*:\s*"ping"')
_BEGUN: Final = re.compile(r'"type"\s*:\s*"response\.(created|queued|in_progress)"')
_USAGE: Final = re.compile(r'"usage"\s*:\s*\{(?:[^{}]|\{[^{}]*\})*\}')
_DONE: Final = re.compile(r"data: ?\[DONE\]")
_REASON: Final = re.compile(r'"finish_reason"\s*:\s*"[^"]')
_STOP: Final = (
    'data: {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
)


def repairing_client(url: str) -> httpx2.AsyncClient:
    """Return a client for a provider's library and the server at `url`, which it reaches as the environment says. It
    reads errors as UTF-8: their charset could name a codec that takes minutes (`punycode`). Of each other answer it

    - raises `httpx2.RemoteProtocolError` for bytes that are not UTF-8, as for a connection that breaks;
    - joins surrogate pairs that two events split, and replaces a lone half by U+FFFD: it can't be stored or sent;
    - reports `stop` where chat completions end with `[DONE]` and no reason, as those of some self-hosted servers do;
    - leaves the usage out of events with which a response of OpenAI's Responses begins: the library adds up all.

    Raises `NotConfigured` if a variable of the environment keeps the server from being reached.
    """
    if lacking := network_fault(url):
        raise NotConfigured(lacking)
    transport = httpx2.AsyncHTTPTransport(limits=_LIMITS, **connection_options(url))
    client = create_async_httpx2_client(transport=transport)
    client.event_hooks = {**client.event_hooks, "response": [_repair]}
    return client


async def _repair(response: httpx2.Response) -> None:
    response.encoding = "utf-8"
    if response.is_success:
        # This response undoes the compression: the library gets text.
        plain = httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
        response.headers.pop("content-encoding", None)
        lines = _lines(plain)
        path = response.request.url.path
        if path.endswith("/chat/completions"):
            lines = _ended(lines)
        elif path.endswith("/responses"):
            lines = _counted_once(lines)
        response.stream = _RepairedStream(plain, _joined(lines))


class _RepairedStream(httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, lines: AsyncIterator[str]) -> None:
        self._response, self._lines = response, lines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for line in self._lines:
            yield line.encode()

    async def aclose(self) -> None:
        await self._response.aclose()


async def _lines(response: httpx2.Response) -> AsyncIterator[str]:
    """Yield the lines of an answer, with their ends."""
    begun: list[bytes] = []
    async for chunk in response.aiter_bytes():
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield _decoded(b"".join([*begun, line, b"\n"]))
            begun = []
        begun.append(rest)
    yield _decoded(b"".join(begun))


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise httpx2.RemoteProtocolError("The stream has bytes that are not valid UTF-8.") from error


async def _ended(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield the lines of chat completions, with a finish reason before `[DONE]` if no event had one."""
    has_reason = False
    async for line in lines:
        has_reason = has_reason or bool(_REASON.search(line))
        if _DONE.match(line) and not has_reason:
            yield _STOP
        yield line


async def _counted_once(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield the lines of OpenAI's Responses, with usage in the last event alone."""
    async for line in lines:
        yield _USAGE.sub('"usage": null', line) if _BEGUN.search(line) else line


async def _joined(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield the lines without halves of surrogate pairs. A text that ends with a first half, and what follows, is held
    back until the next event, which may begin with the second."""
    held: list[str] = []
    async for line in lines:
        if not line.startswith("data:") or (held and _PING.search(line)):
            if held:
                held.append(line)
            else:
                yield line
            continue
        text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[0], line)
        text = text if text == line else _without_halves(text, "surrogatepass")
        if held:
            second = _SECOND_HALF_AT_START.search(text)
            if second:
                text = text[: second.start(1)] + text[second.end(1) :]
                held.insert(1, second[1])
            yield _without_halves("".join(held))
            held = []
        if first := _FIRST_HALF_AT_END.search(text):
            held = [text[: first.end()], text[first.end() :]]
        else:
            yield _without_halves(text)
    yield _without_halves("".join(held))


def _without_halves(text: str, lone: str = "replace") -> str:
    """The text with surrogate pairs as characters; `lone` is how a codec treats a half that stands alone."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", lone)
