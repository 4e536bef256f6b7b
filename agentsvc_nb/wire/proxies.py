"""Read from the environment whether to reach an address through a proxy, and which certificates to trust.

The client and the service use these rules instead of those of `httpx`. `httpx` always reads all variables. A single
invalid variable then causes an error for every address, which does not name the variable.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

SCHEMES: Final = ("http", "https", "socks5", "socks5h")
_PROXY_STATUSES: Final = frozenset({407, 502, 503, 504})
_LIKE: Final = "such as http://proxy.example:3128"


class NetworkSettingError(ValueError):
    """Raised if an environment variable prevents requests to an address. The message names the variable and a fix."""

    def __init__(self, fault: str, remedy: str) -> None:
        super().__init__(f"{fault}. {remedy}.")
        self.fault, self.remedy = fault, remedy


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the environment variable that names it. The address of the proxy may contain a password."""

    url: str = field(repr=False)
    variable: str


def connection_options(url: str) -> dict[str, Any]:
    """Return the arguments for an `httpx` or `httpx2` client, so that it reaches this address as the environment says.

    For an https address, the arguments contain `verify` if the environment names certificates. Raises
    `NetworkSettingError` if a variable is invalid. No variable can cause an error for loopback addresses.

    >>> connection_options("http://127.0.0.1:8787")
    {'trust_env': False, 'proxy': None}
    """
    proxy = proxy_of(url)
    options: dict[str, Any] = {"trust_env": False, "proxy": proxy.url if proxy else None}
    if url.startswith("https:"):
        try:
            certificates = trusted_certificates()
        except NetworkSettingError:
            if not is_loopback(urlsplit(url).hostname or ""):
                raise
        else:
            options |= {"verify": certificates} if certificates else {}
    return options


def proxy_of(url: str) -> Proxy | None:
    """Return the proxy through which to reach an address, or None to reach it directly. Loopback and the addresses that
    `NO_PROXY` names are reached directly.

    `HTTP_PROXY` and `HTTPS_PROXY` have priority over `ALL_PROXY`, and lower-case names over upper-case names. Raises
    `NetworkSettingError` if the proxy can't be used.
    """
    from urllib.request import getproxies  # also reads the system's settings on macOS and Windows

    address, found = urlsplit(url), getproxies()
    scheme = next((name for name in (address.scheme, "all") if found.get(name)), None)
    if scheme is None or is_loopback(address.hostname or ""):
        return None
    if any(_is_matching(entry.strip(), address) for entry in found.get("no", "").split(",")):
        return None
    return _parse_proxy(scheme, found[scheme])


def find_setting_faults() -> Iterator[NetworkSettingError]:
    """Yield an error for each variable with an invalid value, even if it affects only some addresses."""
    from urllib.request import getproxies

    found = getproxies()
    checks: list[Callable[[], object]] = [
        partial(_parse_proxy, scheme, found[scheme]) for scheme in ("http", "https", "all") if found.get(scheme)
    ]
    for check in (*checks, trusted_certificates):
        try:
            check()
        except NetworkSettingError as error:
            yield error


def trusted_certificates() -> ssl.SSLContext | None:
    """Return an SSL context with the certificates of `SSL_CERT_FILE`, or else of `SSL_CERT_DIR`. Return None if neither
    variable is set.

    Raises `NetworkSettingError` if the certificates can't be read.
    """
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if path := os.environ.get(variable):
            try:
                if variable == "SSL_CERT_FILE":
                    return _context(path, None)
                if not any(Path(folder).is_dir() for folder in path.split(os.pathsep)):
                    raise NotADirectoryError("there is no such folder")  # OpenSSL would silently trust nobody
                return _context(None, path)
            except OSError as error:
                raise NetworkSettingError(
                    f"{variable} names {path!r}, but no certificates can be read there ({error.strerror or error})",
                    f"Correct {variable}, or unset it",
                ) from None
    return None


def is_from_proxy(url: str, status: int, headers: Mapping[str, str]) -> Proxy | None:
    """Return the proxy of an address if a response comes from the proxy, because the proxy could not reach the service.
    Return None if it comes from the service.

    Every response of the service has `X-Request-Id`. For https, a proxy only forwards bytes, so the response is never
    its own.
    """
    if status in _PROXY_STATUSES and "x-request-id" not in headers and url.startswith("http:"):
        return proxy_of(url)
    return None


def is_loopback(host: str) -> bool:
    """Return True if the host is this machine. A proxy could not reach such a host.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("example.com")
    (True, True, True, False)
    """
    host = host.lower().rstrip(".")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@lru_cache(8)
def _context(file: str | None, folder: str | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=file, capath=folder)


def _is_matching(entry: str, address: SplitResult) -> bool:
    """Return True if an entry of `NO_PROXY` names the address. An invalid entry names no address."""
    scheme, _, rest = entry.rpartition("://")
    name, port = _split_port(rest.lower())
    if entry == "*":
        return True
    if not name or scheme not in ("", "all", address.scheme) or (port and port != _port_of(address)):
        return False
    host = (address.hostname or "").rstrip(".")
    try:
        return ip_address(host) in ip_network(name, strict=False)
    except ValueError:
        pass
    if name.startswith(("*.", ".")):
        return host.endswith(name.removeprefix("*"))
    return host == name or host.endswith(f".{name}")


def _split_port(entry: str) -> tuple[str, str]:
    """Split an entry such as `host:port`, `[::1]:port` or `[fd00::]/8` into the host or network, and the port."""
    if entry.startswith("["):
        inside, _, after = entry[1:].partition("]")
        return (inside, after[1:]) if after.startswith(":") else (inside + after, "")
    name, _, port = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
    return name, port


def _port_of(address: SplitResult) -> str:
    try:
        return str(address.port or (443 if address.scheme == "https" else 80))
    except ValueError:
        return ""


def _parse_proxy(scheme: str, value: str) -> Proxy:
    """Return the proxy that `value` names for a scheme. Raises `NetworkSettingError` if the value is invalid.

    The message does not contain the value, because this may contain a password.
    """
    names = (f"{scheme}_proxy", f"{scheme}_proxy".upper())
    variable = next((name for name in names if os.environ.get(name)), "The proxy of the system's settings")
    url = value if "://" in value else f"http://{value}"
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        readable = bool(host.encode("idna")) and parts.port != 0 and url.isprintable() and " " not in url
    except ValueError:
        readable = False
    if not readable:
        raise NetworkSettingError(f"{variable} is not the address of a proxy", f"Set it to one {_LIKE}, or unset it")
    if parts.scheme not in SCHEMES:
        unknown = f"{variable} has an unsupported kind of proxy ({parts.scheme}://)"
        raise NetworkSettingError(unknown, f"Set it to one {_LIKE} or socks5://proxy.example:1080, or unset it")
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        needs = f"{variable} is a SOCKS proxy, which needs a package"
        raise NetworkSettingError(needs, f"Install it with `pip install socksio`, or unset {variable}")
    return Proxy(url, variable)
