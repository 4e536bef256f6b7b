"""The service's settings: `AGENTSVC_*` variables, with defaults from the limits table.

The public functions at the top parse or check the text of a setting; they raise `ValueError` with an example of a valid
value, which `SettingsError` quotes.
"""

# ruff: noqa: RUF009 - `setting` makes dataclass fields

from __future__ import annotations

import difflib
import hashlib
import json
import math
import os
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from agentsvc_nb.wire import limits

_HOST = re.compile(r"(?:[\w.-]+|[0-9a-f:]+)(?::[0-9]{1,5})?", re.I)
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


def flag(text: str) -> bool:
    """Parse a yes or no, also as `true` or `1`, `false` or `0`."""
    if text.lower() not in _FLAGS:
        raise ValueError("yes or no")
    return _FLAGS[text.lower()]


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


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


PREFIX: Final = "AGENTSVC_"
MODELS: Final = ("offline", "scripted")
"""The agents without a language model."""
MODEL_ADVICE: Final = (
    f"{', '.join(MODELS)}, gguf:FILE or PROVIDER:MODEL, such as ollama:qwen3 or anthropic:claude-sonnet-4-6"
)
_MODEL = re.compile(r"[a-z][a-z0-9/_-]*:.+")
ELSEWHERE: Final = frozenset({"AGENTSVC_BASE_URL"})
"""`AGENTSVC_*` variables that are not settings of the service: the notebook reads them."""


class SettingsError(ValueError):
    """A setting has an invalid value; the message names the setting and a valid value."""


def _folder(text: str) -> Path:
    return Path(os.path.abspath(os.path.expanduser(text)))


def _model(text: str) -> str:
    if text not in MODELS and not _MODEL.fullmatch(text):
        raise ValueError(MODEL_ADVICE)
    return f"gguf:{_folder(text.removeprefix('gguf:'))}" if text.startswith("gguf:") else text


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("a whole number from 0, or leave it unset")
    return int(text)


