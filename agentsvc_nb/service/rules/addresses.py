"""Which texts are addresses of the web, and which of the open internet."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb.wire.limits import URL_CHARS


def is_web_address(text: str) -> bool:
    """Whether it is an http or https URL with a host, of at most 2,000 characters.

    >>> is_web_address("https://example.com/shop"), is_web_address("example.com")
    (True, False)
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    written = text.isprintable() and " " not in text and len(text) <= URL_CHARS
    return written and parts.scheme in ("http", "https") and bool(parts.hostname)


WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})
"""Where web servers listen; a fetch that reaches others could be made to talk to a mail server or a database."""

_UNICAST: Final = ip_network("2000::/3")
_TUNNELS: Final = (ip_network("2001::/32"), ip_network("2002::/16"))


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the open internet: not to this machine, a private network, a group of
    receivers, or a tunnel (IPv4-mapped, NAT64, 6to4, Teredo) in which another address is hidden.

    >>> is_public("93.184.215.14"), is_public("127.0.0.1"), is_public("::ffff:93.184.215.14")
    (True, False, False)
    """
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        return ip in _UNICAST and not any(ip in tunnel for tunnel in _TUNNELS) and ip.is_global
    return ip.is_global and not ip.is_multicast


def is_odd_number(host: str) -> bool:
    """Whether a host is an IPv4 address in a spelling that hides which: decimal, octal, hexadecimal or short.

    >>> is_odd_number("2130706433"), is_odd_number("0x7f.1"), is_odd_number("127.0.0.1"), is_odd_number("7.example")
    (True, True, False, False)
    """
    last = host.rstrip(".").rpartition(".")[2]
    if not re.fullmatch(r"[0-9]+|0[xX][0-9a-fA-F]*", last):
        return False
    try:
        IPv4Address(host)
    except ValueError:
        return True
    return False
