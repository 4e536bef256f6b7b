"""A request and its answer in the HTTP library's terms, for both backends of `http`."""

from __future__ import annotations

import json
import ssl
from typing import Any, Final

import httpx

from agentsvc_nb.client.bodies import Told
from agentsvc_nb.client.errors import APIConnectionError
from agentsvc_nb.client.io import Answer, Request

CONNECT_SECONDS: Final = 10.0
_HEADERS: Final = {
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "connection": "keep-alive",
    "user-agent": "agentsvc-nb",
}
FAILURES: Final = (httpx.RequestError, httpx.StreamError, ssl.SSLError)
_UNSENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


def build(request: Request, own: httpx.Client | httpx.AsyncClient | None = None) -> httpx.Request:
    """The request as the library has it; a client of the caller's own (`own`) adds its headers and cookies."""
    sends: dict[str, Any] = {"json": request.body} if request.body is not None else {}
    if request.files is not None:
        data = (
            {} if request.body is None else {"payload": json.dumps(request.body, ensure_ascii=False, allow_nan=False)}
        )
        sends = {"data": data, "files": [("files", file) for file in request.files]}
    headers = {**_HEADERS, **request.headers, "authorization": f"Bearer {request.key}"}
    if request.stream:
        headers["accept-encoding"] = "identity"
    seconds = dict.fromkeys(("read", "write", "pool"), request.seconds)
    limits = {"timeout": {**seconds, "connect": min(request.seconds, CONNECT_SECONDS)}}
    make = own.build_request if own else httpx.Request  # the library's own way merges defaults for 30 us
    built = make(request.method, request.url, params=request.query or None, headers=headers, extensions=limits, **sends)
    if own:
        built.headers.pop("x-api-key", None)
    if request.on_sent:
        length = built.headers.get("content-length")
        built.stream = Told(built.stream, int(length) if length else None, request.on_sent)
    return built


def answer(response: httpx.Response, request: Request, body: bytes = b"", chunks: Any = None) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, body, chunks and response, chunks, request.ends)


def failure(error: Exception) -> APIConnectionError:
    timed_out = isinstance(error, httpx.TimeoutException)
    why = str(error) or ("it took too long" if timed_out else type(error).__name__)
    return APIConnectionError(
        f"The service did not answer: {why}.", sent=not isinstance(error, _UNSENT), timed_out=timed_out
    )