def _bytes(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError("a number of bytes from 1, such as 100000000")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:  # false for NaN, too
        raise ValueError("a number of seconds from 0, such as 90 or 0.5")
    return value


@dataclass(frozen=True, slots=True)
class Setting:
    """How a setting is parsed, and what it does: a row of `docs/settings.md`."""

    read: Callable[[str], Any]
    """Parses the text of a value. Raises `ValueError`."""
    about: str
    keep: Callable[[Any], bool] = always
    """True for a value that the data folder keeps for its next service (docs/decisions/0029)."""
    secret: bool = False
    """True if the value must never be shown, not even in the error about it."""


def setting(
    read: Callable[[str], Any],
    about: str,
    *,
    default: Any = None,
    keep: Callable[[Any], bool] = always,
    secret: bool = False,
) -> Any:
    """A dataclass field of `Settings`, with its `Setting` as metadata."""
    return field(default=default, metadata={"setting": Setting(read, about, keep, secret)})


@dataclass(frozen=True)
class Settings:
    """The settings of one service. A limit that is None is not enforced (docs/api/conventions.md "Limits").

    Each field is one setting: how its text is parsed, what it does, its default, and whether the data folder keeps it.

    >>> Settings.from_env({"AGENTSVC_RUN_CAPACITY": "4"}, data="/tmp/service").run_capacity
    4
    """

    data: Path = field(
        metadata={
            "setting": Setting(
                _folder, "The data folder: the database, the files, the embedded account's key, the log.", never
            )
        }
    )
    public_url: str | None = setting(
        origin, "The address that people use when a proxy stands before the service: links begin with it."
    )
    hosts: tuple[str, ...] = setting(
        host_list,
        "Names (`host` or `host:port`) that a service on loopback answers to besides its own, for proxies.",
        default=(),
    )
    origins: tuple[str, ...] = setting(
        origin_list,
        "Origins, such as https://agents.example.com, whose pages may use a browser's session besides the service's.",
        default=(),
    )
    model: str = setting(_model, "The agent that answers: see models.md.", default="offline")
    model_url: str | None = setting(
        address, "A server that speaks OpenAI's chat completions, such as http://host:8000/v1.", keep=without_secrets
    )
    model_key: str | None = setting(secret, "That server's key, when it wants one.", secret=True, keep=never)
    model_context: int | None = setting(_count, "The tokens that the model's context holds, when they are not known.")
    model_sees: bool | None = setting(flag, "Whether the model looks at pictures, when that is not known.")
    model_tools: bool | None = setting(flag, "Whether the model is offered tools; small ones can't choose among them.")
    embedding_url: str | None = setting(
        address,
        "A server that speaks OpenAI's embeddings, such as http://host:8000/v1: the offline agent compares meanings "
        "with it.",
        keep=without_secrets,
    )
    embedding_key: str | None = setting(secret, "That server's key, when it wants one.", secret=True, keep=never)
    embedding_model: str | None = setting(secret, "The model's name, if that server has several.")
    embedding_file: Path | None = setting(
        _folder, "The weights of the small embedding model, when they are not in the data folder."
    )
    approve_effects: bool = setting(
        flag,
        "Whether a run waits for approval before a tool has an effect (mails), or fetches a page that neither its "
        "message nor `AGENTSVC_APPROVED_HOSTS` names.",
        default=False,
    )
    approved_hosts: tuple[str, ...] = setting(
        host_list,
        "Hosts (`host` or `host:port`) whose pages runs fetch without approval while effects want it: see channels.md.",
        default=(),
    )
    rate_per_minute: int | None = setting(_count, "Requests a UTC minute of one key (`request_per_minute`).")
    rate_per_minute_user: int | None = setting(
        _count, "The same of all keys of an account (`request_per_minute_user`)."
    )
    rate_per_day: int | None = setting(_count, "Requests a UTC day of all keys of an account (`request_per_day`).")
    run_capacity: int | None = setting(_count, "Active runs that make the service full (`runtime_capacity_busy`).")
    wallet_cents: int | None = setting(
        _count, "All the credit that was ever put into the wallet (`api_wallet_exhausted`)."
    )
    plan_pool_cents: int | None = setting(
        _count, "What member tokens may use in a UTC month (`monthly_usage_limit_reached`)."
    )
    run_hold_cents: int = setting(
        _count, "What a run or job holds until it ends and is billed for what it used.", default=1
    )
    max_file_bytes: int = setting(
        _bytes,
        "The largest file of an upload; a request may hold ten of them and 1 MiB.",
        default=limits.FILE_MAX_BYTES,
    )
    sync_hold_seconds: float = setting(
        _seconds, "How long a `sync` start is held, from its receipt.", default=float(limits.SYNC_HOLD_SECONDS)
    )
    ask_handle_seconds: float = setting(
        _seconds,
        "How long an ask is held before it is answered by a job to follow.",
        default=float(limits.ASK_HANDLE_SECONDS),
    )
    gateway_seconds: float = setting(
        _seconds,
        "A request that is silent for so long is answered `gateway_timeout`, or `request_timeout` within its body.",
        default=float(limits.GATEWAY_SECONDS),
    )
    upload_ttl_seconds: float = setting(
        _seconds, "How long the id of a staged upload counts.", default=float(limits.UPLOAD_TTL_SECONDS)
    )
    fetch_allow: tuple[str, ...] = setting(
        host_list,
        "Hosts (`host` or `host:port`) that tools may fetch from although they are not public.",
        default=(),
    )
    image_url: str | None = setting(
        address, "An image model's OpenAI-compatible address, such as `http://127.0.0.1:8080/v1`.", keep=without_secrets
    )
    image_key: str | None = setting(secret, "The image model's key, if it wants one.", secret=True, keep=never)
    image_model: str | None = setting(secret, "The image model's name, if its address has several.")
    smtp_url: str | None = setting(
        mail_server,
        "The mail server: `smtp://USER:PASSWORD@HOST:587` or `smtps://...`.",
        secret=True,
        keep=without_secrets,
    )
    mail_from: str | None = setting(mail_address, "The address that mails are sent from.")
    mail_recipients: tuple[str, ...] = setting(
        recipients, "Who may be written to: addresses, and `@example.com` for all of a domain.", default=()
    )
    web_search: str | None = setting(provider, "Who searches the web: `searxng`, `brave` or `ddgs`.")
    web_search_url: str | None = setting(
        address, "SearXNG's address; Brave's, when it is another.", keep=without_secrets
    )
    web_search_key: str | None = setting(secret, "The search provider's key.", secret=True, keep=never)
    meta_token: str | None = setting(
        secret, "A token for the Meta Ad Library, of a confirmed account.", secret=True, keep=never
    )
    meta_url: str = setting(
        address, "The Graph API with its version.", default="https://graph.facebook.com/v21.0", keep=without_secrets
    )
    whisper_model: Path | None = setting(_folder, "The folder of a faster-whisper model, for transcripts.")

    @classmethod
    def from_env(cls, env: Mapping[str, str], **overrides: object) -> Settings:
        """Settings from `env`, usually `os.environ`; `overrides`, by field name, have priority. None counts as absent.

        Raises `SettingsError` for an invalid value and `TypeError` for an override that is no setting.
        """
        if strangers := overrides.keys() - SETTINGS.keys():
            raise TypeError(f"no such setting: {', '.join(sorted(strangers))}")
        given = {name: str(value) for name, value in overrides.items() if value is not None}
        read = {name: _read(name, text, source=name) for name, text in given.items()}
        for name in SETTINGS.keys() - given.keys():
            if text := env.get(variable(name)):
                read[name] = _read(name, text, source=variable(name))
        return cls(**{"data": default_data(), **read})

    @property
    def settings_hash(self) -> str:
        """A hash of all settings but `data`: equal for services that behave alike (docs/api/embedded.md "Settings")."""
        behaviour = {name: value for name, value in asdict(self).items() if name != "data"}
        return hashlib.sha256(json.dumps(behaviour, sort_keys=True, default=str).encode()).hexdigest()[:16]


def variable(name: str) -> str:
    """The environment variable of a setting: `model` is `AGENTSVC_MODEL`."""
    return PREFIX + name.upper()


def data_folder(env: Mapping[str, str], data: str | Path | None = None) -> Path:
    """The data folder: `data`, else AGENTSVC_DATA, else the default. No other setting is read, so that a service can be
    found or stopped while another setting is invalid."""
    given = data or env.get(variable("data"))
    path: Path = _read("data", str(given), source="data") if given else default_data()
    return path


def default_data() -> Path:
    """The user's data folder for this host. Each host has its own, because homes are shared over networks and a lock
    does not work between hosts (docs/api/embedded.md "The data folder")."""
    from platformdirs import user_data_path  # takes 30 ms, saved when the folder is given

    host = re.sub(r"[^A-Za-z0-9_-]", "-", socket.gethostname()) or "localhost"
    return user_data_path("agentsvc-nb", appauthor=False) / host


def warnings_for(env: Mapping[str, str]) -> list[str]:
    """One sentence for each `AGENTSVC_*` variable that neither the service nor the notebook reads."""
    known = {variable(name) for name in SETTINGS} | ELSEWHERE
    return [_unknown(name) for name in sorted(env) if name.startswith(PREFIX) and name not in known]


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name.removeprefix(PREFIX).lower(), SETTINGS, n=1)
    return f"{name} is not a setting and is ignored" + (f": did you mean {variable(close[0])}?" if close else ".")


def _read(name: str, text: str, *, source: str) -> Any:
    """The value of the setting `name`; `source` names it in the error. Raises `SettingsError`."""
    try:
        return SETTINGS[name].read(text.strip())
    except ValueError as error:
        shown = "not usable" if SETTINGS[name].secret else repr(text)
        raise SettingsError(f"{source} is {shown}: give {error}.") from None


SETTINGS: Final[dict[str, Setting]] = {each.name: each.metadata["setting"] for each in fields(Settings)}
"""All settings, by their field names in `Settings`."""
