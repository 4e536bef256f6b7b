"""Which texts are addresses of the web."""

from __future__ import annotations

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
