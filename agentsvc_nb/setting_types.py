"""The types of settings. Each type parses the text of an environment variable. Its error says which texts are valid."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from agentsvc_nb.data_folder import absolute
from agentsvc_nb.model_names import MODEL_ADVICE, check_model, model_id
from agentsvc_nb.wire.limits import CENTS_MAX


@dataclass(frozen=True, slots=True)
class Advice:
    """Describes the valid values of a type in words, for all errors of the type and for docs/settings.md."""

    text: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(self._validate, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "advice": self.text}

    def _validate(self, value: Any, validate: Callable[[Any], Any]) -> Any:
        try:
            return validate(value)
        except ValueError:
            raise ValueError(self.text) from None


def _split(value: object) -> object:
    """Split a text at its commas into a list. Return any other value unchanged."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _matching(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> AfterValidator:
    compiled = re.compile(pattern, flags)

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError
        return text

    return AfterValidator(check)


Comma: Final = BeforeValidator(_split)
LowerCase: Final = AfterValidator(str.lower)

Flag = Annotated[bool, Advice("yes or no")]
Count = Annotated[int, Field(ge=0), Advice("a whole number of at least 0, or leave it unset")]
Cents = Annotated[int, Field(ge=0, le=CENTS_MAX), Advice(f"a whole number of cents between 0 and {CENTS_MAX:,}")]
Bytes = Annotated[int, Field(gt=0), Advice("a number of bytes of at least 1, such as 100000000")]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False), Advice("a number of seconds of at least 0, such as 90")]
Folder = Annotated[Path, AfterValidator(absolute), Advice("the path of a folder")]
LogFormat = Annotated[Literal["text", "json"], BeforeValidator(lambda text: str(text).lower()), Advice("text or json")]
ToolGroup = Literal["ads", "mail", "media"]
ToolGroups = Annotated[tuple[ToolGroup, ...], Comma, Advice("tool groups: ads, mail or media")]
SearchProvider = Annotated[Literal["searxng", "brave", "ddgs"], Advice("searxng, brave or ddgs")]


# -- hosts and addresses --------------------------------------------------------------------------------------------


def _check_host_name(host: str) -> str:
    """Return the host name. Raise `UnicodeError` if a name that is not ASCII can't be encoded for DNS."""
    if not host.isascii():
        host.partition(":")[0].encode("idna")
    return host


def check_address(text: str) -> str:
    """Return an http or https address without a final slash, or raise a `ValueError` that says what is valid."""
    parts = urlsplit(text)
    try:
        name = _check_host_name(parts.hostname or "")
    except UnicodeError:
        name = ""
    if parts.scheme not in ("http", "https") or not name:
        raise ValueError("an address, such as http://127.0.0.1:8080")
    return text.rstrip("/")


def check_origin(text: str) -> str:
    """Return an http or https address that has no path. Raise a `ValueError` if it has one.

    >>> check_origin("https://agents.example.com/")
    'https://agents.example.com'
    """
    parts = urlsplit(text.rstrip("/"))
    if not parts.hostname or text.rstrip("/") != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        raise ValueError("an address without a path, such as https://agents.example.com")
    return check_address(text)


