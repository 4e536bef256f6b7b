"""The hosts that requests may name, and the origins whose pages may use a session (docs/api/conventions.md)."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb.settings import Settings

LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
PORT_MAX: Final = 65_535
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True)
class OwnNames:
    """The service's hosts and origins.

    `hosts` are names in lower case, with a port only if the request must name that port. `hosts` is None if the service
    accepts any host.
    """

    hosts: frozenset[bytes] | None
    origins: frozenset[str]

    @classmethod
    def from_settings(cls, settings: Settings, base_url: str, *, on_loopback: bool) -> OwnNames:
        """Return the names of a service at `base_url`.

        Hosts are restricted only if the service listens `on_loopback`. Then only this machine can reach it, but DNS
        rebinding could let a foreign page call it.
        """
        addresses = [base_url, *([settings.public_url] if settings.public_url else [])]
        port = urlsplit(base_url).port
        aliases = [f"http://{name}:{port}" for name in LOOPBACK] if on_loopback else []
        origins = frozenset(map(_normalize_origin, [*addresses, *aliases, *settings.origins]))
        if not on_loopback:
            return cls(None, origins)
        named = [
            urlsplit(one).netloc for address in [*addresses, *aliases] for one in (address, _normalize_origin(address))
        ]
        return cls(frozenset(_host_header(name) for name in [*LOOPBACK, *named, *settings.hosts]), origins)

    def has_host(self, host: bytes | None) -> bool:
        """Return True if the header `Host` names the service, or if the header is absent. Browsers always send it.

        A name in `hosts` without a port also matches with an empty port or any port up to 65535:

        >>> own = OwnNames(frozenset([b"localhost"]), frozenset())
        >>> [own.has_host(host) for host in (b"LocalHost:8787", b"localhost:", b"localhost:70000", b"localhost:1, x")]
        [True, True, False, False]
        """
        if host is None or self.hosts is None or host in self.hosts:
            return True
        host = host.lower()
        if host in self.hosts:
            return True
        name, _, port = host.rpartition(b":")
        if name not in self.hosts or len(port) > len("65535"):
            return False
        return not port or (port.isdigit() and int(port) <= PORT_MAX)

    def has_origin(self, origin: str) -> bool:
        """Return whether `origin` has exactly the scheme, host and port of one of the service's origins."""
        return origin in self.origins


def _host_header(name: str) -> bytes:
    """Return the host name, with its port if any, as browsers send it in the header `Host`.

    >>> [_host_header(name) for name in ("Bücher.example:81", "agents.example.com.")]
    [b'xn--bcher-kva.example:81', b'agents.example.com']
    """
    host, colon, port = name.lower().partition(":") if name[0] != "[" else (name.lower(), "", "")
    host = host.removesuffix(".")
    return (host.encode() if host.isascii() else host.encode("idna")) + f"{colon}{port}".encode()


def is_loopback(listening: socket.socket) -> bool:
    """Return True if only this machine can connect to the socket."""
    return ipaddress.ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback


def _normalize_origin(origin: str) -> str:
    """Return the origin as browsers send it: in lower case, and without the scheme's default port.

    >>> _normalize_origin("http://Agents.example.com:80")
    'http://agents.example.com'
    """
    parts = urlsplit(origin.lower())
    default = _DEFAULT_PORTS.get(parts.scheme)
    return f"{parts.scheme}://{parts.netloc.removesuffix(f':{default}')}"
