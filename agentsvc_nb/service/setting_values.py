"""How settings are read: each reader raises `ValueError` that says what to give. And which values may be kept."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_HOST = re.compile(r"(?:[\w.-]+|[0-9a-f:]+)(?::[0-9]{1,5})?", re.I)
_FLAGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_MAIL = re.compile(r"[^@\s<>,]+@[\w.-]+")
_RECIPIENT = re.compile(r"(?:[^@\s<>,]*|\*)@[\w.-]+")


def hosts(text: str) -> tuple[str, ...]:
    """Hosts, with or without a port.

    >>> hosts("127.0.0.1:8123, Shop.example")
    ('127.0.0.1:8123', 'shop.example')
    """
    found = _listed(text)
    if not all(_HOST.fullmatch(host) for host in found):
        raise ValueError("hosts, such as 127.0.0.1:8123,shop.example")
    return tuple(host.lower() for host in found)


def address(text: str) -> str:
    """An http or https address, without the slash at its end."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address, such as http://127.0.0.1:8080")
    return text.rstrip("/")


def origin(text: str) -> str:
    """An http or https address of a host alone.

    >>> origin("https://agents.example.com/")
    'https://agents.example.com'
    """
    parts = urlsplit(text.rstrip("/"))
    if not parts.hostname or text.rstrip("/") != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        raise ValueError("an address without a path, such as https://agents.example.com")
    return address(text)


def flag(text: str) -> bool:
    """
    >>> flag("yes")
    True
    """
    if text.lower() not in _FLAGS:
        raise ValueError("yes or no")
    return _FLAGS[text.lower()]


def mail_server(text: str) -> str:
    """`smtp://` or `smtps://`, with a name and password when the server wants them."""
    parts = urlsplit(text)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.path.strip("/"):
        raise ValueError("smtp://USER:PASSWORD@HOST:587 or smtps://USER:PASSWORD@HOST")
    return text


def mail_address(text: str) -> str:
    if not _MAIL.fullmatch(text):
        raise ValueError("an e-mail address, such as ads@example.com")
    return text


def recipients(text: str) -> tuple[str, ...]:
    """E-mail addresses, and `@example.com` for all of a domain.

    >>> recipients("ana@example.com, @Shop.example")
    ('ana@example.com', '@shop.example')
    """
    found = _listed(text)
    if not all(_RECIPIENT.fullmatch(one) for one in found):
        raise ValueError("e-mail addresses or @domains, such as ana@example.com,@shop.example")
    return tuple(one.lower() for one in found)


def provider(text: str) -> str:
    if text not in ("searxng", "brave", "ddgs"):
        raise ValueError("searxng, brave or ddgs")
    return text


def secret(text: str) -> str:
    if not text.isprintable() or " " in text:
        raise ValueError("the key as its provider shows it, without blanks")
    return text


def always(value: object) -> bool:
    """For settings that the data folder keeps, whatever their value."""
    return True


def never(value: object) -> bool:
    """For keys, and for what is of one start only."""
    return False


def without_secrets(address: str) -> bool:
    """For addresses: a password or a key may stand before the host, and in the query.

    >>> without_secrets("https://agents.example.com/v1"), without_secrets("https://ada:secret@agents.example.com/v1")
    (True, False)
    """
    parts = urlsplit(address)
    return not (parts.query or parts.fragment or "@" in parts.netloc)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