def _check_mail_server(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.path.strip("/"):
        raise ValueError
    return text


def _check_database(text: str) -> str:
    if urlsplit(text).scheme not in ("postgresql", "postgres"):
        raise ValueError
    return text


Host = Annotated[
    str, _matching(r"(?:[\w.-]+|[0-9a-f:]+)(?::[0-9]{1,5})?", re.I), AfterValidator(_check_host_name), LowerCase
]
Hosts = Annotated[tuple[Host, ...], Comma, Advice("hosts, such as 127.0.0.1:8123,shop.example")]
Address = Annotated[str, AfterValidator(check_address), Advice("an address, such as http://127.0.0.1:8080")]
Origin = Annotated[
    str, AfterValidator(check_origin), Advice("an address without a path, such as https://agents.example.com")
]
Origins = Annotated[
    tuple[Annotated[str, AfterValidator(check_origin)], ...],
    Comma,
    Advice("addresses without a path, such as https://agents.example.com"),
]
DatabaseAddress = Annotated[str, AfterValidator(_check_database), Advice("postgresql://USER:PASSWORD@HOST/NAME")]
Bucket = Annotated[
    str,
    _matching(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:/[\w.-]+)*/?", re.ASCII),
    AfterValidator(lambda text: text.rstrip("/")),
    Advice("s3://BUCKET or s3://BUCKET/PREFIX, with the keys in AWS_* variables"),
]
MailServer = Annotated[
    str,
    AfterValidator(_check_mail_server),
    Advice("smtp://USER:PASSWORD@HOST:587 or smtps://USER:PASSWORD@HOST"),
]
MailAddress = Annotated[
    str, _matching(r"[^@\s<>,\x80-\U0010ffff]+@[A-Za-z0-9.-]+"), Advice("an e-mail address, such as ads@example.com")
]
Recipients = Annotated[
    tuple[Annotated[str, _matching(r"(?:[^@\s<>,]*|\*)@[\w.-]+"), LowerCase], ...],
    Comma,
    Advice("e-mail addresses or @domains, such as ana@example.com,@shop.example"),
]


# -- secrets --------------------------------------------------------------------------------------------------------


def check_key(text: str) -> str:
    """Return an API key. If the text can't be a key, raise a `ValueError` that says what is valid."""
    if not text.isprintable() or " " in text or not text:
        raise ValueError("the key as its provider shows it, without spaces")
    return text


def may_hold_secret(address: str) -> bool:
    """Return True if an address may contain a password or key: before the host, in the query or in the fragment.

    >>> may_hold_secret("https://agents.example.com/v1"), may_hold_secret("https://ada:secret@agents.example.com/v1")
    (False, True)

    In the address of a database, only a password counts. Parameters in the query, and a user without a password, are
    allowed.

    >>> may_hold_secret("postgresql://ada@/agents?host=/run/postgresql"), may_hold_secret("postgresql://ada:secret@db/x")
    (False, True)
    """
    parts = urlsplit(address)
    if parts.scheme in ("postgresql", "postgres"):
        return bool(parts.password) or "password" in parts.query.lower()
    return bool(parts.query or parts.fragment or "@" in parts.netloc)


Key = Annotated[str, AfterValidator(check_key), Advice("the key as its provider shows it, without spaces")]
Name = Annotated[str, AfterValidator(check_key), Advice("a name without spaces")]
SharedSecret = Annotated[
    str,
    Field(min_length=32),
    AfterValidator(check_key),
    Advice("at least 32 characters without spaces, such as the output of `openssl rand -hex 32`"),
]


# -- MCP servers ----------------------------------------------------------------------------------------------------


def server_name(text: str) -> str:
    """Return the name of an MCP server. If it is invalid, raise a `ValueError` that says what is valid."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", text):
        raise ValueError("a name of lower-case letters, digits and _, such as tickets")
    return text


def server_address(text: str) -> str:
    """Return the address of an MCP server. It must have https, or http for a server on this machine, and no password.
    Otherwise, raise a `ValueError` that says what is valid.

    >>> server_address("https://tools.example/mcp")
    'https://tools.example/mcp'
    """
    parts = urlsplit(check_address(text))
    here = parts.hostname in ("localhost", "::1") or str(parts.hostname).startswith("127.")
    if "@" in parts.netloc or parts.fragment or not (parts.scheme == "https" or here):
        raise ValueError("an https address without keys, or http://127.0.0.1:PORT/mcp for a server on this machine")
    return text


def _check_server(text: str) -> str:
    name, _, address = text.partition("=")
    return f"{server_name(name)}={server_address(address)}"


def _check_server_key(text: str) -> str:
    name, _, key = text.partition("=")
    return f"{server_name(name)}={check_key(key)}"


def _check_servers(servers: tuple[str, ...]) -> tuple[str, ...]:
    names = {one.partition("=")[0] for one in servers}
    if len(names) < max(len(servers), 1):
        raise ValueError
    return servers


Servers = Annotated[
    tuple[Annotated[str, AfterValidator(_check_server)], ...],
    Comma,
    AfterValidator(_check_servers),
    Advice("MCP servers, each name only once, such as tickets=https://tickets.example/mcp (http only on this machine)"),
]
ServerNames = Annotated[
    tuple[Annotated[str, AfterValidator(server_name)], ...],
    Comma,
    Advice("names of lower-case letters, digits and _, such as tickets"),
]
ServerKeys = Annotated[
    tuple[Annotated[str, AfterValidator(_check_server_key)], ...],
    Comma,
    Advice("keys of servers without spaces and commas, such as tickets=KEY"),
]


# -- models ---------------------------------------------------------------------------------------------------------


def _check_models(models: tuple[str, ...]) -> tuple[str, ...]:
    if not models or len({model_id(one) for one in models}) < len(models):
        raise ValueError
    return models


def prices(listed: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Return the prices of models by their id, as pairs of cents per million input tokens and output tokens.

    >>> prices(("ollama:qwen3=20/60.5",))
    {'ollama:qwen3': (20.0, 60.5)}
    """
    pairs = (one.rpartition("=") for one in listed)
    cents = {model: [float(price) for price in both.split("/")] for model, _, both in pairs}
    return {model: (given, made) for model, (given, made) in cents.items()}


ModelName = Annotated[str, AfterValidator(check_model), Advice(MODEL_ADVICE)]
ModelNames = Annotated[
    tuple[Annotated[str, AfterValidator(check_model)], ...],
    Comma,
    AfterValidator(_check_models),
    Advice("models, each only once, such as anthropic:claude-sonnet-4-6,ollama:qwen3,offline"),
]
Prices = Annotated[
    tuple[Annotated[str, _matching(r"[^=]+=[0-9]{1,9}(?:\.[0-9]{1,9})?/[0-9]{1,9}(?:\.[0-9]{1,9})?")], ...],
    Comma,
    Advice("prices in cents per million tokens, such as ollama:qwen3=20/60,openai-chat:mine=0/0"),
]
