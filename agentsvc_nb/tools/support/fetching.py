"""Fetch untrusted URLs. To prevent server-side request forgery, only public IP addresses are allowed."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import zlib
from collections.abc import Awaitable, Callable, Collection, Container
from dataclasses import dataclass, replace
from functools import cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from agentsvc_nb.documents.decoding import decode_page
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.limits import FETCH_BYTES, FETCH_REDIRECTS, FETCH_SECONDS, URL_CHARS

if TYPE_CHECKING:
    import httpx


def is_web_address(text: str) -> bool:
    """Return True if the text is an http or https URL with a host and at most 2,000 characters.

    >>> is_web_address("https://example.com/shop"), is_web_address("example.com")
    (True, False)
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    written = text.isprintable() and " " not in text and len(text) <= URL_CHARS
    return written and parts.scheme in ("http", "https") and bool(parts.hostname)


def resolve_link(base: str, link: str) -> str:
    """Return a link on the page `base` as an absolute URL, or "" if the link is malformed.

    >>> resolve_link("https://example.com/shop/", "../tents"), resolve_link("https://example.com/", "http://[")
    ('https://example.com/tents', '')
    """
    try:
        return urljoin(base, link)
    except ValueError:
        return ""


def find_addresses(text: str) -> set[str]:
    """Return the web addresses in a text. If an address ends with punctuation marks, which may belong to the text, also
    return it without the last one, two or three marks.

    >>> sorted(find_addresses("Look at (https://shop.example/a?b=1)."))
    ['https://shop.example/a?b=1', 'https://shop.example/a?b=1)', 'https://shop.example/a?b=1).']
    """
    found: set[str] = set()
    for word in {*_WORD.findall(text), *_WORD_OF_CJK.findall(text)}:
        bare = word[:-3] + word[-3:].rstrip(_MARKS)
        for one in (word[:end] for end in range(len(bare), len(word) + 1)):
            found.update({one, one[:5].lower() + one[5:]} if is_web_address(one) else ())
    return found


_WORD: Final = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
_CJK_MARKS: Final = "\u2018-\u201f\u2026\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_WORD_OF_CJK: Final = re.compile(rf"https?://[^\s<>\"{_CJK_MARKS}]+", re.IGNORECASE)
"""Matches an address that ends at a Chinese or Japanese punctuation mark, because no space follows these marks."""
_MARKS: Final = ".,;:!?)]}'*_`"
WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})
"""The allowed ports of web servers. Requests to other ports could send data to a mail server or a database."""

_UNICAST: Final = ip_network("2000::/3")
_SPECIAL: Final = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "2001::/32", "2002::/16", "3fff::/20")))
"""Address ranges that some Python versions wrongly call `is_global`: protocols, relays, tunnels and documentation."""


def is_public(address: str) -> bool:
    """Return True if an IP address belongs to the public internet.

    Addresses of this machine, private networks, multicast and documentation are not public. Neither are addresses of
    tunnels (IPv4-mapped, NAT64, 6to4, Teredo), because they contain another address.

    >>> is_public("93.184.215.14"), is_public("127.0.0.1"), is_public("::ffff:93.184.215.14")
    (True, False, False)
    """
    ip = ip_address(address)
    if any(ip in special for special in _SPECIAL):
        return False
    if isinstance(ip, IPv6Address):
        return ip in _UNICAST and ip.is_global
    return ip.is_global and not ip.is_multicast


def matches_hosts(url: str, hosts: Container[str]) -> bool:
    """Return True if `hosts` contains the host of the URL, as `host` or `host:port`."""
    try:
        return _is_listed(_parse(url), hosts)
    except WorkFailure:
        return False


def _is_listed(url: httpx.URL, hosts: Container[str]) -> bool:
    host, port = _host_and_port(url)
    return host in hosts or f"{host}:{port}" in hosts


def _host_and_port(url: httpx.URL) -> tuple[str, int]:
    return url.raw_host.decode("ascii").lower().rstrip("."), url.port or (443 if url.scheme == "https" else 80)


