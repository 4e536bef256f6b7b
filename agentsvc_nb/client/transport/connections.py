"""The HTTP library's clients, as this client needs them: what they trust, and how they reach an address."""

from __future__ import annotations

import functools
import ssl
from http.cookiejar import CookieJar
from typing import Any, Final

from agentsvc_nb.client.transport.deadline import bounded
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.library import httpx
from agentsvc_nb.client.transport.listening import listen
from agentsvc_nb.client.transport.proving import proven, proven_async

_LIMITS: Final = httpx.Limits(
    max_connections=None,  # a stream holds its connection; requests must not queue behind streams
    keepalive_expiry=4.0,  # uvicorn closes idle connections after 5 s: be first, or a start runs into the closing
)
_LOOPBACK: Final = ("all://127.0.0.1", "all://localhost", "all://[::1]")


def blocking(transport: httpx.BaseTransport | None, tls: bool, secret: Secret | None = None) -> httpx.Client:
    """A client for scripts; without `tls` it is for http alone, with a `secret` for the service that holds it."""
    client = httpx.Client(**_options(transport, tls, secret is not None))
    return bounded(proven(client, secret) if secret else client)


def awaited(transport: httpx.AsyncBaseTransport | None, tls: bool, secret: Secret | None = None) -> httpx.AsyncClient:
    """A client for the running event loop."""
    client = httpx.AsyncClient(**_options(transport, tls, secret is not None))
    return listen(proven_async(client, secret) if secret else client)


def _options(transport: Any, tls: bool, embedded: bool = False) -> dict[str, Any]:
    # A proxy cannot reach this machine's loopback, whatever HTTP_PROXY says. The embedded service is asked through
    # none, wherever it listens.
    direct = dict.fromkeys(_LOOPBACK)
    shared = {"follow_redirects": False, "limits": _LIMITS, "cookies": _NoCookies(), "trust_env": not embedded}
    trust = _ssl_context() if tls else _no_tls()
    return {**shared, "verify": trust, "transport": transport, "mounts": None if transport else direct}


class _NoCookies(CookieJar):
    """None is ever sent, so none is looked for in answers."""

    def extract_cookies(self, response: object, request: object) -> None:
        pass


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """One for the process: building it takes 14 ms, the rest of a client 0.05 ms."""
    return httpx.create_ssl_context()


@functools.cache
def _no_tls() -> ssl.SSLContext:
    """For addresses without TLS. It trusts nobody."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
