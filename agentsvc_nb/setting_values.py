"""The values of settings: functions that parse or check the text of one, and say whether the data folder keeps it.

Parsers raise `ValueError` with an example of a valid value, which `SettingsError` quotes.
"""

from __future__ import annotations

import math
import re
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb.model_names import check_model, model_id

_HOST = re.compile(r"(?:[\w.-]+|[0-9a-f:]+)(?::[0-9]{1,5})?", re.I)
_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:/[\w.-]+)*/?", re.ASCII)
_FLAGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_MAIL = re.compile(r"[^@\s<>,]+@[\w.-]+")
_RECIPIENT = re.compile(r"(?:[^@\s<>,]*|\*)@[\w.-]+")


def host_list(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of hosts, with or without ports.

    >>> host_list("127.0.0.1:8123, Shop.example")
    ('127.0.0.1:8123', 'shop.example')
    """
    found = _listed(text)
    if not all(_HOST.fullmatch(host) and _is_name(host.partition(":")[0]) for host in found):
        raise ValueError("hosts, such as 127.0.0.1:8123,shop.example")
    return tuple(host.lower() for host in found)


def _is_name(host: str) -> bool:
    """False for a name with other letters than ASCII that can't be written as it is sent: an empty part, a long one."""
    try:
        return host.isascii() or bool(host.encode("idna"))
    except UnicodeError:
        return False


def address(text: str) -> str:
    """Parse an http or https address; the slash at its end is removed."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or not _is_name(parts.hostname):
        raise ValueError("an address, such as http://127.0.0.1:8080")
    return text.rstrip("/")


def origin(text: str) -> str:
    """Parse an http or https address without a path.

    >>> origin("https://agents.example.com/")
    'https://agents.example.com'
    """
    parts = urlsplit(text.rstrip("/"))
    if not parts.hostname or text.rstrip("/") != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        raise ValueError("an address without a path, such as https://agents.example.com")
    return address(text)


def origin_list(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of origins.

    >>> origin_list("https://agents.example.com, http://localhost:9000/")
    ('https://agents.example.com', 'http://localhost:9000')
    """
    return tuple(origin(one) for one in _listed(text))


_SERVER = r"[a-z][a-z0-9_]{0,31}"


def server_name(text: str) -> str:
    """Check the name of a server of tools."""
    if not re.fullmatch(_SERVER, text):
        raise ValueError("a name of small letters, digits and _, such as tickets")
    return text


def server_names(text: str) -> tuple[str, ...]:
    return tuple(server_name(one) for one in _listed(text))


def server_address(text: str) -> str:
    """Check the address of a server of tools: https, or http for one of this machine, without a password.

    >>> server_address("https://tools.example/mcp")
    'https://tools.example/mcp'
    """
    parts = urlsplit(address(text))
    here = parts.hostname in ("localhost", "::1") or str(parts.hostname).startswith("127.")
    if "@" in parts.netloc or parts.fragment or not (parts.scheme == "https" or here):
        raise ValueError("an https address, or http://127.0.0.1:PORT/mcp for a server of this machine; keys apart")
    return text


def server_list(text: str) -> tuple[str, ...]:
    """Parse servers of tools, no two of the same name.

    >>> server_list("tickets=https://tickets.example/mcp, notes=http://127.0.0.1:8931/mcp")
    ('tickets=https://tickets.example/mcp', 'notes=http://127.0.0.1:8931/mcp')
    """
    pairs = [one.partition("=") for one in _listed(text)]
    try:
        found = {server_name(name): server_address(url) for name, _, url in pairs}
    except ValueError:
        found = {}
    if len(found) < max(len(pairs), 1):
        raise ValueError("servers, each once, such as tickets=https://tickets.example/mcp (http is for this machine)")
    return tuple(f"{name}={url}" for name, url in found.items())


def key_list(text: str) -> tuple[str, ...]:
    """Parse keys of servers of tools.

    >>> key_list("tickets=s3cret, notes=other")
    ('tickets=s3cret', 'notes=other')
    """
    pairs = [one.partition("=") for one in _listed(text)]
    try:
        return tuple(f"{server_name(name)}={secret(key)}" for name, _, key in pairs if key or secret("\n"))
    except ValueError:
        raise ValueError("keys of servers without blanks and commas, such as tickets=KEY") from None


def addresses_without_secrets(listed: tuple[str, ...]) -> bool:
    """The `keep` of servers of tools: False when one may hold a key in its query."""
    return all(without_secrets(one.partition("=")[2]) for one in listed)


def bucket(text: str) -> str:
    """Check the place of contents: a bucket, and what their keys begin with.

    >>> bucket("s3://agents/contents/")
    's3://agents/contents'
    """
    if not _BUCKET.fullmatch(text):
        raise ValueError("s3://BUCKET or s3://BUCKET/PREFIX; keys belong into AWS_* variables")
    return text.rstrip("/")


def flag(text: str) -> bool:
    """Parse a yes or no, also as `true` or `1`, `false` or `0`."""
    if text.lower() not in _FLAGS:
        raise ValueError("yes or no")
    return _FLAGS[text.lower()]


def database(text: str) -> str:
    """Check the address of a PostgreSQL database, as PostgreSQL's own programs take it."""
    if urlsplit(text).scheme not in ("postgresql", "postgres"):
        raise ValueError("postgresql://USER:PASSWORD@HOST/NAME")
    return text


def log_format(text: str) -> str:
    """Parse the format of the log."""
    if text.lower() not in ("text", "json"):
        raise ValueError("text or json")
    return text.lower()


def mail_server(text: str) -> str:
    """Check the address of a mail server: `smtp://` or `smtps://`, with a user name and password if it needs them."""
    parts = urlsplit(text)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.path.strip("/"):
        raise ValueError("smtp://USER:PASSWORD@HOST:587 or smtps://USER:PASSWORD@HOST")
    return text


def mail_address(text: str) -> str:
    if not _MAIL.fullmatch(text):
        raise ValueError("an e-mail address, such as ads@example.com")
    return text


def recipients(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of e-mail addresses, and of `@example.com` for all addresses of a domain.

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


SECRET_CHARS: Final = 32


def long_secret(text: str) -> str:
    if not text.isprintable() or " " in text or len(text) < SECRET_CHARS:
        raise ValueError(f"{SECRET_CHARS} characters or more without blanks, such as of `openssl rand -hex 32`")
    return text


def always(value: object) -> bool:
    """The `keep` of settings that the data folder keeps, whatever their value."""
    return True


def never(value: object) -> bool:
    """The `keep` of secrets, and of settings that apply to one start only: the data folder never keeps them."""
    return False


def without_secrets(address: str) -> bool:
    """The `keep` of addresses: False for one that may hold a password or key, before its host or in its query.

    >>> without_secrets("https://agents.example.com/v1"), without_secrets("https://ada:secret@agents.example.com/v1")
    (True, False)
    """
    parts = urlsplit(address)
    return not (parts.query or parts.fragment or "@" in parts.netloc)


def without_password(address: str) -> bool:
    """The `keep` of addresses of databases, which name parameters in their query.

    >>> without_password("postgresql://ada@/agents?host=/run/postgresql"), without_password("postgresql://ada:secret@db/x")
    (True, False)
    """
    parts = urlsplit(address)
    return not parts.password and "password" not in parts.query.lower()


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


_PRICE = re.compile(r"[^=]+=[0-9]{1,9}(?:\.[0-9]{1,9})?/[0-9]{1,9}(?:\.[0-9]{1,9})?")


def model_list(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of models, no two with the same id.

    >>> model_list("ollama:qwen3, offline")
    ('ollama:qwen3', 'offline')
    """
    try:
        found = tuple(check_model(one) for one in _listed(text))
    except ValueError:
        found = ()
    if not found or len({model_id(one) for one in found}) < len(found):
        raise ValueError("models, each once, such as anthropic:claude-sonnet-4-6,ollama:qwen3,offline")
    return found


def price_list(text: str) -> tuple[str, ...]:
    """Parse prices of models in cents a million tokens, as `MODEL=INPUT/OUTPUT`.

    >>> price_list("ollama:qwen3=20/60.5")
    ('ollama:qwen3=20/60.5',)
    """
    found = tuple(_listed(text))
    if not all(_PRICE.fullmatch(one) for one in found):
        raise ValueError("prices in cents a million tokens, such as ollama:qwen3=20/60,openai-chat:mine=0/0")
    return found


def prices(listed: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """The prices of input and output by the model's id.

    >>> prices(("ollama:qwen3=20/60.5",))
    {'ollama:qwen3': (20.0, 60.5)}
    """
    pairs = (one.rpartition("=") for one in listed)
    cents = {model: [float(price) for price in both.split("/")] for model, _, both in pairs}
    return {model: (given, made) for model, (given, made) in cents.items()}


def count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("a whole number from 0, or leave it unset")
    return int(text)


def byte_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError("a number of bytes from 1, such as 100000000")
    return int(text)


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:  # false for NaN, too
        raise ValueError("a number of seconds from 0, such as 90 or 0.5")
    return value