Resolve = Callable[[str, int], Awaitable[list[str]]]
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_HEADERS: Final = {"User-Agent": "agentsvc-nb", "Accept-Encoding": "gzip"}
_GZIP: Final = 47  # zlib's wbits: detect gzip or zlib by the header
_SHOWN_CHARS: Final = 200
_ELSEWHERE: Final = (
    "{!r} was not fetched: pages of {} need approval. Call the tool with that address and wait for approval, "
    "or ask the operator to add the host to AGENTSVC_APPROVED_HOSTS."
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response.

    Attributes:
        url: The final address.
        body: The body, decompressed.
        transferred: The size of the body as sent (perhaps compressed), in bytes.
        redirects: The addresses that redirected to another one.
    """

    url: str
    status: int
    headers: httpx.Headers
    body: bytes
    transferred: int
    redirects: tuple[str, ...] = ()

    @property
    def media_type(self) -> str:
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()

    def decode(self) -> str:
        """Return the body as text, decoded like a web page. This may take seconds, so call it in a thread."""
        named = _CHARSET.search(str(self.headers.get("content-type", "")))
        return "".join(decode_page(self.body, named[1] if named else ""))


class Fetcher:
    """Fetches from public IP addresses, and from other hosts if the operator allows their `host` or `host:port`
    (`allow`).

    If `only_hosts` is given, it fetches only from those hosts, at any port. This also applies to redirects.
    """

    def __init__(
        self, allow: tuple[str, ...] = (), resolve: Resolve | None = None, only_hosts: Collection[str] | None = None
    ) -> None:
        self._allow = frozenset(allow)
        self._resolve = resolve or _resolve
        self._only_hosts = only_hosts

    def within(self, url: str, hosts: Collection[str] | None) -> Fetcher:
        """Return a fetcher that is limited to the host of `url` and to `hosts`, or this one if `hosts` is None."""
        if hosts is None:
            return self
        return Fetcher(tuple(self._allow), self._resolve, {*hosts, _host_and_port(_parse(url))[0]})

    async def get(
        self, url: str, *, max_bytes: int = FETCH_BYTES, seconds: float = FETCH_SECONDS, accept: str = "*/*"
    ) -> Fetched:
        """Fetch `url`, with at most five redirects. Return the response, whatever its status.

        Raises `WorkFailure`: `address_refused` if an address is not allowed, `fetch_failed` if an address is
        unreachable, there are more redirects, the body is larger than `max_bytes`, or everything together takes longer
        than `seconds`.
        """
        import httpx

        passed: list[str] = []
        try:
            async with asyncio.timeout(seconds):
                while len(passed) <= FETCH_REDIRECTS:
                    found = await self._get(_parse(url), max_bytes, accept)
                    target = found.headers.get("location")
                    if found.status not in REDIRECTS or not target:
                        return replace(found, redirects=tuple(passed))
                    passed.append(found.url)
                    url = str(httpx.URL(found.url).join(target))
        except TimeoutError:
            raise _failed(url, f"it took longer than {seconds:g} s") from None
        except (httpx.InvalidURL, UnicodeError):
            raise _failed(url, "it redirects to an invalid address") from None
        except httpx.HTTPError as error:
            raise _failed(url, str(error) or type(error).__name__) from None
        raise _failed(passed[0], f"it redirects more than {FETCH_REDIRECTS} times")

    async def _get(self, url: httpx.URL, max_bytes: int, accept: str) -> Fetched:
        import httpx

        pinned = url.copy_with(host=await self.address(url))
        headers = {**_HEADERS, "Accept": accept, "Host": url.netloc.decode("ascii")}
        extensions = {"sni_hostname": url.raw_host.decode("ascii")}
        # Use a new client for each request, because a pooled connection to the same IP address may belong to another
        # host.
        async with (
            httpx.AsyncClient(verify=tls(), trust_env=False, timeout=None) as client,
            client.stream("GET", pinned, headers=headers, extensions=extensions) as answer,
        ):
            body = b"" if answer.status_code in REDIRECTS else await _body(answer, str(url), max_bytes)
            return Fetched(str(url), answer.status_code, answer.headers, body, answer.num_bytes_downloaded)

    async def address(self, url: httpx.URL) -> str:
        """Return the first IP address of the host in a URL.

        Raises `WorkFailure` if the host is unknown or the fetcher is limited to other hosts. Unless the operator allows
        the host, also raises it for a port that is not in `WEB_PORTS`, or if an address of the host is not public.
        """
        host, port = _host_and_port(url)
        if self._only_hosts is not None and not _is_listed(url, self._only_hosts):
            raise WorkFailure("address_refused", _ELSEWHERE.format(str(url)[:_SHOWN_CHARS], host))
        allowed = _is_listed(url, self._allow)
        if not allowed and port not in WEB_PORTS:
            raise _refused(str(url))
        addresses = await self._resolve(host, port)
        if not addresses:
            raise _failed(str(url), f"there is no host {host}")
        if not allowed and not all(is_public(address) for address in addresses):
            raise _refused(str(url))
        return addresses[0]


async def _resolve(host: str, port: int) -> list[str]:
    """Return the IP addresses that the system's resolver finds for a host, or [] if the host is unknown."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        return []
    return list(dict.fromkeys(str(address[0]).partition("%")[0] for *_, address in found))


async def _body(answer: httpx.Response, url: str, max_bytes: int) -> bytes:
    """Return the body. Decompress it piece by piece, so that a small body can't expand beyond `max_bytes`."""
    packed = answer.headers.get("content-encoding", "").lower() in ("gzip", "x-gzip", "deflate")
    unpack = zlib.decompressobj(_GZIP) if packed else None
    body = bytearray()
    async for piece in answer.aiter_raw():
        try:
            body += unpack.decompress(piece, max_bytes + 1 - len(body)) if unpack else piece
        except zlib.error:
            raise _failed(url, "its compressed content is damaged") from None
        if max(len(body), answer.num_bytes_downloaded) > max_bytes:
            raise _failed(url, f"it is larger than {max_bytes:,} bytes")
    return bytes(body)


def _parse(url: str) -> httpx.URL:
    import httpx

    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError):
        raise _refused(url) from None
    if parsed.scheme not in ("http", "https") or not parsed.raw_host or parsed.userinfo or len(url) > URL_CHARS:
        raise _refused(url)
    return parsed


@cache
def tls() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context(trust_env=False)


def _refused(url: str) -> WorkFailure:
    message = f"{url[:_SHOWN_CHARS]!r} was not fetched. Give a public http or https address without a password."
    return WorkFailure("address_refused", message)


def _failed(url: str, why: str) -> WorkFailure:
    return WorkFailure("fetch_failed", f"{url[:_SHOWN_CHARS]!r} could not be fetched: {why}.")
