"""A request and its answer in the HTTP library's terms, for both backends of `http`."""

from __future__ import annotations

import functools
import json
import ssl
from typing import Any, Final
from urllib.parse import urlencode

from agentsvc_nb.client.errors import APIConnectionError
from agentsvc_nb.client.transport.bodies import Told
from agentsvc_nb.client.transport.io import Answer, Request
from agentsvc_nb.client.transport.library import httpx

CONNECT_SECONDS: Final = 10.0
_HEADERS: Final = {
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "connection": "keep-alive",
    "user-agent": "agentsvc-nb",
}
_BODYLESS: Final = frozenset({"GET", "HEAD", "DELETE"})
FAILURES: Final = (httpx.RequestError, httpx.StreamError, ssl.SSLError)
_UNSENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


def build(request: Request, own: httpx.Client | httpx.AsyncClient | None = None) -> httpx.Request:
    """The request as the library has it; a client of the caller's own (`own`) adds its headers and cookies."""
    headers = {**_HEADERS, **request.headers, "authorization": f"Bearer {request.key}"}
    if request.stream:
        headers["accept-encoding"] = "identity"
    seconds = dict.fromkeys(("read", "write", "pool"), request.seconds)
    limits = {"timeout": {**seconds, "connect": min(request.seconds, CONNECT_SECONDS)}}
    make = own.build_request if own else httpx.Request if request.files is not None else _small
    built = make(request.method, _url(request), headers=headers, extensions=limits, **_content(request))
    if own:
        built.headers.pop("x-api-key", None)
    if request.on_sent:
        length = built.headers.get("content-length")
        built.stream = Told(built.stream, int(length) if length else None, request.on_sent)
    return built


def _content(request: Request) -> dict[str, Any]:
    """The body, in the library's arguments."""
    if request.files is None:
        return {} if request.body is None else {"json": request.body}
    payload = {} if request.body is None else {"payload": _json(request.body)}
    return {"data": payload, "files": [("files", file) for file in request.files]}


def _json(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _small(
    method: str, url: httpx.URL, *, headers: dict[str, str], extensions: dict[str, Any], json: Any = None
) -> httpx.Request:
    """A request without files. The library's own way looks at the headers four times, for 70 us."""
    body = b"" if json is None else _json(json).encode()
    if json is not None:
        headers = {**headers, "content-type": "application/json"}
    if json is not None or method not in _BODYLESS:
        headers = {**headers, "content-length": str(len(body))}
    raw = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
    stream = httpx.ByteStream(body)
    return httpx.Request(method, url, headers=[(b"host", url.netloc), *raw], stream=stream, extensions=extensions)


def _url(request: Request) -> httpx.URL:
    return _parsed(f"{request.url}?{urlencode(request.query)}" if request.query else request.url)


@functools.lru_cache(maxsize=64)
def _parsed(url: str) -> httpx.URL:
    """Reading one takes 70 us, and whoever waits asks for the same again and again."""
    return httpx.URL(url)


def answer(response: httpx.Response, request: Request, body: bytes = b"", chunks: Any = None) -> Answer:
    headers = {name.lower().decode("ascii"): value.decode("latin-1") for name, value in response.headers.raw}
    return Answer(response.status_code, headers, body, chunks and response, chunks, request.ends)


def failure(error: Exception) -> APIConnectionError:
    timed_out = isinstance(error, httpx.TimeoutException)
    why = str(error) or ("it took too long" if timed_out else type(error).__name__)
    return APIConnectionError(
        f"The service did not answer: {why}.", sent=not isinstance(error, _UNSENT), timed_out=timed_out
    )
